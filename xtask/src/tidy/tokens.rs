//! Rust sources as flat lists of tokens, each knowing its line and whether only tests compile it.
//!
//! Comments and the insides of strings are not tokens, and what stands in macro calls is: so a
//! check on tokens neither trips over prose nor misses a call inside `assert!`.

use std::collections::BTreeMap;
use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Finding;
use super::tree::Tree;

/// One token of a source file.
#[derive(Debug)]
pub struct Token {
    pub text: Text,
    pub line: usize,
    pub in_test: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Text {
    Word(String),
    Mark(char),
    Literal,
    Open(char),
    Close(char),
}

impl Token {
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.text, Text::Word(found) if found == word)
    }

    pub fn is_mark(&self, mark: char) -> bool {
        self.text == Text::Mark(mark)
    }

    pub fn word(&self) -> Option<&str> {
        match &self.text {
            Text::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// The tokens of every Rust file by path, and what could not be read.
pub fn sources(tree: &Tree) -> (BTreeMap<&str, Vec<Token>>, Vec<Finding>) {
    let mut sources = BTreeMap::new();
    let mut findings = Vec::new();
    for (path, text) in tree.texts_with_extension("rs") {
        match TokenStream::from_str(text) {
            Ok(stream) => {
                let mut tokens = Vec::new();
                flatten(stream, path.contains("/tests/"), &mut tokens);
                sources.insert(path, tokens);
            }
            Err(error) => {
                let line = error.span().start().line;
                findings.push(Finding::new(path, line, "cannot be read as Rust"));
            }
        }
    }
    mark_test_modules(&mut sources);
    (sources, findings)
}

/// Whether `::` stands at this place.
pub fn is_path_separator(tokens: &[Token], at: usize) -> bool {
    matches!(tokens.get(at..at + 2), Some([one, two]) if one.is_mark(':') && two.is_mark(':'))
}

fn flatten(stream: TokenStream, mut in_test: bool, tokens: &mut Vec<Token>) {
    let trees: Vec<_> = stream.into_iter().collect();
    // Set from a test's attribute to the end of the item that it stands on.
    let mut item_is_test = false;
    for (position, tree) in trees.iter().enumerate() {
        let line = tree.span().start().line;
        let here = in_test || item_is_test;
        let mut push = |text| tokens.push(Token { text, line, in_test: here });
        match tree {
            TokenTree::Ident(word) => push(Text::Word(word.to_string())),
            TokenTree::Literal(_) => push(Text::Literal),
            TokenTree::Punct(mark) => {
                push(Text::Mark(mark.as_char()));
                item_is_test &= mark.as_char() != ';';
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::None => (' ', ' '),
                };
                push(Text::Open(open));
                flatten(group.stream(), here, tokens);
                let line = group.span_close().start().line;
                tokens.push(Token { text: Text::Close(close), line, in_test: here });
                if open == '[' && gates_tests(&group.stream()) {
                    let before = &trees[..position];
                    if ends_with(before, &['#', '!']) {
                        in_test = true;
                    } else if ends_with(before, &['#']) {
                        item_is_test = true;
                    }
                } else if open == '{' {
                    item_is_test = false;
                }
            }
        }
    }
}

fn ends_with(trees: &[TokenTree], marks: &[char]) -> bool {
    let is = |tree: &TokenTree, mark: &char| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == *mark);
    trees.len() >= marks.len()
        && trees[trees.len() - marks.len()..].iter().zip(marks).all(|(tree, mark)| is(tree, mark))
}

/// Whether an attribute's inside is `test`, `rstest`, `cfg(test)` or `cfg(all(test, …))`.
fn gates_tests(attribute: &TokenStream) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    ["test", "rstest", "cfg(test)"].contains(&text.as_str()) || text.starts_with("cfg(all(test,")
}

/// Marks the files of modules that are declared as `#[cfg(test)] mod name;`.
fn mark_test_modules(sources: &mut BTreeMap<&str, Vec<Token>>) {
    let mut modules = Vec::new();
    for (path, tokens) in sources.iter() {
        for window in tokens.windows(3) {
            if window[0].in_test
                && window[0].is_word("mod")
                && window[2].is_mark(';')
                && let Some(name) = window[1].word()
            {
                modules.push(format!("{}/{name}", folder_of_modules(path)));
            }
        }
    }
    for (path, tokens) in sources.iter_mut() {
        let declared = modules.iter().any(|module| {
            path.strip_prefix(module.as_str())
                .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        });
        if declared {
            tokens.iter_mut().for_each(|token| token.in_test = true);
        }
    }
}

fn folder_of_modules(path: &str) -> &str {
    let without_extension = path.strip_suffix(".rs").unwrap_or(path);
    match without_extension.rsplit_once('/') {
        Some((folder, "lib" | "main" | "mod")) => folder,
        _ => without_extension,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words that stand outside of tests.
    fn plain_words(files: &Tree, path: &str) -> Vec<String> {
        let (sources, findings) = sources(files);
        assert_eq!(findings, []);
        let tokens = sources[path].iter().filter(|token| !token.in_test);
        tokens.filter_map(|token| token.word().map(str::to_owned)).collect()
    }

    #[test]
    fn an_item_under_a_test_attribute_is_a_test_to_its_end() {
        for (text, words) in [
            ("#[cfg(test)] mod tests { a() } b!()", "cfg test b"),
            ("c; #[cfg(test)] use a::{b}; d", "c cfg test d"),
            ("#[test] #[should_panic] fn a() { b } c", "test c"),
            ("#[cfg(all(test, unix))] mod a { b } c", "cfg all test unix c"),
            (
                "#[cfg(any(test, feature = \"testing\"))] mod a { b }",
                "cfg any test feature mod a b",
            ),
            ("#[cfg(not(test))] fn a() { b }", "cfg not test fn a b"),
            ("#![cfg(test)] fn a() { b }", "cfg test"),
            ("fn a() { #[cfg(test)] b(); c }", "fn a cfg test c"),
        ] {
            let tree = Tree::of([("src/lib.rs", text)]);
            assert_eq!(plain_words(&tree, "src/lib.rs").join(" "), words, "{text}");
        }
    }

    #[test]
    fn a_test_module_takes_its_files_along() {
        let tree = Tree::of([
            ("src/lib.rs", "mod a; #[cfg(test)] mod checks;"),
            ("src/a.rs", "one #[cfg(test)] mod tests;"),
            ("src/a/tests.rs", "two"),
            ("src/a/tests/deep.rs", "three"),
            ("src/a/tests_of_others.rs", "four"),
            ("src/checks.rs", "five"),
            ("tests/run.rs", "six"),
            ("crates/x/tests/run.rs", "seven"),
        ]);
        assert_eq!(plain_words(&tree, "src/a.rs"), ["one", "cfg", "test"]);
        assert_eq!(plain_words(&tree, "src/a/tests_of_others.rs"), ["four"]);
        for path in ["src/a/tests.rs", "src/a/tests/deep.rs", "src/checks.rs"] {
            assert_eq!(plain_words(&tree, path), [""; 0], "{path}");
        }
        assert_eq!(plain_words(&tree, "crates/x/tests/run.rs"), [""; 0]);
    }

    #[test]
    fn comments_and_strings_hold_no_words() {
        let tree = Tree::of([("src/lib.rs", "// std::fs\n/// std::fs\nfn a() { \"std::fs\" }")]);
        assert_eq!(plain_words(&tree, "src/lib.rs"), ["doc", "fn", "a"]);
    }

    #[test]
    fn a_file_that_is_not_rust_is_a_finding() {
        let tree = Tree::of([("src/lib.rs", "\nfn a( {")]);
        let (_, findings) = sources(&tree);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].what, "cannot be read as Rust");
    }
}
