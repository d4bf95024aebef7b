//! The `cel` crate's parser, behind a wall: its panics and its messages stay inside.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cel::Env;
use cel::common::ast::{IdedExpr, SourceInfo};
use cel::parser::ParseErrors;

use super::ExpressionError;
use super::scan::{MAX_DEPTH, shortened};

/// The parser's tree and where its nodes stand in the source.
pub(super) struct Parsed {
    pub tree: IdedExpr,
    places: SourceInfo,
}

/// Parses a source that [`super::scan::check`] has let through. Macros are left as calls.
pub(super) fn parse(source: &str) -> Result<Parsed, ExpressionError> {
    let parser = Env::default()
        .with_optional_support(false)
        .parser()
        .max_recursion_depth(u16::try_from(MAX_DEPTH).unwrap_or(u16::MAX).saturating_mul(2));
    // The generated parser below `cel` asserts its way through error recovery. No source is known
    // to trip it, and none may take the program down. The build unwinds, so a panic ends here.
    match catch_unwind(AssertUnwindSafe(|| parser.parse_with_source_info(source))) {
        Ok(Ok((tree, places))) => Ok(Parsed { tree, places }),
        Ok(Err(errors)) => Err(syntax_error(source, &errors)),
        Err(_) => Err(ExpressionError::new("the expression cannot be read", None)),
    }
}

impl Parsed {
    /// Where a node stands: for a call its bracket, for an operator its sign, else all of it.
    pub fn span(&self, source: &str, node: &IdedExpr) -> Option<Range<usize>> {
        // Bytes, of which the last may be any of a character's.
        let (first, last) = self.places.offset_for(node.id)?;
        let start = source.floor_char_boundary(first as usize);
        let end = source.ceil_char_boundary((last as usize).saturating_add(1));
        (start <= end).then_some(start..end)
    }
}

/// One message for the first of the parser's errors; the others follow from it.
fn syntax_error(source: &str, errors: &ParseErrors) -> ExpressionError {
    let Some(first) = errors.errors.first() else {
        return ExpressionError::new("the expression cannot be read", None);
    };
    let start = offset(source, first.pos);
    let rest = start.map_or("", |start| &source[start..]);
    let token = token(rest);
    let span = start.map(|start| start..start + token.len());
    if first.msg.starts_with("invalid") {
        return ExpressionError::new(format!("`{token}` is not a number that can be used"), span);
    }
    if rest.trim_start().is_empty() {
        let end = source.trim_end().len();
        return ExpressionError::new("the expression ends too early", end..end);
    }
    let error = ExpressionError::new(format!("`{token}` is not expected here"), span);
    match token.to_ascii_lowercase().as_str() {
        "and" => error.hint("write `&&`"),
        "or" => error.hint("write `||`"),
        "not" => error.hint("write `!`"),
        _ => error,
    }
}

/// The word, number, text or sign that a text begins with, cut where it gets long.
fn token(text: &str) -> &str {
    let Some(first) = text.chars().next() else {
        return "";
    };
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = if is_word(first) {
        text.find(|c| !is_word(c)).unwrap_or(text.len())
    } else if matches!(first, '"' | '\'') {
        text[1..].find(first).map_or(text.len(), |end| end + 2)
    } else if text.get(..2).is_some_and(|two| TWO_SIGNS.contains(&two)) {
        2
    } else {
        first.len_utf8()
    };
    shortened(&text[..end])
}

/// The byte at a line and column, both counted from 1, the column in characters.
fn offset(source: &str, (line, column): (isize, isize)) -> Option<usize> {
    let line = usize::try_from(line).ok()?.checked_sub(1)?;
    let column = usize::try_from(column).ok()?.checked_sub(1)?;
    let mut before = source.split_inclusive('\n');
    let start: usize = before.by_ref().take(line).map(str::len).sum();
    Some(start + byte_of(&source[start..], column)?)
}

/// The byte at which a character stands; the end for the one after the last.
fn byte_of(text: &str, character: usize) -> Option<usize> {
    text.char_indices().map(|(byte, _)| byte).chain([text.len()]).nth(character)
}

/// Operators of two signs.
const TWO_SIGNS: [&str; 6] = ["&&", "||", "==", "!=", "<=", ">="];
