//! A look at the source before it reaches the parser, which recurses.
//!
//! This is a strict lexer: what it lets through, the parser's own lexer reads the same way, so a
//! bracket cannot hide in what only looks like text. It bounds the length, the depth of brackets
//! and the number of parts, and so the depth of every chain (`a.b.c`, `1+1+1`, `a?b:c?d:e`, `!!a`).

use super::ExpressionError;

/// Longest source, in bytes.
pub(super) const MAX_BYTES: usize = 4096;
/// Most names, values and operators.
pub(super) const MAX_PARTS: usize = 256;
/// Deepest nesting, of brackets here and of the tree in `lower`.
pub(super) const MAX_DEPTH: usize = 32;

/// Refuses a source that is empty, too long, too deep or too large, or has what is no CEL.
pub(super) fn check(source: &str) -> Result<(), ExpressionError> {
    if source.trim().is_empty() {
        return Err(ExpressionError::new("the expression is empty", None));
    }
    if source.len() > MAX_BYTES {
        let message = format!("the expression is longer than {MAX_BYTES} bytes");
        return Err(ExpressionError::new(message, None).hint(SPLIT));
    }
    let mut scan = Scan { source, position: 0, depth: 0, parts: 0 };
    while scan.position < source.len() {
        scan.step()?;
    }
    Ok(())
}

struct Scan<'a> {
    source: &'a str,
    position: usize,
    depth: usize,
    parts: usize,
}

impl<'a> Scan<'a> {
    fn step(&mut self) -> Result<(), ExpressionError> {
        let Some(character) = self.rest().chars().next() else {
            return Ok(());
        };
        match character {
            ' ' | '\t' | '\r' | '\n' | '\u{c}' => self.position += 1,
            'a'..='z' | 'A'..='Z' | '_' => return self.word(),
            '0'..='9' => return self.number(),
            '"' | '\'' => return self.text(false),
            '(' | '[' | '{' => return self.open(character),
            ')' | ']' | '}' => {
                self.depth = self.depth.saturating_sub(1);
                self.position += 1;
            }
            ',' | ':' | '.' => self.position += 1,
            '/' if self.rest().starts_with("//") => self.skip(|c| c != '\n'),
            '+' | '-' | '*' | '/' | '%' | '?' => {
                self.position += 1;
                return self.part();
            }
            '<' | '>' | '!' | '=' | '&' | '|' => return self.operator(character),
            _ => {
                let message = format!("`{}` is not expected here", character.escape_debug());
                return Err(self.error(message, character.len_utf8()));
            }
        }
        Ok(())
    }

    fn word(&mut self) -> Result<(), ExpressionError> {
        let start = self.position;
        self.skip(|c| c.is_ascii_alphanumeric() || c == '_');
        let word = &self.source[start..self.position];
        let prefix = matches!(word, "r" | "R" | "b" | "B" | "br" | "bR" | "Br" | "BR");
        if prefix && self.rest().starts_with(['"', '\'']) {
            return self.text(word.contains(['r', 'R']));
        }
        self.part()
    }

    /// Digits with the letters that numbers may have, so that no `r` of raw text hides in them.
    fn number(&mut self) -> Result<(), ExpressionError> {
        let start = self.position;
        self.skip(|c| c.is_ascii_alphanumeric() || c == '_');
        let number = &self.source[start..self.position];
        if number.contains(|c: char| !(c.is_ascii_hexdigit() || matches!(c, 'x' | 'u' | 'U'))) {
            let message = format!("`{}` is not a number", shortened(number));
            return Err(ExpressionError::new(message, start..self.position));
        }
        self.part()
    }

    fn operator(&mut self, first: char) -> Result<(), ExpressionError> {
        let rest = self.rest();
        let width = if ["<=", ">=", "!=", "==", "&&", "||"].iter().any(|two| rest.starts_with(two))
        {
            2
        } else if matches!(first, '<' | '>' | '!') {
            1
        } else {
            let message = format!("`{first}` is not an operator");
            return Err(self.error(message, 1).hint(format!("write `{first}{first}`")));
        };
        self.position += width;
        self.part()
    }

    fn open(&mut self, bracket: char) -> Result<(), ExpressionError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(too_deep(), 1).hint(SPLIT));
        }
        self.position += 1;
        if bracket == '(' { Ok(()) } else { self.part() }
    }

    /// Text in any of CEL's forms; `position` is at the first quote.
    fn text(&mut self, raw: bool) -> Result<(), ExpressionError> {
        let start = self.position;
        let quote = &self.source[start..=start];
        let triple = quote.repeat(3);
        let end = if self.rest().starts_with(&triple) { triple.as_str() } else { quote };
        self.position += end.len();
        loop {
            let rest = self.rest();
            if rest.starts_with(end) {
                self.position += end.len();
                return self.part();
            }
            match rest.chars().next() {
                Some('\\') if !raw => self.escape()?,
                Some(character) if end.len() == 3 || !matches!(character, '\n' | '\r') => {
                    self.position += character.len_utf8();
                }
                _ => {
                    self.position = start;
                    return Err(self.error("the text that begins here does not end", end.len()));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<(), ExpressionError> {
        let after = &self.source[self.position + 1..];
        let digits = |count: usize, radix: u32| {
            let digits = after.chars().skip(usize::from(radix == 16)).take(count);
            digits.filter(|digit| digit.is_digit(radix)).count() == count
        };
        let width = match after.chars().next() {
            Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\' | '?' | '"' | '\'' | '`') => 1,
            Some('x' | 'X') if digits(2, 16) => 3,
            Some('u') if digits(4, 16) => 5,
            Some('U') if digits(8, 16) => 9,
            Some('0'..='3') if digits(3, 8) => 3,
            other => {
                let shown = other.map(|c| c.escape_debug().to_string()).unwrap_or_default();
                let message = format!("`\\{shown}` is not an escape");
                return Err(self
                    .error(message, 1)
                    .hint("write `\\\\` for a backslash, or `r\"…\"` for text without escapes"));
            }
        };
        self.position += 1 + width;
        Ok(())
    }

    fn part(&mut self) -> Result<(), ExpressionError> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            let message =
                format!("the expression has more than {MAX_PARTS} names, values and operators");
            return Err(ExpressionError::new(message, None).hint(SPLIT));
        }
        Ok(())
    }

    fn skip(&mut self, wanted: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.position += rest.find(|c| !wanted(c)).unwrap_or(rest.len());
    }

    fn rest(&self) -> &'a str {
        &self.source[self.position..]
    }

    fn error(&self, message: impl Into<String>, width: usize) -> ExpressionError {
        ExpressionError::new(message, self.position..self.position + width)
    }
}

/// As much of a word from the source as a message repeats.
pub(super) fn shortened(word: &str) -> &str {
    word.char_indices().nth(40).map_or(word, |(cut, _)| &word[..cut])
}

/// The message for what is nested too deep, here or in the tree.
pub(super) fn too_deep() -> String {
    format!("the expression is nested deeper than {MAX_DEPTH} levels")
}

/// What to do with an expression that is too large in any way.
pub(super) const SPLIT: &str = "split it into several conditions";
