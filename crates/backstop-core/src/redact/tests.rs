//! Secrets at every border, and what only looks like one.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3V\nabc def\n\
                   -----END RSA PRIVATE KEY-----";

/// Without patterns of its own, which hold back every last word.
fn plain() -> Redactor {
    Redactor::new(["hunter2hunter2", "two words here"], [])
}

fn redactor() -> Redactor {
    Redactor::new(["hunter2hunter2", "two words here", "say \"cheese\"", "short"], ["EMP-[0-9]{6}"])
}

fn in_pieces(redactor: &Redactor, pieces: &[&[u8]]) -> String {
    let mut out = Vec::new();
    let mut stream = redactor.stream();
    for piece in pieces {
        stream.push(piece, &mut |bytes| out.extend_from_slice(bytes));
    }
    stream.finish(&mut |bytes| out.extend_from_slice(bytes));
    String::from_utf8_lossy(&out).into_owned()
}

#[rstest]
#[case::value("password: hunter2hunter2!", "password: [redacted]!")]
#[case::value_with_blanks("it is two words here.", "it is [redacted].")]
#[case::value_in_json(r#"{"a":"say \"cheese\""}"#, r#"{"a":"[redacted]"}"#)]
#[case::own_pattern("id EMP-123456, EMP-12", "id [redacted], EMP-12")]
#[case::github("ghp_0123456789abcdefghijABCDEFGHIJ456789 x", "[redacted] x")]
#[case::anthropic(concat!("key=sk-", "ant-api03-", "0123456789abcdefghij"), "key=[redacted]")]
#[case::amazon("AKIAIOSFODNN7EXAMPLE", "[redacted]")]
#[case::slack("xoxb-1234567890-abcdef", "[redacted]")]
#[case::ours("bks_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "[redacted]")]
#[case::jwt("t eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fw t", "t [redacted] t")]
#[case::url("postgres://me:s3cretpw@db.example/x", "postgres://me:[redacted]@db.example/x")]
#[case::url_with_a_token_as_its_user(
    "https://ghp_0123456789abcdefghijABCDEFGHIJ456789:x-oauth-basic@github.com/a",
    "https://[redacted]@github.com/a"
)]
#[case::url_with_a_value_as_its_user(
    "https://hunter2hunter2:s3cretpw@db.example",
    "https://[redacted]@db.example"
)]
#[case::line_break_in_json(
    r#"{"m":"line\nghp_0123456789abcdefghijABCDEFGHIJ456789\tglpat-abcdefghijklmnopqrst"}"#,
    r#"{"m":"line\n[redacted]\t[redacted]"}"#
)]
#[case::json_in_json(r"\\nAKIAIOSFODNN7EXAMPLE\\n", r"\\n[redacted]\\n")]
#[case::character_by_number(
    r"a\u000bnpm_0123456789abcdefghijABCDEFGHIJ456789",
    r"a\u000b[redacted]"
)]
#[case::scheme_after_a_line_break(r"a\nBearer abcdefghijklmnopqrstuvwx", r"a\nBearer [redacted]")]
#[case::colour("\x1b[1;31msk-0123456789abcdefghij\x1b[0m", "\x1b[1;31m[redacted]\x1b[0m")]
#[case::colour_in_json(r"a\u001b[31mxoxb-1234567890-abcdef", r"a\u001b[31m[redacted]")]
#[case::colour_in_source(r"a\033[31mhf_0123456789abcdefghijABCDEFGHIJ", r"a\033[31m[redacted]")]
#[case::other_letters("\x1b(Bsk-0123456789abcdefghij", "\x1b(B[redacted]")]
#[case::in_an_address("?a=b%3Dghp_0123456789abcdefghijABCDEFGHIJ456789", "?a=b%3D[redacted]")]
#[case::bearer(
    "Authorization: Bearer abcdefghijklmnopqrstuvwx",
    "Authorization: Bearer [redacted]"
)]
#[case::private_key(
    "a -----BEGIN PRIVATE KEY-----\nxx\n-----END PRIVATE KEY----- b",
    "a [redacted] b"
)]
fn a_secret_is_found_at_every_border(#[case] text: &str, #[case] clean: &str) {
    let redactor = redactor();
    assert_eq!(redactor.text(text), clean);
    for border in 0..=text.len() {
        let (first, second) = text.as_bytes().split_at(border);
        assert_eq!(in_pieces(&redactor, &[first, second]), clean, "border {border}");
    }
    let bytes: Vec<_> = text.as_bytes().chunks(1).collect();
    assert_eq!(in_pieces(&redactor, &bytes), clean);
}

#[rstest]
#[case("short words stay")]
#[case("sk-short, ghp_short, AKIA, eyJ")]
#[case("https://example.com/path?x=1 and user@example.com")]
#[case("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----")]
#[case("-----BEGIN ")]
#[case("task-0123456789012345678901234 ask-nothing")]
#[case(r"C:\desk-0123456789012345678901234 \[mask-0123456789012345678901234")]
#[case("\x1b[31mtask-0123456789012345678901234")]
#[case(r"a\ntask-0123456789012345678901234")]
#[case("commit 3f786850e387550fdab836ed7e6dc881de23001b")]
fn what_is_no_secret_stays(#[case] text: &str) {
    let redactor = redactor();
    assert!(matches!(redactor.text(text), Cow::Borrowed(_)) || redactor.text(text) == text);
    for border in 0..=text.len() {
        let (first, second) = text.as_bytes().split_at(border);
        assert_eq!(in_pieces(&redactor, &[first, second]), text, "border {border}");
    }
}

#[test]
fn a_key_without_an_end_gives_nothing_away() {
    let redactor = redactor();
    let cut = &KEY[..60];
    assert_eq!(in_pieces(&redactor, &[cut.as_bytes()]), "[redacted]");
    // Whoever only speaks of one is heard again some day.
    let endless = format!("{cut}{}", "a b ".repeat(40_000));
    assert!(in_pieces(&redactor, &[endless.as_bytes(), b"back"]).ends_with("back"));
}

#[test]
fn a_word_without_an_end_is_not_held_for_ever() {
    let redactor = redactor();
    let mut stream = redactor.stream();
    let mut given = 0;
    for _ in 0..100 {
        stream.push(&[b'x'; 65_536], &mut |bytes| given += bytes.len());
    }
    assert!(given >= 100 * 65_536 - (4 << 10), "{given}");
}

#[test]
fn an_ordinary_word_is_given_at_once() {
    let mut given = String::new();
    let mut stream = plain().stream();
    stream.push(b"a prompt without end>", &mut |bytes| {
        given.push_str(&String::from_utf8_lossy(bytes));
    });
    assert_eq!(given, "a prompt without end>");
}

#[rstest]
#[case("GITHUB_TOKEN", true)]
#[case("anthropic_api_key", true)]
#[case("DB_PASSWORD", true)]
#[case("PATH", false)]
#[case("KEYBOARD", false)]
fn names_tell_of_secrets(#[case] name: &str, #[case] secret: bool) {
    assert_eq!(is_secret_name(name), secret);
}

#[test]
fn patterns_that_would_take_everything_are_refused() {
    assert_eq!(pattern_problem("EMP-[0-9]+"), None);
    for pattern in ["", "a*", "(", "x{100}{100}{100}"] {
        assert!(pattern_problem(pattern).is_some(), "{pattern}");
    }
}

#[test]
fn every_pattern_has_a_mark() {
    for text in [
        KEY,
        "AIzaSyA0123456789012345678901234567890123",
        "npm_0123456789012345678901234567890123456789",
    ] {
        assert_eq!(redactor().text(text), "[redacted]", "{text}");
    }
}

proptest! {
    #[test]
    fn borders_do_not_matter(
        parts in prop::collection::vec(
            prop_oneof![
                Just("hunter2hunter2"), Just("two words here"), Just(" "), Just("\n"), Just(KEY),
                Just("-----BEGIN "), Just("two words "), Just("://a:bcdef@"), Just("Bearer "),
                Just("abcdefghijklmnopqrstuvwxyz"), Just("ghp_"), Just("sk-"), Just("ta"), Just("é"), Just("EMP-123456"),
                Just("\\n"), Just("\\u000a"), Just("\x1b[31m"), Just("\\u001b[0m"), Just("%20"),
                Just("ghp_0123456789abcdefghijABCDEFGHIJ456789"), Just("AKIAIOSFODNN7EXAMPLE"),
            ],
            0..12,
        ),
        borders in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        own: bool,
    ) {
        let text = parts.concat();
        let redactor = if own { redactor() } else { plain() };
        let mut places: Vec<_> =
            borders.iter().map(|border| border.index(text.len() + 1)).collect();
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for place in places {
            pieces.push(&text.as_bytes()[from..place]);
            from = place;
        }
        pieces.push(&text.as_bytes()[from..]);
        prop_assert_eq!(in_pieces(&redactor, &pieces), in_pieces(&redactor, &[text.as_bytes()]));
    }
}
