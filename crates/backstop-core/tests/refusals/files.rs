//! Whole files: all of their errors, and those that are none, or large.

use std::time::{Duration, Instant};

use backstop_core::document::Syntax;
use backstop_core::engine::Engine;
use backstop_core::policy::Policy;
use backstop_core::time::Moment;
use backstop_core::verdict::Verdict;
use insta::assert_snapshot;

use crate::{refused, refused_as, rule};

#[test]
fn all_errors_of_a_file_at_once_in_the_order_of_the_text() {
    let text = "order = \"size\"
[limits]
iterations = 0
duration = \"-1h\"
[[rule]]
when = { type = \"max_tokns\", count = 5 }
then = \"halt\"
[[rule]]
when = { type = \"any\", conditions = [{ type = \"reject_rate\", above = 3 }, { type = \"all\", conditions = [] }] }
then = \"stop\"
reason = \"stald\"
[[rule]]
then = \"stop\"
[loop]
grace = 5
[[reason]]
code = \"mine\"
title = \"T\"
exit_code = 70
";
    assert_snapshot!(refused(text), @r#"
    1:9 ⟦"size"⟧ unknown `order`: `size` → `order` is one of `severity` and `priority`
    3:14 ⟦0⟧ `iterations` must be at least 1 · 0 would be met before anything happens
    4:12 ⟦"-1h"⟧ `duration` is a negative duration · a duration can't be less than 0
    6:17 ⟦"max_tokns"⟧ unknown condition `max_tokns` · did you mean `max_tokens`?
    7:8 ⟦"halt"⟧ unknown `then`: `halt` · did you mean `hold`?
    9:70 ⟦3⟧ `above` must be between 0 and 1 · write 3% as 0.03
    9:104 ⟦[]⟧ `all` needs at least one condition · nothing to look at
    11:10 ⟦"stald"⟧ unknown reason `stald` · did you mean `stalled`?
    12:1 ⟦[[rule]]⟧ `rule` needs `when` · `when` is missing
    15:9 ⟦5⟧ `grace` must be a duration in quotes, such as "90s" or "2h 30m" · this is an integer
    19:13 ⟦70⟧ exit code 70 is reserved: 64 to 78 are the sysexits codes, which tell that backstop itself failed; use 60 to 63 or 79 to 99
    "#);
}

#[test]
fn texts_that_are_no_documents() {
    assert_snapshot!(refused("[limits\niterations = 1\n"), @"1:8 ⟦⟧ unclosed table · expected `]`");
    assert_snapshot!(refused("a = 1\na = 2\n"), @"2:1 ⟦a⟧ duplicate key `a` · defined again (1:1 first defined here)");
    assert_snapshot!(refused_as("{\"limits\": {\"iterations\": 1}", Syntax::Json), @"1:29 ⟦⟧ the file ends within an object");
    assert_snapshot!(refused_as("limits: [1, 2\n", Syntax::Yaml), @"2:1 ⟦⟧ while parsing a flow sequence, expected ',' or ']'");
    let errors = Policy::load(b"label = \"\xff\"\n", Syntax::Toml).unwrap_err();
    assert_snapshot!(errors[0].message, @"file is not UTF-8: invalid byte 0xff at offset 9, line 1");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test must read the clock to time the core")]
fn ten_thousand_rules_load_and_decide() {
    let start = Instant::now();
    let rules: String = (1..=10_000)
        .rev()
        .map(|count| rule(&format!("type = \"max_iterations\", count = {count}")))
        .collect();
    let loaded = Policy::load(rules.as_bytes(), Syntax::Toml).expect("they are all right");
    let mut engine = Engine::new(loaded.policy);
    let finished =
        backstop_core::event::Event::new(backstop_core::event::IterationFinished::default());
    assert_eq!(engine.decide(Moment::default()).verdict, Verdict::Continue);
    engine.handle_event(&finished, Moment::default().at);
    let decision = engine.poll_decision(Moment::default());
    assert_eq!(decision.rule.map(|rule| rule.index), Some(9_999));
    assert_eq!(decision.progress.len(), 10_000);
    assert!(start.elapsed() < Duration::from_secs(30), "took {:?}", start.elapsed());
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    // Whoever read it would say that it is no text.
    let huge = vec![0xff; 100 << 20];
    for syntax in [Syntax::Toml, Syntax::Yaml, Syntax::Json] {
        let errors = Policy::load(&huge, syntax).unwrap_err();
        let messages: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
        assert_eq!(messages, ["file is 104857600 bytes long, more than the 16 MiB allowed"]);
    }
}
