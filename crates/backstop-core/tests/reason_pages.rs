//! The pages of the reasons: their headings, and examples in the form in which they are executed.

use std::collections::BTreeMap;

use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::event::Event;
use backstop_core::facts::GivenFacts;
use backstop_core::policy::Policy;
use backstop_core::reason::{self, Reason};
use backstop_core::time::Timestamp;

#[test]
fn pages_have_the_same_headings_in_the_same_order() {
    for reason in reason::all() {
        let sections = sections(reason);
        let headings: Vec<_> = sections.iter().map(|(heading, _)| heading.as_str()).collect();
        let title = format!("# {}", reason.code);
        assert_eq!(
            headings,
            [&title, "## What happened", "## Why it matters", "## What to do", "## Example"],
            "{}",
            reason.code
        );
        for (heading, text) in &sections {
            assert!(!text.trim().is_empty(), "{}: {heading} is empty", reason.code);
        }
        assert_eq!(sections[0].1.trim().lines().count(), 1, "{}: one paragraph", reason.code);
        assert!(reason.page.ends_with('\n') && !reason.page.ends_with("\n\n"));
    }
}

#[test]
fn no_two_pages_share_a_paragraph() {
    let mut seen = BTreeMap::new();
    for reason in reason::all() {
        for (heading, text) in sections(reason).iter().filter(|(name, _)| name != "## Example") {
            for paragraph in text.split("\n\n").map(str::trim).filter(|text| text.len() > 40) {
                if let Some(other) = seen.insert(paragraph.to_owned(), reason.code) {
                    panic!("{} and {other}, {heading}: {paragraph}", reason.code);
                }
            }
        }
    }
}

#[test]
fn every_example_decides_what_its_page_says() {
    for reason in reason::all() {
        let code = reason.code;
        let example = Example::of(reason);
        let policy = Policy::load(example.policy.as_bytes(), Syntax::Toml).expect(code).policy;
        let now = example.decided_at.as_deref().unwrap_or("2026-05-04T10:00:00Z");
        let now: Timestamp = now.parse().expect(code);
        let given = example.facts.as_deref().unwrap_or("{}");
        let facts = GivenFacts::from_json(given.as_bytes()).expect(code);
        let mut engine = Engine::with_facts(policy, facts.into()).with_neutral_meters();
        for line in example.events.iter().flat_map(|events| events.lines()) {
            engine.handle_event(&Event::from_json(line.as_bytes()).expect(code), now);
        }
        let decision = engine.poll_decision(engine.moment(now));
        let (verdict, expected) = &example.verdict;
        assert_eq!(
            (decision.verdict.as_str(), decision.reason.as_ref()),
            (verdict.as_str(), Some(expected))
        );
        assert_eq!((expected.as_str(), example.exit_code), (code, reason.exit_code));
    }
}

/// A page's headings, each with the text below it. A `#` inside a fence is a comment.
fn sections(reason: &Reason) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    let mut inside_fence = false;
    for line in reason.page.lines() {
        inside_fence ^= line.starts_with("```");
        if line.starts_with('#') && !inside_fence {
            sections.push((line.to_owned(), String::new()));
        } else {
            let (_, text) = sections.last_mut().expect("a page starts with its heading");
            text.push_str(line);
            text.push('\n');
        }
    }
    assert!(!inside_fence, "{}: a fence is left open", reason.code);
    sections
}

/// The example that ends a page.
struct Example {
    policy: String,
    facts: Option<String>,
    events: Option<String>,
    decided_at: Option<String>,
    verdict: (String, String),
    exit_code: u8,
}

impl Example {
    fn of(reason: &Reason) -> Self {
        let code = reason.code;
        let mut fences = BTreeMap::new();
        let mut open: Option<(String, String)> = None;
        let mut told = Vec::new();
        let (_, section) = sections(reason).pop().expect("a page has sections");
        for line in section.lines() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(info)) => open = Some((info.to_owned(), String::new())),
                (Some(_), Some(_)) => {
                    let (info, text) = open.take().expect("matched above");
                    assert_eq!(told.len(), 0, "{code}: fences come before the outcome");
                    assert_eq!(fences.insert(info, text), None, "{code}: a fence comes twice");
                }
                (Some((_, text)), None) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (None, None) if line.is_empty() => {}
                (None, None) => told.push(line.split_once(": ").expect("a line of the outcome")),
            }
        }
        let policy = fences.remove("toml policy").expect("a policy");
        let facts = fences.remove("json facts");
        let events = fences.remove("jsonl events");
        assert!(fences.is_empty(), "{code}: unknown fence");
        let decided_at = (told[0].0 == "Decided at").then(|| told.remove(0).1.to_owned());
        let [("Verdict", verdict), ("Exit code", exit_code)] = told[..] else {
            panic!("{code}: the outcome is a verdict and an exit code: {told:?}");
        };
        let (then, reason) = verdict.split_once(' ').expect("verdict and reason");
        Self {
            policy,
            facts,
            events,
            decided_at,
            verdict: (then.to_owned(), reason.to_owned()),
            exit_code: exit_code.parse().expect("a number"),
        }
    }
}
