//! The words of prose and code.

/// The words of a text that mean something, in lower case; names are taken apart.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|name| name.len() <= LONGEST)
        .flat_map(parts)
        .filter(|part| part.starts_with(char::is_alphabetic) && part.chars().nth(1).is_some())
        .map(str::to_lowercase)
        .filter(|word| MEANINGLESS.binary_search(&word.as_str()).is_err())
}

/// `parseHTTPResponse` is `parse`, `HTTP` and `Response`.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let end = first_part(rest);
        let (part, others) = rest.split_at(end);
        rest = others;
        (!part.is_empty()).then_some(part)
    })
}

/// Where the first part of a name ends.
fn first_part(name: &str) -> usize {
    let mut before: Option<char> = None;
    let mut characters = name.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next_is_lower = characters.peek().is_some_and(|(_, next)| next.is_lowercase());
        let begins = before.is_some_and(|before| {
            character.is_uppercase() && (!before.is_uppercase() || next_is_lower)
        });
        if begins {
            return at;
        }
        before = Some(character);
    }
    name.len()
}

/// What is longer is no name but a key, a hash or data.
const LONGEST: usize = 64;

/// Words of English and of programming languages that are everywhere, sorted.
const MEANINGLESS: &[&str] = &[
    "about", "above", "abs", "after", "again", "against", "all", "also", "am", "an", "and", "any",
    "are", "arg", "args", "as", "assert", "async", "at", "await", "be", "because", "been",
    "before", "being", "below", "between", "bool", "boolean", "both", "break", "but", "by", "can",
    "case", "catch", "char", "class", "clone", "const", "continue", "could", "def", "default",
    "did", "diff", "do", "does", "doing", "don", "down", "during", "each", "elif", "else", "end",
    "enum", "err", "etc", "even", "every", "except", "export", "extends", "false", "few",
    "finally", "float", "fn", "for", "from", "func", "function", "further", "get", "had", "has",
    "have", "having", "he", "her", "here", "hers", "him", "his", "how", "if", "impl", "import",
    "in", "include", "int", "into", "is", "it", "its", "just", "lambda", "let", "like", "ll",
    "many", "may", "me", "might", "mod", "more", "most", "much", "must", "mut", "my", "new", "nil",
    "no", "none", "nor", "not", "now", "null", "of", "off", "ok", "on", "once", "one", "only",
    "option", "or", "other", "our", "ours", "out", "over", "own", "package", "private", "pub",
    "public", "re", "ref", "return", "returns", "same", "self", "set", "shall", "she", "should",
    "so", "some", "static", "str", "string", "struct", "such", "super", "switch", "than", "that",
    "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "through",
    "throw", "to", "too", "trait", "true", "try", "type", "under", "until", "up", "use", "using",
    "val", "var", "ve", "very", "void", "was", "we", "were", "what", "when", "where", "which",
    "while", "who", "whom", "why", "will", "with", "would", "yet", "yield", "you", "your", "yours",
];

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn meaningless_words_are_sorted() {
        assert!(MEANINGLESS.is_sorted());
    }

    #[rstest]
    #[case("parseHTTPResponse", &["parse", "http", "response"])]
    #[case("snake_case_name", &["snake", "name"])]
    #[case("SCREAMING_NAME", &["screaming", "name"])]
    #[case("utf8Decoder x1 v2", &["utf8", "decoder", "x1", "v2"])]
    #[case("The reset-link, isn't it?", &["reset", "link", "isn"])]
    #[case("Überprüfung größerÄnderung", &["überprüfung", "größer", "änderung"])]
    #[case("a b 12 3.14", &[])]
    fn names_are_taken_apart(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(words(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn data_has_no_words() {
        assert_eq!(words(&"deadbeef".repeat(20)).count(), 0);
    }
}
