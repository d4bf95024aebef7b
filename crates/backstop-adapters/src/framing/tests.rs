use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn framed(chunks: &[&[u8]]) -> Vec<String> {
    let mut framer = Framer::new();
    let mut records = Vec::new();
    let mut emit = |record: Record<'_>| {
        records.push(match record {
            Record::Json(bytes) => format!("json {}", String::from_utf8_lossy(bytes)),
            Record::Text(text) => format!("text {text}"),
        });
    };
    for chunk in chunks {
        framer.push(chunk, &mut emit);
    }
    framer.finish(&mut emit);
    records
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

#[rstest]
#[case::nothing("", &[])]
#[case::lines("{\"a\":1}\n{\"b\":2}\n", &["json {\"a\":1}", "json {\"b\":2}"])]
#[case::no_last_line_end("{\"a\":1}\n{\"b\":2}", &["json {\"a\":1}", "json {\"b\":2}"])]
#[case::windows("{\"a\":1}\r\nx\r\n", &["json {\"a\":1}", "text x"])]
#[case::indented_line("  { \"a\": 1 } \n", &["json { \"a\": 1 }"])]
#[case::text_between("warn\n{\"a\":1}\n\n[DEBUG] x\n", &["text warn", "json {\"a\":1}", "text ", "text [DEBUG] x"])]
#[case::text_in_braces("{not json}\n{{x}}\n", &["text {not json}", "text {{x}}"])]
#[case::text_after_json("{\"a\":1} done\n", &["json {\"a\":1}", "text done"])]
#[case::pretty_object("{\n  \"a\": [\n    1\n  ]\n}\nx", &["json {\n  \"a\": [\n    1\n  ]\n}", "text x"])]
#[case::braces_in_strings("{\n  \"a\": \"}\\\"}\"\n}\n", &["json {\n  \"a\": \"}\\\"}\"\n}"])]
#[case::empty_pretty_object("{\n}\n", &["json {\n}"])]
#[case::array_on_one_line("[{\"a\":1},{\"b\":[2]} , {}]\n", &["json {\"a\":1}", "json {\"b\":[2]}", "json {}"])]
#[case::array_of_lines("[\n{\"a\":1},\n{\"b\":2}\n]\n", &["json {\"a\":1}", "json {\"b\":2}"])]
#[case::pretty_array("[\n  {\n    \"a\": 1\n  },\n  {\n    \"b\": 2\n  }\n]\n{\"c\":3}", &["json {\n    \"a\": 1\n  }", "json {\n    \"b\": 2\n  }", "json {\"c\":3}"])]
#[case::array_after_text("npm warn\n[DEBUG] y\n[{\"a\":1}]\n[DEBUG] z\n", &["text npm warn", "text [DEBUG] y", "json {\"a\":1}", "text [DEBUG] z"])]
#[case::array_cut_off("[{\"a\":1},{\"b\":\"x\n{\"c\":3}\n", &["json {\"a\":1}", "json {\"c\":3}"])]
#[case::array_of_records_and_more("[{\"a\":1},\"npm \\\"warn\\\", 3\", null,-2.5e3, true ,{\"b\":2}]\n", &["json {\"a\":1}", "json {\"b\":2}"])]
#[case::pretty_array_of_records_and_more("[\n  {\n    \"a\": 1\n  },\n  \"npm, warn\",\n  null\n  ,{\"b\":2}\n]\nx", &["json {\n    \"a\": 1\n  }", "json {\"b\":2}", "text x"])]
#[case::array_with_text_between("[\n{\"a\":1},\n\"it\" said\nnpm warn\n{\"b\":2}\n", &["json {\"a\":1}", "text \"it\" said", "text npm warn", "json {\"b\":2}"])]
#[case::array_of_something_else("[1, 2]\n", &["text [1, 2]"])]
#[case::list_over_several_lines("[\n  \"a.rs\",\n  2\n]\n", &["text [", "text   \"a.rs\",", "text   2", "text ]"])]
#[case::list_without_an_end("[\n\n  null", &["text [", "text ", "text   null"])]
#[case::list_that_is_none("[\n  \"a\",\nx\n", &["text [", "text   \"a\",", "text x"])]
#[case::list_of_lists("[\n  [1, 2],\n  [3]\n]\n", &["text [", "text   [1, 2],", "text   [3]", "text ]"])]
#[case::list_with_a_record_behind_it("[\n1\n] {\"a\":1}\n", &["text [", "text 1", "text ]", "json {\"a\":1}"])]
#[case::list_in_colours("[\n  \x1b[32m\"a\"\x1b[0m\n]\n", &["text [", "text   \"a\"", "text ]"])]
#[case::a_word_before_the_first_record("[\n  \"npm warn\",\n  {\"a\":1}\n]\n", &["json {\"a\":1}"])]
#[case::line_cut_off_in_a_string("{\"a\":\"tex\n{\"b\":2}\n", &["json {\"a\":\"tex", "json {\"b\":2}"])]
#[case::line_cut_off_outside("{\"a\":1,\"c\":\n{\"b\":2}\n{\"d\":3}\n", &["json {\"a\":1,\"c\":", "json {\"b\":2}", "json {\"d\":3}"])]
#[case::pretty_object_cut_off("{\n  \"a\": 1,\nKilled\n{\"b\":2}\n", &["json {", "text   \"a\": 1,", "text Killed", "json {\"b\":2}"])]
#[case::cut_off_at_the_end("{\n  \"a\":", &["json {", "text   \"a\":"])]
#[case::mark_at_the_start("\u{feff}{\"a\":1}\n", &["json {\"a\":1}"])]
#[case::mark_in_the_middle("x\n\u{feff}{\"a\":1}\n", &["text x", "json {\"a\":1}"])]
#[case::colours("\x1b[31mred\x1b[0m\n", &["text red"])]
#[case::title_before_json("\x1b]0;claude\x07{\"a\":1}\n", &["json {\"a\":1}"])]
#[case::colour_around_json("\x1b[2m{\"a\":1}\x1b[0m\n{\"b\":2}\x1b[0m\n", &["json {\"a\":1}", "json {\"b\":2}"])]
#[case::colour_before_an_array("\x1b[?25h[{\"a\":1}]\n", &["json {\"a\":1}"])]
#[case::spinner_before_json("| 1\r/ 2\r{\"a\":1}\n", &["text | 1", "text / 2", "json {\"a\":1}"])]
#[case::several_on_a_line("{\"a\":1}{\"b\":2} {\"c\":3}\n", &["json {\"a\":1}", "json {\"b\":2}", "json {\"c\":3}"])]
#[case::several_in_a_string("{\"a\":\"}{\"}\n", &["json {\"a\":\"}{\"}"])]
#[case::several_coloured("\x1b[1m{\"a\":1}{\"b\":2}\n", &["json {\"a\":1}", "json {\"b\":2}"])]
#[case::times("2026-01-15T10:00:00.1234567Z {\"a\":1}\n2026-01-15T10:00:00.1234567Z text\n", &["json {\"a\":1}", "text 2026-01-15T10:00:00.1234567Z text"])]
#[case::times_in_a_log("job\tstep\t2026-01-15T10:00:00.1Z {\"a\":1}\n", &["json {\"a\":1}"])]
#[case::times_in_colour("\x1b[36m2026-01-15T10:00:00.1Z {\"a\":1}\x1b[0m\n", &["json {\"a\":1}"])]
#[case::times_in_a_value("2026-01-15T10:00:00Z {\n2026-01-15T10:00:00Z   \"a\": 1\n2026-01-15T10:00:01Z }\n", &["json {\n  \"a\": 1\n}"])]
#[case::times_in_an_array("2026-01-15T10:00:00Z [\n2026-01-15T10:00:00Z   {\"a\": 1}\n2026-01-15T10:00:01Z ]\n", &["json {\"a\": 1}"])]
#[case::coloured_value("\x1b[1m{\n  \x1b[34m\"a\"\x1b[0m: [\n    1\n  ]\n\x1b[1m}\x1b[0m\n", &["json {\n  \"a\": [\n    1\n  ]\n}"])]
fn records(#[case] input: &str, #[case] expected: &[&str]) {
    assert_eq!(framed(&[input.as_bytes()]), expected);
    let bytes: Vec<&[u8]> = input.as_bytes().chunks(1).collect();
    assert_eq!(framed(&bytes), expected, "byte by byte");
}

#[rstest]
#[case::little_with_mark(utf16("\u{feff}{\"a\":\"é😀\"}\r\nx\r\n", u16::to_le_bytes))]
#[case::big_with_mark(utf16("\u{feff}{\"a\":\"é😀\"}\r\nx\r\n", u16::to_be_bytes))]
#[case::little(utf16("{\"a\":\"é😀\"}\r\nx\r\n", u16::to_le_bytes))]
#[case::big(utf16("{\"a\":\"é😀\"}\r\nx\r\n", u16::to_be_bytes))]
fn sixteen_bits_are_decoded(#[case] input: Vec<u8>) {
    let expected = ["json {\"a\":\"é😀\"}", "text x"];
    assert_eq!(framed(&[&input]), expected);
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(framed(&bytes), expected, "byte by byte");
}

#[test]
fn broken_sixteen_bits_become_marks() {
    let mut input = utf16("\u{feff}a", u16::to_le_bytes);
    input.extend([0x00, 0xd8, b'b', 0, 0x00]);
    assert_eq!(framed(&[&input]), ["text a\u{fffd}b\u{fffd}"]);
}

#[test]
fn a_line_that_is_too_long_is_left_out() {
    let mut framer = Framer::new();
    let mut count = 0;
    let block = vec![b'x'; 1 << 20];
    for _ in 0..65 {
        framer.push(&block, &mut |_| count += 1);
    }
    framer.push(b"\n{\"a\":1}\n", &mut |record| {
        assert_eq!(record, Record::Json(b"{\"a\":1}"));
        count += 1;
    });
    framer.finish(&mut |_| count += 1);
    assert_eq!(count, 1);
    assert!(framer.lines.partial.capacity() <= KEPT_CAPACITY);
}

#[test]
fn many_small_objects_after_marks_do_not_nest() {
    let line = "\u{feff}\u{feff}[{}]".repeat(50_000);
    assert_eq!(framed(&[line.as_bytes()]).len(), 50_000);
    let line = "\x1b[m[{}]".repeat(50_000);
    assert_eq!(framed(&[line.as_bytes()]).len(), 50_000);
    let line = "{\"a\":\"}{\"}".repeat(50_000);
    assert_eq!(framed(&[line.as_bytes()]).len(), 50_000);
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "{\"a\":1}",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        ",",
        "\n",
        "\r",
        "\n  ",
        "text",
        "[{\"b\":2},",
        "\u{feff}",
        "\x1b[0m",
        "\x1b]",
        "\x07",
        "é",
        "{\"c\":\"",
        "{\n \"d\": 1\n}",
        "\0",
    ]);
    let known = prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![3 => known, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    #[test]
    fn chunks_do_not_matter(input in pieces(), borders in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let mut borders: Vec<usize> = borders.iter().map(|index| index.index(input.len() + 1)).collect();
        borders.extend([0, input.len()]);
        borders.sort_unstable();
        let chunks: Vec<&[u8]> = borders.windows(2).map(|pair| &input[pair[0]..pair[1]]).collect();
        prop_assert_eq!(framed(&chunks), framed(&[&input]));
    }

    #[test]
    fn complete_lines_after_rubbish_are_found(rubbish in pieces()) {
        let mut input = rubbish;
        // The first of the two ends whatever the rubbish has left open.
        input.extend_from_slice(b"\n{\"type\":\"x\"}\n{\"last\":true}\n");
        let little = matches!(input[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        let bare = matches!(input[..], [1..=0x7f, 0, 1..=0x7f, 0, ..] | [0, 1..=0x7f, 0, 1..=0x7f, ..]);
        prop_assume!(!little && !bare);
        let records = framed(&[&input]);
        prop_assert_eq!(records.last().map(String::as_str), Some("json {\"last\":true}"));
    }
}
