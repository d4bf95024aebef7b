//! JSON at the end of a line that begins with something else.

/// What stands before an object that runs to the end of the line, and the object. Words that quote
/// one have a quotation mark, a backtick or another brace before it.
pub(crate) fn object_at_end(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end();
    let begin = memchr::memchr(b'{', line.as_bytes()).filter(|begin| *begin > 0)?;
    let (before, object) = line.split_at(begin);
    let is_object = object.ends_with('}') && object[1..].trim_start().starts_with('"');
    (is_object && !before.contains(['"', '\'', '`'])).then_some((before, object))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("hello{\"a\":1}", Some(("hello", "{\"a\":1}")))]
    #[case("hello { \"a\": {} } ", Some(("hello ", "{ \"a\": {} }")))]
    #[case("{\"a\":1}", None)]
    #[case("hello {a}", None)]
    #[case("hello {\"a\":1} there", None)]
    #[case("say \"hello\" {\"a\":1}", None)]
    #[case("`{\"a\":1}`", None)]
    #[case("hello", None)]
    fn an_object_ends_its_line(#[case] line: &str, #[case] expected: Option<(&str, &str)>) {
        assert_eq!(object_at_end(line), expected);
    }
}
