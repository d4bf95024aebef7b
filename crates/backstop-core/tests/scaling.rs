//! What the core reads takes time in proportion to its size, whatever stands in it.
//!
//! One test, so that nothing of ours runs beside it.

use std::hint::black_box;
use std::time::Instant;

use backstop_core::document::{Syntax, parse};
use backstop_core::normalise::{Style, key};
use backstop_core::testing::proportional::assert_proportional;

#[test]
#[expect(clippy::disallowed_methods, reason = "this measures how long the core takes")]
fn time_grows_with_the_text_and_not_faster() {
    let clock = Instant::now;
    for (syntax, document) in DOCUMENTS {
        let [small, large] = [10_000, 40_000].map(document);
        let read = |text: &str| assert!(parse(text.as_bytes(), *syntax).is_ok());
        assert_proportional(syntax.name(), 4, clock, || read(&small), || read(&large));
    }
    for unit in ADVERSARIES {
        for style in STYLES {
            let text = unit.repeat(1024 * 1024 / unit.len());
            let digest = |text: &str| {
                black_box(key(black_box(text.as_bytes()), style));
            };
            let part = &text[..text.len() / 8];
            assert_proportional(
                &format!("{style:?} {unit:?}"),
                8,
                clock,
                || digest(part),
                || digest(&text),
            );
        }
    }
}

/// A document of the given size.
type Generator = fn(usize) -> String;

const DOCUMENTS: &[(Syntax, Generator)] = &[
    (Syntax::Toml, |n| "[[rules]]\nid = \"é\"\nwhen = { type = \"x\", count = 5 }\n".repeat(n)),
    (Syntax::Toml, |n| (0..n).map(|i| format!("key{i} = {i}\n")).collect()),
    (Syntax::Yaml, |n| format!("rules:\n{}", "- id: é\n  when: {type: x, count: 5}\n".repeat(n))),
    (Syntax::Yaml, |n| (0..n).map(|i| format!("ké{i}: |\n  {i}\n")).collect()),
    (Syntax::Json, |n| {
        let rule = r#"{"id": "é", "when": {"type": "x", "count": 5}}"#;
        format!("{{\"rules\": [{}]}}", vec![rule; n].join(",\n"))
    }),
];

const STYLES: [Style; 4] = [Style::Action, Style::Observation, Style::Masked, Style::Error];

/// Units that, repeated, make every place look like the beginning of some noise.
const ADVERSARIES: [&str; 12] =
    ["a", "1-", "1:", "12:30:0", "a-", "a/", "-/", "1s ", "\x1b]", "\x1b[1;", "Mon, 1", "://1:"];
