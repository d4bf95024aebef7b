//! Results whose figures go on from one another, or do not.

use rstest::rstest;

use super::traps::{DONE, INIT, assistant, lines};
use crate::Outcome;

pub(super) fn total(cost: f64, output: u64, read: u64) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s1","total_cost_usd":{cost},"modelUsage":{{"claude-opus-4-5":{{"inputTokens":10,"outputTokens":{output},"cacheReadInputTokens":{read},"cacheCreationInputTokens":100,"contextWindow":300000}}}}}}"#
    )
}

#[test]
fn totals_of_one_process_are_not_added_twice() {
    let two =
        assistant("m2", "").replace("\"input_tokens\":10,\"cache_creation_input_tokens\":100,", "");
    let told =
        lines(&[INIT, &assistant("m1", ""), &total(0.5, 30, 1000), &two, &total(0.75, 50, 2000)]);
    assert_eq!(told.tokens(), [10, 50, 2000, 100]);
    assert_eq!(told.cost(), Some(0.75));
    assert_eq!(told.launches, 1);
    assert_eq!(told.contexts, [(1110, 200_000), (1110, 300_000), (1000, 300_000)]);
}

/// As `--output-format json` prints them, one process after the other.
#[test]
fn results_without_anything_between_are_of_different_processes() {
    let told = lines(&[&total(0.5, 30, 1000), &total(0.75, 50, 2000)]);
    assert_eq!((told.cost(), told.launches), (Some(1.25), 2));
    assert_eq!(told.tokens(), [20, 80, 3000, 200]);
}

/// As a script shows it that has kept what was printed.
#[test]
fn a_result_that_is_shown_again_counts_once() {
    let (message, result) = (assistant("m1", ""), total(0.5, 30, 1000));
    let spaced = result.replace("\":", "\": ");
    let once = lines(&[INIT, &message, &result]);
    for again in [&result, &spaced] {
        let told = lines(&[INIT, &message, &result, again]);
        assert_eq!((told.cost(), told.tokens()), (once.cost(), once.tokens()));
        assert_eq!((told.launches, told.ends.len()), (1, 1));
    }
}

/// As `cat` and a printer of JSON show what `--output-format json` has written to a file.
#[test]
fn a_lone_result_that_is_shown_again_counts_once() {
    let lone = |session: &str, uuid: &str| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"x","duration_ms":7,"session_id":"{session}","total_cost_usd":0.5,"usage":{{"input_tokens":10,"output_tokens":2}},"uuid":"{uuid}"}}"#
        )
    };
    let once = lone("s1", "u1");
    let told = lines(&[&once, &once.replace(',', ",\n  ")]);
    assert_eq!((told.cost(), told.tokens(), told.launches), (Some(0.5), [10, 2, 0, 0], 1));
    // What names nothing of its own may be another launch's, and another name is one.
    let nameless = once.replace(r#""session_id":"s1","#, "").replace(r#","uuid":"u1""#, "");
    for (first, second) in
        [(&nameless, &nameless), (&once, &lone("s1", "u2")), (&once, &lone("s2", "u1"))]
    {
        let told = lines(&[first, second]);
        assert_eq!((told.cost(), told.launches), (Some(1.0), 2), "{second}");
    }
}

/// As a script shows it that picks what people want to know.
#[test]
fn a_part_of_a_result_that_is_shown_again_counts_once() {
    let (message, result) = (assistant("m1", ""), total(0.5, 30, 1000));
    let part = |text: &str, cost: f64| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"{text}","session_id":"s1","total_cost_usd":{cost}}}"#
        )
    };
    let told = lines(&[INIT, &message, &result, &part("x", 0.5)]);
    assert_eq!((told.cost(), told.tokens()), (Some(0.5), [10, 30, 1000, 100]));
    assert_eq!((told.launches, told.ends.len()), (1, 1));
    for other in [part("y", 0.5), part("x", 0.75)] {
        assert!(lines(&[INIT, &message, &result, &other]).ends.len() > 1, "{other}");
    }
}

/// As `jq '{type,subtype,result,total_cost_usd,usage}'` shows it.
#[test]
fn a_part_with_its_tokens_counts_once_too() {
    let (message, usage) =
        (assistant("m1", ""), r#""usage":{"input_tokens":10,"output_tokens":2}"#);
    let whole = format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"x","num_turns":1,"duration_ms":7,"session_id":"s1","total_cost_usd":0.5,{usage},"uuid":"u"}}"#
    );
    let part = format!(
        r#"{{"type":"result","subtype":"success","result":"x","total_cost_usd":0.5,{usage}}}"#
    );
    for before in [vec![], vec![INIT, &message]] {
        let once = lines(&[&before[..], &[&whole]].concat());
        let told = lines(&[&before[..], &[&whole, &part]].concat());
        assert_eq!((told.cost(), told.tokens()), (once.cost(), once.tokens()));
        assert_eq!((told.launches, told.ends.len()), (1, 1));
        // Other figures are another launch's.
        let other = part.replace(":10", ":11");
        assert!(lines(&[&before[..], &[&whole, &other]].concat()).ends.len() > 1);
    }
}

/// What is full again must be told again.
#[test]
fn every_launch_tells_how_full_its_context_is() {
    let launch = [INIT, &assistant("m1", ""), &total(0.5, 30, 1000)];
    let told = lines(&[launch, launch].concat());
    let again = (1110, 300_000);
    assert_eq!(told.contexts, [(1110, 200_000), again, again]);
}

/// Only the result knows, also where it says what was assumed.
#[test]
fn a_window_that_was_rightly_assumed_is_told_when_it_is_known() {
    let result = total(0.5, 30, 1000).replace("300000", "200000");
    let told = lines(&[INIT, &assistant("m1", ""), &result]);
    assert_eq!(told.contexts, [(1110, 200_000), (1110, 200_000)]);
}

#[rstest]
#[case::totals_fall(&total(0.25, 20, 500))]
#[case::totals_have_no_room_for_what_was_before(&total(0.6, 40, 1100))]
fn totals_of_a_resumed_session_are_added(#[case] second: &str) {
    let told = lines(&[
        INIT,
        &assistant("m1", ""),
        &total(0.5, 30, 1000),
        INIT,
        &assistant("m2", ""),
        second,
    ]);
    assert!(told.cost().unwrap() > 0.7);
    assert_eq!(told.launches, 2);
}

/// As the versions print them that give no totals of models, where every turn begins like a launch.
#[test]
fn running_costs_of_older_versions_are_not_added_twice() {
    let done = |cost: f64| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s1","total_cost_usd":{cost},"usage":{{"input_tokens":10,"output_tokens":20,"cache_read_input_tokens":1000}}}}"#
        )
    };
    let turns = |costs: [f64; 3]| {
        let turn = |(at, cost): (usize, &f64)| {
            [INIT.to_owned(), assistant(&format!("m{at}"), ""), done(*cost)].join("\n")
        };
        lines(&[&costs.iter().enumerate().map(turn).collect::<Vec<_>>().join("\n")])
    };
    let told = turns([0.125, 0.25, 0.5]);
    assert_eq!((told.cost(), told.tokens()), (Some(0.5), [30, 60, 3000, 300]));
    // A process that begins at nothing has its own, be it somewhat dearer than the one before.
    for costs in [[0.5, 0.25, 0.125], [0.25, 0.25, 0.25], [0.25, 0.3125, 0.375]] {
        assert_eq!(turns(costs).cost(), Some(costs.iter().sum()), "{costs:?}");
    }
}

/// A process may open its session once more when it has compacted the conversation.
#[test]
fn a_compaction_in_the_middle_of_a_process_is_no_launch() {
    let boundary = r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto"},"session_id":"s1"}"#;
    let hook = r#"{"type":"system","subtype":"hook_response","session_id":"s1"}"#;
    let other = INIT.replace("s1", "s2");
    let (first, second) = (assistant("m1", ""), assistant("m2", ""));
    let result = total(0.5, 30, 2000);
    let told = lines(&[INIT, &first, boundary, hook, INIT, &second, &result]);
    assert_eq!((told.launches, &told.ends[..]), (1, &[Outcome::Succeeded][..]));
    assert_eq!((told.tokens(), told.cost()), ([10, 30, 2000, 100], Some(0.5)));
    // One that was killed and resumed is two.
    for killed in [
        &[INIT, &first, INIT, &second, &result][..],
        &[INIT, boundary, &first, INIT, &second, &result],
        &[INIT, &first, boundary, &other, &second, &result],
        &[INIT, &first, boundary, INIT, INIT, &second, &result],
    ] {
        assert!(lines(killed).launches > 1, "{killed:?}");
    }
}

#[test]
fn a_turn_of_the_same_process_is_no_launch() {
    let woken =
        r#"{"type":"system","subtype":"task_notification","session_id":"s1","status":"completed"}"#;
    let told = lines(&[INIT, DONE, woken, INIT, DONE]);
    assert_eq!((told.launches, told.ends.len()), (1, 2));
    let told = lines(&[INIT, DONE, INIT, DONE, INIT]);
    assert_eq!((told.launches, told.outcome), (3, Some(Outcome::CutOff)));
}
