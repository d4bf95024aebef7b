//! JSON at the end of a line that begins with something else.

use memchr::memmem;
use serde::de::IgnoredAny;

/// What stands before an object that runs to the end of the line, and the object. Words that quote
/// one have a quotation mark, a backtick or another brace before it.
pub(crate) fn object_at_end(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end();
    let begin = memchr::memchr(b'{', line.as_bytes()).filter(|begin| *begin > 0)?;
    let (before, object) = line.split_at(begin);
    let is_object = object.ends_with('}') && object[1..].trim_start().starts_with('"');
    (is_object && !before.contains(['"', '\'', '`'])).then_some((before, object))
}

/// The object behind one that was cut off, as a program that was killed leaves it to the next one that
/// writes to the same file. An object within another stands behind a colon, a comma or a bracket, and
/// within a string its quotation marks have backslashes, so neither is taken for it.
pub(crate) fn object_behind_a_cut_one(json: &str) -> Option<&str> {
    let json = json.trim_end();
    if !json.starts_with('{') || !json.ends_with('}') {
        return None;
    }
    let begins = |place: &usize| !json[..*place].trim_end().ends_with([':', ',', '[', '{', '\\']);
    let begin =
        memmem::rfind_iter(json.as_bytes(), br#"{""#).filter(begins).find(|place| *place > 0);
    begin.map(|begin| &json[begin..])
}

/// The objects that a line consists of, one behind the other, but for what a program without a line end
/// printed before the first.
pub(crate) fn objects(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim();
    let line = object_at_end(line).map_or(line, |(_, object)| object);
    let mut rest = if line.starts_with('{') { line } else { "" };
    std::iter::from_fn(move || {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let (object, behind) = rest.split_at(values.byte_offset());
        rest = behind.trim_start();
        Some(object)
    })
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

    #[rstest]
    #[case::in_a_text("{\"a\":\"The fi{\"b\":{\"c\":1}}", Some("{\"b\":{\"c\":1}}"))]
    #[case::in_a_key("{\"a\":1,\"b{\"c\":[{\"d\":1}]}\n", Some("{\"c\":[{\"d\":1}]}"))]
    #[case::behind_a_number("{\"a\":12{\"b\":1}", Some("{\"b\":1}"))]
    #[case::twice("{\"a\":\"x{\"b\":\"y{\"c\":1}", Some("{\"c\":1}"))]
    #[case::nothing_cut("{\"a\":{\"b\":[{\"c\":1}, {\"d\":1}]}}", None)]
    #[case::quoted("{\"a\":\"it says {\\\"b\\\":1}\"}", None)]
    #[case::at_its_end("{\"a\":{\"b\":1}", None)]
    #[case::words("words {\"b\":1}", None)]
    fn an_object_follows_one_that_was_cut_off(#[case] json: &str, #[case] expected: Option<&str>) {
        assert_eq!(object_behind_a_cut_one(json), expected);
    }

    #[rstest]
    #[case("{\"a\":1}", &["{\"a\":1}"])]
    #[case(" hello{\"a\":{}}{\"b\":1e999} {\"c\":2} ", &["{\"a\":{}}", "{\"b\":1e999}", "{\"c\":2}"])]
    #[case("{\"a\":1}{\"b\":", &["{\"a\":1}"])]
    #[case("say \"hello\" {\"a\":1}", &[])]
    #[case("7 8", &[])]
    #[case("", &[])]
    fn a_line_may_hold_several_objects(#[case] line: &str, #[case] expected: &[&str]) {
        assert_eq!(objects(line).collect::<Vec<_>>(), expected);
    }
}
