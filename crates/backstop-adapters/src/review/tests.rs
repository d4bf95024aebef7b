use rstest::rstest;

use super::*;

fn said(text: &str) -> Option<(&'static str, Vec<String>)> {
    Said::read(text.as_bytes()).map(|said| {
        let name = match said.outcome {
            ReviewOutcome::Approved => "approved",
            ReviewOutcome::ChangesRequested => "changes",
            ReviewOutcome::Rejected => "rejected",
        };
        (name, said.requests)
    })
}

#[rstest]
#[case::plain("APPROVED\n", "approved", &[])]
#[case::lower("approved.", "approved", &[])]
#[case::heading("# Review\n\n## Verdict: **Approved** ✅\n\nNice work.\n", "approved", &[])]
#[case::emphasis("**Outcome:** _APPROVED_", "approved", &[])]
#[case::colour("\x1b[32mAPPROVED\x1b[0m", "approved", &[])]
#[case::with_words("Approved — reads well.", "approved", &[])]
#[case::list_after(
    "CHANGES REQUESTED\n\n1. Add a test\n2) Handle `None`\n",
    "changes", &["Add a test", "Handle `None`"]
)]
#[case::list_before(
    "Problems:\n- rename it\n- split it\n\nVerdict: changes_requested\n",
    "changes", &["rename it", "split it"]
)]
#[case::many_lines(
    "Changes requested:\n- Add a test\n  for empty input\n\n  ```rust\n  // APPROVED\n  - [x] no item\n  ```\n- Second\n  - with a part\n\nThanks!\n",
    "changes",
    &["Add a test\nfor empty input\n```rust\n// APPROVED\n- [x] no item\n```", "Second\n- with a part"]
)]
#[case::boxes("Changes requested\n- [ ] still open\n- [x] done\n", "changes", &["still open"])]
#[case::prose("Request changes: the error is lost.\nPlease keep it.\n", "changes", &["the error is lost.\nPlease keep it."])]
#[case::prose_before("The error is lost.\n\nCHANGES REQUESTED\n", "changes", &["The error is lost."])]
#[case::rejected("REJECTED: solves another problem", "rejected", &["solves another problem"])]
#[case::announced_wins("Verdict: APPROVED\n\n## Changes requested\n\nNone.\n", "approved", &[])]
#[case::severe_wins("APPROVED\nREJECTED\n", "rejected", &["APPROVED"])]
#[case::json(r#"{"outcome": "changes_requested", "requests": ["a", " b "]}"#, "changes", &["a", "b"])]
#[case::json_objects(
    r#"{"verdict": "Request changes", "issues": [{"file": "a.rs", "line": 3, "message": "m"}, 7]}"#,
    "changes", &["a.rs: m"]
)]
#[case::json_last_line("thinking…\n{\"outcome\":\"approved\"}\n", "approved", &[])]
#[case::json_block("```json\n{\"outcome\": \"rejected\", \"requests\": \"start again\"}\n```\n", "rejected", &["start again"])]
#[case::agent_envelope(
    r#"{"type":"result","result":"CHANGES REQUESTED\n- one\n"}"#,
    "changes", &["one"]
)]
#[case::agent_json_envelope(
    r#"{"type":"result","result":"{\"outcome\":\"approved\"}"}"#,
    "approved", &[]
)]
fn a_verdict_is_read(#[case] text: &str, #[case] outcome: &str, #[case] requests: &[&str]) {
    let requests: Vec<String> = requests.iter().map(|&request| request.to_owned()).collect();
    let (found, asked) = said(text).expect("a verdict");
    assert_eq!((found, asked), (outcome, requests));
}

#[rstest]
#[case::nothing("")]
#[case::chatter("The change looks fine to me.\n")]
#[case::word_in_a_sentence("This was approved by nobody.\nApproved changes are listed.\n")]
#[case::denied("Not approved.\n")]
#[case::no("approved: no\n")]
#[case::wrong("Approved = false\n")]
#[case::condition("APPROVED, but fix the test first\n")]
#[case::condition_after_a_dash("Approved - once the test passes\n")]
#[case::template("Say APPROVED or REJECTED.\nAPPROVED / CHANGES REQUESTED / REJECTED\n")]
#[case::quoted("> APPROVED\n\"APPROVED\"\n“Approved”\n'approved'\n")]
#[case::code("```\nAPPROVED\n```\n`APPROVED`\n    APPROVED\n")]
#[case::open_fence("~~~\nAPPROVED\n")]
#[case::list("- approved\n")]
#[case::table("| APPROVED |\n")]
#[case::part_of_a_word("APPROVED_BY\nApprovedness\n")]
#[case::json_of_another_kind(r#"{"outcome": "great", "requests": []}"#)]
#[case::json_in_a_string(r#"["{\"outcome\":\"approved\"}"]"#)]
#[case::not_text("\u{fffd}\0\x1b[")]
fn what_states_no_verdict_is_no_review(#[case] text: &str) {
    assert_eq!(said(text), None);
}

#[test]
fn two_reviews_are_as_severe_as_the_worse_one() {
    let read = |text: &str| Said::read(text.as_bytes()).unwrap();
    let both = read("APPROVED").and(read("CHANGES REQUESTED\n- x"));
    assert_eq!(both, read("CHANGES REQUESTED\n- x"));
    assert_eq!(read("APPROVED").and(read("APPROVED")), read("APPROVED"));
}

#[test]
fn requests_are_bounded_in_number_and_length() {
    let many = format!("CHANGES REQUESTED\n{}", "- a\n".repeat(1_000));
    assert_eq!(said(&many).unwrap().1.len(), MOST_REQUESTS);
    let long = format!("CHANGES REQUESTED\n- {}é", "a".repeat(1_999));
    assert_eq!(said(&long).unwrap().1[0].len(), 1_999);
}

proptest::proptest! {
    #[test]
    fn nothing_that_is_said_breaks_it(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
        let _ = Said::read(&bytes);
    }

    #[test]
    fn markdown_never_breaks_it(text in "([-*`~>#\\[\\] xX0-9.)\n\t]|approved|changes requested|\\{|\\}|\"){0,60}") {
        let _ = Said::read(text.as_bytes());
    }
}

#[rstest]
#[case::text("Changes requested\r\n- Add a test\r\n", "changes")]
#[case::json(r#"{"outcome":"approved"}"#, "approved")]
fn the_encoding_makes_no_difference(#[case] text: &str, #[case] expected: &str) {
    let marked = format!("\u{feff}{text}");
    let name = |bytes: &[u8]| said(&String::from_utf8_lossy(bytes)).map(|(name, _)| name);
    assert_eq!(name(text.as_bytes()), Some(expected));
    assert_eq!(name(marked.as_bytes()), Some(expected));
    let sixteen: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(Said::read(&sixteen), Said::read(text.as_bytes()));
}
