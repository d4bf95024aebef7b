//! Takes the noise out of what an agent did and saw, so that equal things have equal keys.
//!
//! Two commands that differ in their colours, blanks, times, process ids or temporary paths are the
//! same command to somebody who asks whether the agent repeats itself. The rules are byte level and
//! streaming: one pass (two for [`Style::Error`]), a fixed look-ahead, and no allocation in [`key`]
//! except for actions that are JSON. Applying them twice changes nothing.

mod clean;
mod cut;
mod error_lines;
mod json;
mod lanes;
mod recognise;
mod rewrite;
mod sink;
mod skim;

pub(crate) use clean::{Clean, is_clean};

use cut::Cut;
use error_lines::ErrorLines;
use rewrite::{Rules, rewrite};
use sink::{Hash, Sink};

/// The version of the rules. Keys of different versions must not be compared.
pub const VERSION: u32 = 1;

/// Which differences count as noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// What the agent did: file names and line numbers are kept, JSON has its keys sorted.
    Action,
    /// What came back: as it is but for the noise; long text is its head, its tail and its size.
    Observation,
    /// As [`Style::Observation`], and every run of digits is the same.
    Masked,
    /// What went wrong: the first lines that look like errors, digits masked, paths reduced to
    /// their base name.
    Error,
}

/// The readable form.
pub fn normalise(text: &[u8], style: Style) -> Vec<u8> {
    run(text, style, Vec::new())
}

/// The 64-bit key: XXH3 of the bytes of [`normalise`], without building them.
pub fn key(text: &[u8], style: Style) -> u64 {
    digest(text, style).key
}

/// A key, and how long the text is that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    pub key: u64,
    pub length: u64,
}

pub(crate) fn digest(text: &[u8], style: Style) -> Digest {
    run(text, style, Hash::new()).finish()
}

fn run<S: Sink>(text: &[u8], style: Style, mut sink: S) -> S {
    match style {
        Style::Action => match json::canonical(text) {
            Some(canonical) => sink.extend(&canonical),
            None => rewrite(text, Rules::TEXT, &mut sink),
        },
        Style::Observation | Style::Masked => {
            let rules = if style == Style::Masked { Rules::MASKED } else { Rules::TEXT };
            if cut::is_surely_whole(text) {
                rewrite(text, rules, &mut sink);
                return sink;
            }
            let mut cut = Cut::new(sink);
            rewrite(text, rules, &mut cut);
            return cut.finish();
        }
        Style::Error => {
            let mut lines = ErrorLines::new();
            rewrite(text, Rules::ERROR, &mut lines);
            let mut filter = lines.filter(&mut sink);
            rewrite(text, Rules::ERROR, &mut filter);
        }
    }
    sink
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    const STYLES: [Style; 4] = [Style::Action, Style::Observation, Style::Masked, Style::Error];

    fn text(input: impl AsRef<[u8]>, style: Style) -> String {
        String::from_utf8_lossy(&normalise(input.as_ref(), style)).into_owned()
    }

    #[rstest]
    #[case::colours("\x1b[1;31merror\x1b[0m: no", "error: no")]
    #[case::colour_inside_a_time("12:\x1b[0m30:00", "<time>")]
    #[case::hyperlink("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\ end", "link end")]
    #[case::open_title_ends_with_its_line("\x1b]0;title\nnext", "next")]
    #[case::blanks("  a \t b\r\n\n c  ", "a b\nc")]
    #[case::iso("at 2026-01-15T12:30:00.123Z ok", "at <time> ok")]
    #[case::iso_offset("2026-01-15 12:30:00,5 +02:00|", "<time>|")]
    #[case::compact("20260115T123000Z", "<time>")]
    #[case::date("2026/01/15", "<time>")]
    #[case::no_date("2026-13-45", "2026-13-45")]
    #[case::clock("12:30:59 start", "<time> start")]
    #[case::half_day("3:05 PM", "<time>")]
    #[case::line_and_column("12:30 error", "12:30 error")]
    #[case::place("main.rs:10:22:33", "main.rs:10:22:33")]
    #[case::syslog("Jan  5 12:30:00 host", "<time> host")]
    #[case::ctime("Mon Jan 15 12:30:00 2026", "<time>")]
    #[case::mail("Mon, 15 Jan 2026 12:30:00 GMT", "<time>")]
    #[case::access_log("[15/Jan/2026:12:30:00 +0000]", "[<time>]")]
    #[case::month_is_a_word("May 5 people", "May 5 people")]
    #[case::seconds("took 1.23s", "took <dur>")]
    #[case::milliseconds("450ms", "<dur>")]
    #[case::two_parts("2m 3s.", "<dur>.")]
    #[case::glued("1h2m3s", "<dur>")]
    #[case::words("in 12 seconds", "in <dur>")]
    #[case::micro("17µs", "<dur>")]
    #[case::not_a_duration("3 items 4sx v1.2.3s", "3 items 4sx v1.2.3s")]
    #[case::uuid("id 123e4567-e89b-12d3-a456-426614174000!", "id <uuid>!")]
    #[case::hash("commit a1b2c3d", "commit <hex>")]
    #[case::short_hash("a1b2c3", "a1b2c3")]
    #[case::word_of_hex_letters("defaced", "defaced")]
    #[case::number("1234567", "1234567")]
    #[case::address("at 0x7ffe1234abcd", "at <addr>")]
    #[case::small_constant("0x10", "0x10")]
    #[case::temporary("cat /tmp/a.b/c:12", "cat <tmp>:12")]
    #[case::mac_temporary("/var/folders/x/y", "<tmp>")]
    #[case::other_temporary("'/var/tmp/z'", "'<tmp>'")]
    #[case::not_temporary("/home/tmp/x ../tmp/y /tmp", "/home/tmp/x ../tmp/y /tmp")]
    #[case::pid("pid 123, PID=4 pid[5] pid: 6", "pid <pid>, PID=<pid> pid[<pid>] pid: <pid>")]
    #[case::index("items[3]", "items[3]")]
    #[case::port("port 8080", "port <port>")]
    #[case::local_port("localhost:3000/x", "localhost:<port>/x")]
    #[case::address_port("127.0.0.1:80", "127.0.0.1:<port>")]
    #[case::url_port("http://a1b2c3d4.example:8080/", "http://<hex>.example:<port>/")]
    #[case::line_is_no_port("src/main.rs:80", "src/main.rs:80")]
    #[case::percent("50% 12.5 % x", "<pct> <pct> x")]
    #[case::utf8("été 5s", "été <dur>")]
    fn noise(#[case] input: &str, #[case] expected: &str) {
        assert_eq!(text(input, Style::Action), expected);
        assert_eq!(text(input, Style::Observation), expected);
    }

    #[rstest]
    #[case("line 12 of xyz34def", "line <n> of xyz<n>def")]
    #[case("127.0.0.1:80", "<n>.<n>.<n>.<n>:<port>")]
    #[case("12345 sec x12345 sec", "<dur> x<n> sec")]
    fn masked_digits(#[case] input: &str, #[case] expected: &str) {
        assert_eq!(text(input, Style::Masked), expected);
    }

    #[rstest]
    #[case::shapes("one\nerror: a 1\ntwo\nFAILED b", "error: a <n>\nFAILED b")]
    #[case::none("one\n\n two \n3", "one\ntwo\n<n>")]
    #[case::none_takes_five("a\nb\nc\nd\ne\nf", "a\nb\nc\nd\ne")]
    #[case::five(
        "error a\nerror b\nerror c\nerror d\nerror e\nerror f",
        "error a\nerror b\nerror c\nerror d\nerror e"
    )]
    #[case::paths("error in /home/me/src/a.rs:3 and b/c.rs", "error in a.rs:<n> and c.rs")]
    #[case::shape_only_in_a_folder("x\n/errors/y", "x\ny")]
    #[case::folder("error: /usr/lib/", "error: lib/")]
    fn errors(#[case] input: &str, #[case] expected: &str) {
        assert_eq!(text(input, Style::Error), expected);
    }

    #[rstest]
    #[case::sorted(r#"{"b": 1, "a": [2, "x  y"]}"#, r#"{"a":[2,"x y"],"b":1}"#)]
    #[case::noise_in_values(r#" {"t": "\u001b[1m12:30:00\n5s"} "#, r#"{"t":"<time>\n<dur>"}"#)]
    #[case::keys_are_kept(r#"{"12:30:00": null}"#, r#"{"12:30:00":null}"#)]
    #[case::not_json("[ -f x ]  && y", "[ -f x ] && y")]
    fn json_arguments(#[case] input: &str, #[case] expected: &str) {
        assert_eq!(text(input, Style::Action), expected);
    }

    #[test]
    fn json_beyond_the_bound_is_text() {
        let long = format!(r#"{{"b": "{}", "a": 1}}"#, "x ".repeat(64 * 1024));
        assert!(text(&long, Style::Action).starts_with(r#"{"b": "x x"#));
    }

    #[test]
    fn long_observations_are_head_tail_and_size() {
        let of = |middle: usize| {
            format!("{} {} {}", "h".repeat(5000), "m ".repeat(middle), "t".repeat(5000))
        };
        let (short, same, long) = (of(500), of(501), of(20_000));
        assert_eq!(
            key(short.as_bytes(), Style::Observation),
            key(same.as_bytes(), Style::Observation)
        );
        assert_ne!(
            key(short.as_bytes(), Style::Observation),
            key(long.as_bytes(), Style::Observation)
        );
        assert_ne!(key(short.as_bytes(), Style::Action), key(same.as_bytes(), Style::Action));
        assert!(normalise(long.as_bytes(), Style::Observation).len() < 8300);
    }

    #[test]
    fn a_changed_tail_changes_the_key() {
        let text = "x ".repeat(10_000);
        assert_ne!(
            key(format!("{text}a").as_bytes(), Style::Observation),
            key(format!("{text}b").as_bytes(), Style::Observation)
        );
    }

    /// Fragments that patterns are made of, so that random text comes close to all of them.
    fn fragments() -> impl Strategy<Value = Vec<u8>> {
        let fragment = prop_oneof![
            4 => "[0-9]{1,4}",
            3 => "[ :/.,<>\\[\\](){}=%\"'+_-]",
            2 => "[a-f0-9]{1,9}",
            1 => prop::sample::select(vec![
                "12:30:00", "2026-01-15", "T", "Z", "Jan", "Mon", "5s", "ms", "2m", " sec", "pid ",
                "port ", "localhost:", "127.0.0.1", "://", "/tmp/", "/var/folders/", "0x", "\x1b[0m",
                "\x1b]", "\x07", "\x1b", "\n", "\r", "error", "a/b/", "é", "µs", "{\"a\":", "}", "[",
                "123e4567-e89b-12d3-a456-426614174000", " AM", "fail", "<time>", "\u{7f}", "\t",
            ]).prop_map(String::from),
            1 => ("[a0 :/-]", 100usize..300).prop_map(|(unit, times)| unit.repeat(times)),
        ];
        prop::collection::vec(fragment, 0..40).prop_map(|parts| parts.concat().into_bytes())
    }

    fn json_value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            fragments().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned().into()),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map("[a-c0-9:]{0,8}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn holds_for(input: &[u8]) -> Result<(), TestCaseError> {
        for style in STYLES {
            let once = normalise(input, style);
            prop_assert_eq!(key(input, style), xxh3_64(&once));
            let twice = normalise(&once, style);
            let at = once.iter().zip(&twice).take_while(|(one, two)| one == two).count();
            let around: Vec<u8> =
                once.iter().skip(at.saturating_sub(20)).take(40).copied().collect();
            prop_assert!(
                once == twice,
                "{:?} differs at {}: {}",
                style,
                at,
                String::from_utf8_lossy(&around)
            );
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn idempotent_and_keyed_alike(input in fragments()) {
            holds_for(&input)?;
        }

        #[test]
        fn idempotent_on_any_bytes(input in prop::collection::vec(any::<u8>(), 0..600)) {
            holds_for(&input)?;
        }

        #[test]
        fn idempotent_on_json(value in json_value()) {
            holds_for(value.to_string().as_bytes())?;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn idempotent_where_text_is_cut(part in fragments(), shift in 0usize..64) {
            let mut input = vec![b'x'; shift];
            while input.len() < 9000 + shift * 20 {
                input.extend_from_slice(&part);
                input.push(b'-');
            }
            holds_for(&input)?;
        }
    }
}
