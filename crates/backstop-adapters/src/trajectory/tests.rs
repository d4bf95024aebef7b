//! Whole trajectories: small ones that set traps, and the captured ones where they are at hand.

use std::fmt::Write as _;

use backstop_core::event::{EventKind, UsageBasis};
use backstop_core::repetition::{Detector, Signal, Step, StepKind};
use backstop_core::time::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::{Kind, recognise};
use crate::{FaultKind, Heard, Moment, Outcome, Voice};

mod captured;

fn moment() -> Moment {
    Moment {
        now: Timestamp::default(),
        is_known: true,
        is_live: false,
        zone: TimeZone::UTC,
        zone_named: |_| None,
    }
}

/// What was told, one line each; what is only for show is left out.
fn told(bytes: &[u8]) -> String {
    let Some(kind) = recognise(bytes) else { return "not recognised".to_owned() };
    let mut told = String::new();
    let outcome = kind.read(bytes, &moment(), &mut |heard: Heard<'_>| {
        let line = match heard {
            Heard::Event(EventKind::Action(action)) => {
                let result =
                    action.result_signature.map_or(String::new(), |it| format!(" -> {it}"));
                format!("[{}] {}{result}", action.kind, action.signature)
            }
            Heard::Event(EventKind::Usage(usage)) => format!(
                "{} {}+{}+{} tokens, {:?}",
                if usage.basis == Some(UsageBasis::Final) { "total" } else { "used" },
                usage.input_tokens,
                usage.cache_read_tokens,
                usage.output_tokens,
                usage.cost_usd
            ),
            Heard::Event(EventKind::Context(context)) => {
                format!("context {} of {}", context.used, context.limit)
            }
            Heard::Event(EventKind::Tests(tests)) => {
                format!("tests {:?} {:?} {:?}", tests.passed, tests.failed, tests.skipped)
            }
            Heard::Event(other) => format!("{other:?}"),
            Heard::Fault(fault) => format!("fault {:?}: {}", fault.kind, fault.message),
            Heard::Said(Voice::Assistant, text) => format!("says: {text}"),
            Heard::Said(Voice::Result, text) => format!("result: {text}"),
            Heard::Shown(_) => return,
            Heard::Launched => "launched".to_owned(),
            Heard::Ended(outcome) => format!("ended {outcome:?}"),
            Heard::At(at) => format!("at {at}"),
        };
        writeln!(told, "{}", line.trim_end()).unwrap();
    });
    let last = told.lines().rev().find_map(|line| line.strip_prefix("ended ").map(str::to_owned));
    assert_eq!(last.unwrap_or_else(|| "CutOff".to_owned()), format!("{outcome:?}"));
    told
}

fn told_of(value: &Value) -> String {
    told(value.to_string().as_bytes())
}

#[test]
fn swe_agent_steps_carry_no_thoughts_and_the_total_of_a_series_is_not_the_runs() {
    let run = json!({
        "info": {
            "model_stats": {"total_cost": 13.5, "instance_cost": 1.5, "tokens_sent": 100,
                            "tokens_received": 7, "api_calls": 3},
            "exit_status": "submitted", "submission": "diff",
        },
        "trajectory": [
            {"thought": "Look.", "action": "ls\n", "observation": "a.py", "response": "Look.```ls```"},
            {"thought": "", "action": "", "observation": "", "response": "I am lost."},
            {"thought": "", "action": " ", "observation": "", "response": ""},
            {"thought": "Done.", "action": "submit\n", "observation": "diff"},
        ],
    });
    insta::assert_snapshot!(told_of(&run), @r"
    launched
    says: Look.
    [ls] ls -> a.py
    says: I am lost.
    [message] I am lost.
    [empty]
    says: Done.
    [submit] submit -> diff
    total 100+0+7 tokens, Some(1.5)
    result: diff
    ended Succeeded
    ");
}

#[test]
fn a_run_that_was_cut_off_behind_others_is_told_as_far_as_it_is_whole() {
    let step = |action: &str| json!({"action": action, "observation": "a"});
    let run =
        json!({"trajectory": [step("ls"), step("cat a")], "info": {"exit_status": "submitted"}});
    for text in [run.to_string(), serde_json::to_string_pretty(&run).unwrap()] {
        let cut = text[..text.find("cat a").unwrap() + 2].to_owned();
        let file = format!("{text}\n{cut}");
        let closed = Kind::SweAgent.with_last_closed(file.as_bytes()).expect("it is cut off");
        let told = told(&closed);
        assert_eq!(told.matches("launched").count(), 2, "{told}");
        assert_eq!(told.matches("[ls]").count(), 2, "{told}");
        assert_eq!(told.matches("[cat").count(), 1, "{told}");
        for whole in [text.clone(), format!("{text}\n{text}\n"), cut, format!("{text}\n{{no")] {
            assert_eq!(Kind::SweAgent.with_last_closed(whole.as_bytes()), None, "{whole}");
        }
    }
}

#[test]
fn half_an_event_tells_nothing() {
    let event = json!({"id": 1, "timestamp": "t", "source": "agent", "action": "finish"});
    let cut = event.to_string().replace('}', "");
    let text = format!("{event}\n{cut}");
    assert_eq!(Kind::OpenHands.with_last_closed(text.as_bytes()), None);
}

#[rstest]
#[case(json!("submitted"), Outcome::Succeeded, None)]
#[case(json!("submitted (exit_cost)"), Outcome::Failed, Some(FaultKind::BudgetLimit))]
#[case(json!("submitted (exit_context)"), Outcome::Failed, Some(FaultKind::ContextFull))]
#[case(json!("exit_cost"), Outcome::Failed, Some(FaultKind::BudgetLimit))]
#[case(json!("exit_format"), Outcome::Failed, Some(FaultKind::Other))]
#[case(json!("early_exit"), Outcome::Failed, Some(FaultKind::Other))]
#[case(json!(null), Outcome::CutOff, None)]
#[case(json!(""), Outcome::CutOff, None)]
fn swe_agent_endings(
    #[case] status: Value,
    #[case] outcome: Outcome,
    #[case] fault: Option<FaultKind>,
) {
    let run = json!({"trajectory": [], "info": {"exit_status": status}});
    let (mut faults, mut heard_outcome) = (Vec::new(), None);
    let bytes = run.to_string();
    let told =
        Kind::SweAgent.read(bytes.as_bytes(), &moment(), &mut |heard: Heard<'_>| match heard {
            Heard::Fault(fault) => faults.push(fault.kind),
            Heard::Ended(outcome) => heard_outcome = Some(outcome),
            _ => {}
        });
    assert_eq!((told, heard_outcome), (outcome, Some(outcome)));
    assert_eq!(faults.first().copied(), fault);
}

#[test]
fn mini_swe_agent_calls_find_their_results_and_share_a_time() {
    let answer = |content: &str, actions: Value| {
        json!({"role": "assistant", "content": content, "extra": {
            "actions": actions, "cost": 0.25, "timestamp": 1_773_065_153.0,
            "response": {"usage": {"prompt_tokens": 10, "completion_tokens": 2,
                                   "prompt_tokens_details": {"cached_tokens": 4}}}}})
    };
    let result = |call: &str, code: i64, content: &str| {
        json!({"role": "tool", "tool_call_id": call, "content": content,
               "extra": {"returncode": code}})
    };
    let run = json!({
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "the task"},
            answer("Both.", json!([{"command": "a", "tool_call_id": "1"},
                                   {"command": "b", "tool_call_id": "2"}])),
            result("2", 1, "no b"),
            result("1", 0, "a!"),
            {"role": "user", "content": "No tool calls", "extra": {"interrupt_type": "FormatError"}},
            {"role": "assistant", "content": "What now?"},
            {"role": "user", "content": "No tool calls", "extra": {"interrupt_type": "FormatError"}},
            answer("", json!([{"command": "c", "tool_call_id": "3"}])),
            {"role": "exit", "content": "", "extra": {"exit_status": "LimitsExceeded"}},
        ],
        "info": {"model_stats": {"instance_cost": 0.5},
                 "config": {"agent": {"cost_limit": 0.5, "step_limit": 250}}},
    });
    insta::assert_snapshot!(told_of(&run), @r"
    launched
    at 2026-03-09T14:05:53Z
    used 6+4+2 tokens, Some(0.25)
    says: Both.
    at 2026-03-09T14:05:53Z
    [bash] b -> no b
    at 2026-03-09T14:05:53Z
    [bash] a -> a!
    [empty]
    says: What now?
    [message] What now?
    at 2026-03-09T14:05:53Z
    used 6+4+2 tokens, Some(0.25)
    at 2026-03-09T14:05:53Z
    [bash] c
    total 12+8+4 tokens, Some(0.5)
    fault BudgetLimit: LimitsExceeded
    ended Failed
    ");
}

#[test]
fn limits_without_a_price_are_limits_on_turns() {
    let run = json!({"messages": [], "info": {"exit_status": "LimitsExceeded",
        "model_stats": {"instance_cost": 0.1}, "config": {"agent": {"cost_limit": 3.0}}}});
    assert!(told_of(&run).contains("fault TurnLimit"));
}

#[test]
fn a_bare_conversation_is_cut_off_unless_it_submits() {
    let start = [
        json!({"role": "system", "content": "s"}),
        json!({"role": "user", "content": "the task"}),
        json!({"role": "assistant", "content": "Look:\n```bash\nls\n```"}),
        json!({"role": "user", "content": "<returncode>0</returncode>\n<output>\na\n</output>"}),
    ];
    let mut messages = start.to_vec();
    assert!(told_of(&json!(messages)).ends_with("ended CutOff\n"));
    messages.push(json!({"role": "assistant",
        "content": "```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff\n```"}));
    messages.push(json!({"role": "user", "content": "the diff"}));
    assert!(told_of(&json!(messages)).ends_with("result: the diff\nended Succeeded\n"));
}

#[test]
fn openhands_running_totals_are_not_added_up() {
    let metrics = |tokens: u64, cost: f64| {
        json!({"accumulated_cost": cost, "costs": [{"cost": 0.25}, {"cost": 0.5}],
               "accumulated_token_usage": {"prompt_tokens": tokens, "completion_tokens": 1},
               "token_usages": [{"prompt_tokens": 10}, {"prompt_tokens": 20}]})
    };
    let run = json!({"instance_id": "a", "metrics": metrics(30, 0.75), "error": null, "history": [
        {"id": 0, "source": "agent", "action": "system", "args": {"content": "s"}},
        {"id": 1, "source": "user", "action": "message", "args": {"content": "the task"}},
        {"id": 2, "source": "agent", "action": "run", "timestamp": "2025-04-30T16:00:00",
         "args": {"command": "make", "thought": "Build."}, "llm_metrics": metrics(10, 0.25)},
        {"id": 3, "source": "agent", "observation": "run", "cause": 2, "content": "boom",
         "extras": {"metadata": {"exit_code": 2}}},
        {"id": 4, "source": "agent", "observation": "error", "content": "no such tool"},
        {"id": 5, "source": "agent", "action": "think", "args": {"thought": "Hm."},
         "llm_metrics": metrics(30, 0.75)},
        {"id": 6, "source": "agent", "observation": "think", "cause": 5, "content": "logged"},
        {"id": 7, "source": "agent", "action": "condensation", "args": {}},
        {"id": 8, "source": "user", "action": "message", "args": {"content": "go on"}},
        {"id": 9, "source": "agent", "action": "finish",
         "args": {"final_thought": "I could not.", "task_completed": "false"}},
    ]});
    insta::assert_snapshot!(told_of(&run), @r"
    launched
    at 2025-04-30T16:00:00Z
    used 10+0+1 tokens, Some(0.25)
    says: Build.
    at 2025-04-30T16:00:00Z
    [run] make -> boom
    [exit code 2]
    [error] an invalid call -> no such tool
    used 20+0+0 tokens, Some(0.5)
    says: Hm.
    [message] Hm.
    [compaction]
    [user] go on
    result: I could not.
    total 30+0+1 tokens, Some(0.75)
    ended Failed
    ");
}

#[test]
fn each_line_of_an_evaluation_is_a_launch_and_bad_lines_are_left_out() {
    let run = |error: Value, cost: f64| {
        json!({"history": [], "error": error, "metrics": {"costs": [{"cost": cost}]}}).to_string()
    };
    let lines = [
        run(json!("AgentStuckInLoopError: Agent got stuck in a loop"), 0.5),
        "{\"history\": [".to_owned(),
        run(Value::Null, 0.25),
    ];
    insta::assert_snapshot!(told(lines.join("\n").as_bytes()), @r"
    launched
    total 0+0+0 tokens, Some(0.5)
    fault Loop: AgentStuckInLoopError: Agent got stuck in a loop
    ended Failed
    launched
    total 0+0+0 tokens, Some(0.25)
    ended CutOff
    ");
}

#[test]
fn sdk_events_of_one_answer_share_a_time_and_statistics_are_running_totals() {
    let event = |kind: &str, second: u64, source: &str, more: Value| {
        let mut event = json!({"kind": kind, "id": format!("{kind}{second}"), "source": source,
                               "timestamp": format!("2026-06-16T05:39:{second:02}")});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let call = |second: u64, id: &str, command: &str| {
        event(
            "ActionEvent",
            second,
            "agent",
            json!({"tool_name": "terminal",
            "tool_call_id": id, "llm_response_id": "r1", "thought": [],
            "action": {"kind": "TerminalAction", "command": command, "timeout": null}}),
        )
    };
    let statistics = |second: u64, tokens: u64| {
        let used = json!({"accumulated_cost": 0.25, "accumulated_token_usage": {
            "prompt_tokens": tokens, "cache_read_tokens": 5, "context_window": 1000,
            "per_turn_token": 70}});
        event(
            "ConversationStateUpdateEvent",
            second,
            "environment",
            json!({"key": "stats", "value": {"usage_to_metrics": {"default": used}}}),
        )
    };
    let state = |value: &str| {
        event(
            "ConversationStateUpdateEvent",
            59,
            "environment",
            json!({"key": "execution_status", "value": value}),
        )
    };
    let events = json!([
        call(10, "1", "a"),
        call(11, "2", "b"),
        statistics(12, 20),
        event(
            "ObservationEvent",
            13,
            "environment",
            json!({"tool_call_id": "1", "observation":
            {"content": [{"type": "text", "text": "fine"}], "is_error": false, "exit_code": 0}})
        ),
        event("AgentErrorEvent", 14, "agent", json!({"tool_call_id": "2", "error": "refused"})),
        statistics(15, 50),
        event(
            "MessageEvent",
            16,
            "agent",
            json!({"llm_message":
            {"content": [{"type": "text", "text": "Stuck."}]}})
        ),
        state("stuck"),
    ]);
    insta::assert_snapshot!(told_of(&events), @r"
    launched
    at 2026-06-16T05:39:12Z
    used 15+5+0 tokens, Some(0.25)
    context 70 of 1000
    at 2026-06-16T05:39:10Z
    [terminal] a -> fine
    at 2026-06-16T05:39:10Z
    [terminal] b -> refused
    at 2026-06-16T05:39:15Z
    used 30+0+0 tokens, None
    context 70 of 1000
    at 2026-06-16T05:39:16Z
    says: Stuck.
    [message] Stuck.
    at 2026-06-16T05:39:59Z
    fault Loop: stuck
    total 45+5+0 tokens, Some(0.25)
    ended Failed
    ");
}

#[test]
fn a_solved_trial_succeeded_though_its_agent_never_ended() {
    let trial = json!({"is_resolved": true, "failure_mode": "agent_timeout",
        "parser_results": {"b": "passed", "a": "failed", "c": "odd"},
        "total_input_tokens": null, "total_output_tokens": 0});
    insta::assert_snapshot!(told_of(&trial), @r#"
    launched
    fault Other: agent_timeout
    tests ["b"] ["a"] []
    ended Succeeded
    "#);
}

const KINDS: [Kind; 5] =
    [Kind::SweAgent, Kind::MiniSweAgent, Kind::OpenHands, Kind::OpenHandsSdk, Kind::TerminalBench];

/// Values made of the words that trajectories are made of, in places where they may not belong.
fn any_value() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "trajectory",
        "info",
        "messages",
        "history",
        "action",
        "observation",
        "thought",
        "role",
        "content",
        "extra",
        "actions",
        "kind",
        "source",
        "id",
        "cause",
        "args",
        "extras",
        "agent",
        "user",
        "assistant",
        "tool",
        "exit_status",
        "metrics",
        "llm_metrics",
        "value",
        "key",
        "stats",
        "usage_to_metrics",
        "costs",
        "cost",
        "timestamp",
        "tool_calls",
        "function",
        "arguments",
        "command",
        "is_resolved",
        "results",
        "parser_results",
        "message",
        "run",
        "ActionEvent",
        "ObservationEvent",
        "ConversationStateUpdateEvent",
        "error",
        "finish",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 96, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..8).prop_map(|pairs| {
                pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        told(&bytes);
        for kind in KINDS {
            kind.read(&bytes, &moment(), &mut |_: Heard<'_>| ());
        }
    }

    #[test]
    fn any_values_do_no_harm(values in prop::collection::vec(any_value(), 0..4)) {
        let lines: Vec<_> = values.iter().map(Value::to_string).collect();
        let lines = lines.join("\n");
        told(lines.as_bytes());
        for kind in KINDS {
            kind.read(lines.as_bytes(), &moment(), &mut |_: Heard<'_>| ());
        }
    }
}

#[test]
fn what_a_session_of_copilot_says_is_told() {
    let event =
        |kind: &str, data: &Value| json!({"type": kind, "data": data, "id": "e", "parentId": null});
    let events = [
        event("session.start", &json!({"sessionId": "s"})),
        event("user.message", &json!({"content": "Do it."})),
        event(
            "assistant.message",
            &json!({"content": "I look.", "toolRequests": [{"toolCallId": "c"}]}),
        ),
        event(
            "tool.execution_start",
            &json!({"toolCallId": "c", "toolName": "shell", "arguments": {"command": "ls"}}),
        ),
        event(
            "tool.execution_complete",
            &json!({"toolCallId": "c", "success": false, "result": {"content": "no"}}),
        ),
        event("session.error", &json!({"message": "Slow down", "statusCode": 429})),
        event("assistant.message", &json!({"content": "Done.", "toolRequests": []})),
        event("session.shutdown", &json!({"shutdownType": "routine"})),
        event("session.resume", &json!({})),
        event("abort", &json!({"reason": "user"})),
    ];
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    insta::assert_snapshot!(told(lines.join("\n").as_bytes()), @r"
    launched
    says: I look.
    [shell] ls -> no
    fault RateLimited: Slow down
    says: Done.
    [message] Done.
    result: Done.
    ended Succeeded
    launched
    ended CutOff
    ");
}

/// Steps that a trajectory says have failed count as that, whatever else differs.
#[rstest]
#[case::one_action(4, |_| "make", |number| format!("error number {number}"))]
#[case::one_error(4, |number| ["a", "b", "c", "d"][number], |_| "error: no such target".to_owned())]
fn failures_of_a_trajectory_are_repeated_errors(
    #[case] count: usize,
    #[case] command: fn(usize) -> &'static str,
    #[case] error: fn(usize) -> String,
) {
    let events: Vec<Value> = (0..count)
        .flat_map(|number| {
            let id = number.to_string();
            let common = json!({"id": id, "timestamp": "2026-06-16T05:39:00", "source": "agent"});
            let event = |kind: &str, more: Value| {
                let mut event = common.clone();
                let fields = event.as_object_mut().unwrap();
                fields.insert("kind".to_owned(), json!(kind));
                fields.extend(more.as_object().unwrap().clone());
                event
            };
            [
                event(
                    "ActionEvent",
                    json!({"tool_name": "terminal", "tool_call_id": id, "llm_response_id": id,
                    "action": {"kind": "TerminalAction", "command": command(number)}}),
                ),
                event("AgentErrorEvent", json!({"tool_call_id": id, "error": error(number)})),
            ]
        })
        .collect();
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    let mut detector = Detector::new();
    let mut judged = Vec::new();
    Kind::OpenHandsSdk.read(lines.join("\n").as_bytes(), &moment(), &mut |heard: Heard<'_>| {
        if let Heard::Event(EventKind::Action(action)) = heard {
            detector.observe(&Step {
                kind: StepKind::from(&*action.kind),
                action: action.signature.as_bytes(),
                result: action.result_signature.as_deref().map(str::as_bytes),
                failed: action.failed,
                active_ms: 0,
                cost_usd: 0.0,
                turn: Some(judged.len() as u64),
            });
            judged.push(detector.reading().kind);
        }
    });
    assert_eq!(judged, [None, None, None, Some(Signal::RepeatError)]);
}
