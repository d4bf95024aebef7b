//! What is said over the sockets: requests as lines of JSON, and who may say what.

use backstop_adapters::Export;
use backstop_core::decision::Decision;
use backstop_core::diagnostic::nearest;
use backstop_core::event::{Event, EventKind, Raised, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use tokio::sync::oneshot;

use crate::prompt::Choice;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The supervised side.
    Child,
    /// Somebody outside.
    Operator,
}

/// A question to the one who owns the run.
#[derive(Debug)]
pub struct Request {
    pub from: Source,
    pub what: What,
    pub reply: oneshot::Sender<Reply>,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Take in an event and answer with the decision.
    Event(Box<Event>),
    /// Take in what a hook of the agent tells, as far as nobody else does, and answer with the
    /// decision.
    Hooked(Box<Event>),
    /// Take in what the child exports as telemetry.
    Telemetry(Box<Export>),
    /// Answer with the decision as it is.
    Decision,
    /// Somebody sent what they may not send. It has been answered; it is to be recorded.
    Refused(Refusal),
    /// An operator's wish.
    Order(Order),
}

/// What an operator may ask for. Its JSON is the line on the socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    Stop {
        #[serde(default)]
        now: bool,
        #[serde(default)]
        by: String,
    },
    Pause {
        #[serde(default)]
        by: String,
    },
    Continue {
        #[serde(default)]
        by: String,
    },
    Raise(Raised),
    ApplyPolicy {
        hash: String,
        #[serde(default)]
        by: String,
    },
    /// A person's answer to what was asked.
    Answer {
        choice: Choice,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        #[serde(default)]
        by: String,
    },
    /// Lets a held run go on.
    Release {
        #[serde(default)]
        by: String,
        #[serde(default)]
        why: String,
    },
    /// Asks before each iteration, or no longer.
    Attend {
        on: bool,
        #[serde(default)]
        by: String,
    },
    Status,
}

/// The answer to a request: a line, and the event that must be on disk before it may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub line: String,
    pub durable: Option<u64>,
}

impl Reply {
    /// The decision, as it stands after the event with this number. The exit code goes along, since
    /// only the policy knows that of a reason of its own.
    pub fn decided(decision: &Decision, exit_code: u8, seq: Option<u64>) -> Self {
        Self { line: decision_line(decision, exit_code, seq), durable: seq }
    }

    /// It was done, and is so once this event is on disk.
    pub fn done(seq: Option<u64>) -> Self {
        Self { line: json!({ "done": true, "seq": seq }).to_string(), durable: seq }
    }

    /// Any other answer.
    pub fn told(answer: &Json) -> Self {
        Self { line: answer.to_string(), durable: None }
    }

    pub fn error(message: impl AsRef<str>) -> Self {
        Self { line: error_line(message.as_ref()), durable: None }
    }
}

/// A decision as it is sent: the object of the specification, with the event's number and the exit
/// code of a command that ends with it.
pub fn decision_line(decision: &Decision, exit_code: u8, seq: Option<u64>) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        #[serde(flatten)]
        decision: &'a Decision,
        exit_code: u8,
        #[serde(skip_serializing_if = "Option::is_none")]
        seq: Option<u64>,
    }
    serde_json::to_string(&Line { decision, exit_code, seq })
        .expect("a decision has only string keys and finite numbers")
}

/// `{"error": …}`.
pub fn error_line(message: &str) -> String {
    json!({ "error": message }).to_string()
}

/// Something that its sender may not send, or that nobody can understand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub message: String,
    /// It was understood and is not allowed, which is worth recording.
    pub forbidden: bool,
}

impl Refusal {
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self { message: message.into(), forbidden: true }
    }

    pub fn unclear(message: impl Into<String>) -> Self {
        Self { message: message.into(), forbidden: false }
    }
}

/// Whether the supervised side may send this: it can add to what is known of the work, and can't
/// raise, release or clear anything. (The decoder has refused negative increments already.)
pub fn may_report(kind: &EventKind) -> Result<(), Refusal> {
    let name = kind.type_name();
    if let EventKind::Usage(Usage { basis: Some(_), .. }) = kind {
        return Err(Refusal::forbidden(
            "a supervised process can't send `usage` events with a `basis`: they could take back \
             what was counted; leave it out",
        ));
    }
    if REPORTABLE.contains(&name) {
        return Ok(());
    }
    Err(Refusal::forbidden(format!(
        "a supervised process can't send `{name}` events; it may send {}",
        REPORTABLE.join(", ")
    )))
}

/// Whether a script may send this to a run without a supervisor: also what a supervisor would have
/// observed, but nothing that backstop writes itself.
pub fn may_emit(kind: &EventKind) -> Result<(), Refusal> {
    let name = kind.type_name();
    if REPORTABLE.contains(&name) || OBSERVABLE.contains(&name) {
        return Ok(());
    }
    let instead = match name {
        "raised" => "; use `backstop raise`",
        "signal" => "; use `backstop stop`",
        "resumed" => "; use `backstop resume`",
        "released" => "; use `backstop release`",
        "answered" => "; use `backstop answer`",
        "run_started" => "; use `backstop begin`",
        "halted" => "; use `backstop end`",
        _ => "",
    };
    Err(Refusal::forbidden(format!("`{name}` events are written by backstop itself{instead}")))
}

/// Reads a line of `report.sock`: an event, `{"hooked":…}` around the event of a hook, or
/// `{"ask":"decision"}`.
pub fn read_report(line: &[u8]) -> Result<What, Refusal> {
    if let Ok(question) = serde_json::from_slice::<Question>(line) {
        return match question.ask.as_str() {
            "decision" => Ok(What::Decision),
            other => Err(Refusal::unclear(format!(
                "can't answer `{other}`; `{{\"ask\":\"decision\"}}` can be asked"
            ))),
        };
    }
    if let Ok(Hooked { hooked }) = serde_json::from_slice(line) {
        return event(hooked.to_string().as_bytes()).map(|event| What::Hooked(Box::new(event)));
    }
    event(line).map(|event| What::Event(Box::new(event)))
}

/// Reads a line of `operate.sock`, but for `watch`, which is the connection's own affair.
pub fn read_operation(line: &[u8]) -> Result<What, Refusal> {
    let value: Json = serde_json::from_slice(line)
        .map_err(|error| Refusal::unclear(format!("this is not JSON: {error}")))?;
    let name = value.get("do").and_then(Json::as_str).unwrap_or_default().to_owned();
    if name == "event" {
        let inner = value.get("event").or_else(|| value.get("hooked")).unwrap_or(&Json::Null);
        let what = if value.get("hooked").is_some() { What::Hooked } else { What::Event };
        return event(inner.to_string().as_bytes()).map(|event| what(Box::new(event)));
    }
    if !ORDERS.contains(&name.as_str()) {
        let hint = match nearest(&name, ORDERS.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", ORDERS.join(", ")),
        };
        return Err(Refusal::unclear(format!("unknown order `{name}`; {hint}")));
    }
    serde_json::from_value(value)
        .map(What::Order)
        .map_err(|error| Refusal::unclear(format!("`{name}`: {error}")))
}

/// Whether a line of `operate.sock` asks for everything that happens from now on.
pub(super) fn is_watch(line: &[u8]) -> bool {
    serde_json::from_slice::<Json>(line)
        .is_ok_and(|value| value.get("do").and_then(Json::as_str) == Some("watch"))
}

fn event(json: &[u8]) -> Result<Event, Refusal> {
    let event = Event::from_json(json)
        .map_err(|error| Refusal::unclear(format!("this is not an event: {error}")))?;
    may_report(&event.kind)?;
    Ok(event)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    ask: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hooked {
    hooked: Json,
}

/// What the supervised side may send.
const REPORTABLE: [&str; 14] = [
    "unit",
    "tests",
    "usage",
    "context",
    "error",
    "progress",
    "tasks",
    "cycle",
    "action",
    "failure_signal",
    "review",
    "worker",
    "quota",
    "drift",
];

/// What a supervisor observes by itself, and a script without one may tell.
const OBSERVABLE: [&str; 7] = [
    "iteration_started",
    "iteration_finished",
    "matched",
    "probe",
    "guard",
    "verification",
    "suspended",
];

const ORDERS: [&str; 11] = [
    "stop",
    "pause",
    "continue",
    "raise",
    "apply_policy",
    "answer",
    "release",
    "attend",
    "event",
    "status",
    "watch",
];

#[cfg(test)]
mod tests {
    use backstop_core::event::LimitValue;

    use super::*;

    #[test]
    fn every_event_type_is_the_childs_the_scripts_or_our_own() {
        let own = [
            "run_started",
            "raised",
            "signal",
            "asked",
            "answered",
            "recovered",
            "decision",
            "held",
            "released",
            "halted",
            "resumed",
            "noted",
        ];
        for name in EventKind::TYPE_NAMES {
            let lists = [&REPORTABLE[..], &OBSERVABLE[..], &own[..]];
            let in_lists = lists.iter().filter(|list| list.contains(name)).count();
            assert_eq!(in_lists, 1, "`{name}` must stand in exactly one list");
        }
    }

    #[test]
    fn a_child_may_report_work_and_nothing_else() {
        let unit = br#"{"type":"unit","id":"f3","status":"rejected","attempts":2}"#;
        assert!(matches!(read_report(unit), Ok(What::Event(_))));
        assert_eq!(read_report(br#"{"ask":"decision"}"#), Ok(What::Decision));
        let raise = br#"{"type":"raised","limit":"iterations","value":900}"#;
        let refusal = read_report(raise).unwrap_err();
        assert!(refusal.forbidden && refusal.message.contains("can't send `raised`"), "{refusal}");
        let negative = br#"{"type":"usage","input_tokens":-5}"#;
        assert!(!read_report(negative).unwrap_err().forbidden);
        let order = br#"{"do":"stop"}"#;
        assert!(read_report(order).is_err());
        let hooked = br#"{"hooked":{"type":"usage","input_tokens":5}}"#;
        assert!(matches!(read_report(hooked), Ok(What::Hooked(_))));
        for hooked in [
            &br#"{"hooked":{"type":"usage","input_tokens":5,"basis":"final"}}"#[..],
            br#"{"hooked":{"type":"halted"}}"#,
        ] {
            assert!(read_report(hooked).unwrap_err().forbidden, "{hooked:?}");
        }
    }

    #[test]
    fn orders_are_read_as_they_are_written() {
        let orders = [
            Order::Stop { now: true, by: "ann".to_owned() },
            Order::Pause { by: String::new() },
            Order::Continue { by: "ann".to_owned() },
            Order::Raise(Raised {
                limit: "iterations".to_owned(),
                value: LimitValue::Number(80.0),
                by: "ann".to_owned(),
                why: "nearly done".to_owned(),
            }),
            Order::ApplyPolicy { hash: "sha256:ab".to_owned(), by: String::new() },
            Order::Answer {
                choice: Choice::Fix,
                note: Some("use the other cache".to_owned()),
                by: "ann".to_owned(),
            },
            Order::Release { by: "ann".to_owned(), why: "checked".to_owned() },
            Order::Attend { on: true, by: String::new() },
            Order::Status,
        ];
        for order in orders {
            let line = serde_json::to_string(&order).unwrap();
            assert_eq!(read_operation(line.as_bytes()), Ok(What::Order(order)), "{line}");
        }
    }

    #[test]
    fn an_operator_reports_the_same_events_as_a_child() {
        let line = br#"{"do":"event","event":{"type":"drift","score":0.5}}"#;
        assert!(matches!(read_operation(line), Ok(What::Event(_))));
        let line = br#"{"do":"event","hooked":{"type":"drift","score":0.5}}"#;
        assert!(matches!(read_operation(line), Ok(What::Hooked(_))));
        let line = br#"{"do":"event","event":{"type":"halted"}}"#;
        assert!(read_operation(line).unwrap_err().forbidden);
    }

    #[test]
    fn what_nobody_understands_is_answered_with_the_nearest_name() {
        let refusal = read_operation(br#"{"do":"stopp"}"#).unwrap_err();
        assert!(refusal.message.contains("did you mean `stop`"), "{refusal}");
        assert!(read_operation(b"stop").unwrap_err().message.starts_with("this is not JSON"));
        assert!(read_operation(br#"{"do":"stop","later":true}"#).is_err());
    }
}
