//! Which agent prints such a record: by its keys, whatever their order.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use regex::bytes::Regex;
use serde_json::Value;

use super::{Agent, glued};
use crate::Record;
use crate::fields::{self, text};

pub(super) fn agent(record: &Record<'_>) -> Option<Agent> {
    match record {
        Record::Json(bytes) => of_value(&fields::record(bytes)?),
        Record::Text(line) => {
            of_line(line).or_else(|| glued::record(line, false).map(|(agent, _, _)| agent))
        }
    }
}

/// The agent whose stream begins with this record.
pub(super) fn opened(record: &[u8]) -> Option<Agent> {
    // Few records are worth being read twice.
    if record.len() > LARGEST_OPENING || !OPENINGS.is_match(record) {
        return None;
    }
    let value = fields::record(record)?;
    let agent = of_value(&value)?;
    let kind = match text(&value, "type") {
        Some(kind) => kind,
        None => value.pointer("/msg/type").and_then(Value::as_str)?,
    };
    let opens = match agent {
        Agent::Claude | Agent::Cursor => {
            kind == "system" && text(&value, "subtype") == Some("init")
        }
        Agent::Codex => ["thread.started", "session_meta", "task_started"].contains(&kind),
        Agent::Gemini => kind == "init",
        Agent::OpenCode => kind == "step_start",
        Agent::Pi => ["session", "agent_start"].contains(&kind),
        // Nothing tells a first message from a later one.
        Agent::Goose | Agent::Aider | Agent::Generic | Agent::Jsonl => false,
    };
    opens.then_some(agent)
}

/// Whether a stream is opened by words that more than one agent uses, and what tells them apart is
/// missing.
pub(super) fn opens_like_another(record: &[u8]) -> bool {
    // Asked of each record: to look for one word costs next to nothing.
    static INIT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"init\""));
    if record.len() > LARGEST_OPENING || INIT.find(record).is_none() {
        return false;
    }
    let Some(value) = fields::record(record) else { return false };
    let has = |key: &str| value.get(key).is_some();
    let is_init = text(&value, "type") == Some("system") && text(&value, "subtype") == Some("init");
    is_init && !has("tools") && !has("apiKeySource")
}

/// Whether it is what only one of those prints whose streams are opened by the same words: Claude's
/// messages tell what they used, and so do its results.
pub(super) fn is_claudes(record: &[u8]) -> bool {
    let Some(value) = fields::record(record) else { return false };
    let has_usage = value.pointer("/message/usage").is_some();
    of_value(&value) == Some(Agent::Claude) && (has_usage || text(&value, "type") == Some("result"))
}

/// Where something stands that only a record which opens a stream, or is a whole answer, is sure to
/// have.
pub(super) fn sign_of_beginning(bytes: &[u8]) -> Option<usize> {
    BEGINNINGS.find(bytes).map(|sign| sign.start())
}

/// The agent whose whole answer this record is, or its last word, as those print it that open
/// nothing. Others' records may be anybody's.
pub(super) fn answered(record: &[u8]) -> Option<Agent> {
    if !ANSWERS.is_match(record) {
        return None;
    }
    let value = fields::record(record)?;
    let agent = of_value(&value)?;
    let has = |key: &str| value.get(key).is_some();
    let kind = text(&value, "type");
    let is_whole = match agent {
        // Services answer with errors, and many quote them.
        Agent::Gemini => kind.is_none() && (has("stats") || text(&value, "session_id").is_some()),
        Agent::Goose => has("metadata") || kind == Some("complete"),
        Agent::Claude | Agent::Cursor => kind == Some("result"),
        _ => false,
    };
    is_whole.then_some(agent)
}

/// Whether a message is one of Goose's, of which the first is like all others.
pub(super) fn is_gooses(record: &[u8]) -> bool {
    fields::record(record).and_then(|value| of_value(&value)) == Some(Agent::Goose)
}

/// Whether one may print what the other does.
pub(super) fn are_alike(one: Agent, other: Agent) -> bool {
    let alike = [[Agent::Claude, Agent::Cursor], [Agent::Goose, Agent::Pi]];
    one == other || alike.iter().any(|pair| pair.contains(&one) && pair.contains(&other))
}

pub(super) fn of_value(value: &Value) -> Option<Agent> {
    let has = |key: &str| value.get(key).is_some();
    let has_all = |keys: &[&str]| keys.iter().all(|key| has(key));
    let Some(kind) = text(value, "type") else {
        return if has_all(&["sessionId", "projectHash"]) || is_gemini_report(value) {
            Some(Agent::Gemini)
        } else if has("messages") && value.pointer("/metadata/total_tokens").is_some() {
            Some(Agent::Goose)
        } else if has("loglines") {
            Some(Agent::Claude)
        } else if is_old_codex(value) {
            Some(Agent::Codex)
        } else {
            None
        };
    };
    if has("payload") {
        let is_rollout =
            ["session_meta", "turn_context", "response_item", "event_msg", "compacted"]
                .contains(&kind);
        return is_rollout.then_some(Agent::Codex);
    }
    if has("sessionID") {
        let is_opencode =
            ["step_start", "step_finish", "text", "reasoning", "tool_use", "error"].contains(&kind);
        return is_opencode.then_some(Agent::OpenCode);
    }
    match kind {
        "thread.started" | "turn.started" | "turn.completed" | "turn.failed" | "item.started"
        | "item.updated" | "item.completed" => Some(Agent::Codex),
        "agent_start" | "agent_end" | "turn_start" | "turn_end" => Some(Agent::Pi),
        "session" if has_all(&["version", "cwd"]) => Some(Agent::Pi),
        "message_start" | "message_end" if value.pointer("/message/role").is_some() => {
            // Claude's own stream has such events inside of others, and without a content yet.
            value.pointer("/message/timestamp").is_some().then_some(Agent::Pi)
        }
        "init" if has("session_id") && !has("subtype") => Some(Agent::Gemini),
        "message" if has_all(&["role", "content", "timestamp"]) => Some(Agent::Gemini),
        "tool_use" if has_all(&["tool_name", "tool_id"]) => Some(Agent::Gemini),
        "tool_result" if has_all(&["tool_id", "status"]) => Some(Agent::Gemini),
        "error" if has("severity") => Some(Agent::Gemini),
        "result" if has_all(&["status", "stats"]) => Some(Agent::Gemini),
        "gemini" if has("content") => Some(Agent::Gemini),
        "message" if value.pointer("/message/content").is_some() => Some(Agent::Goose),
        "complete" if has("total_tokens") => Some(Agent::Goose),
        "notification" if has("extension_id") => Some(Agent::Goose),
        "tool_call" if has_all(&["call_id", "tool_call"]) => Some(Agent::Cursor),
        // Cursor speaks as Claude does, but does not list its tools, and counts tokens, where it
        // counts any, by names of its own.
        "system" if has("subtype") => {
            let is_cursor = has("apiKeySource") && !has("tools");
            Some(if is_cursor { Agent::Cursor } else { Agent::Claude })
        }
        "result" if has("subtype") => {
            let counts_like_claude = value.pointer("/usage/input_tokens").is_some();
            let is_cursor = has("request_id") && !has("num_turns") && !counts_like_claude;
            Some(if is_cursor { Agent::Cursor } else { Agent::Claude })
        }
        "assistant" | "user" if value.pointer("/message/content").is_some() => Some(Agent::Claude),
        "stream_event" | "rate_limit_event" => Some(Agent::Claude),
        "summary" if has("leafUuid") => Some(Agent::Claude),
        "error" if value.pointer("/error/type").is_some() => Some(Agent::Claude),
        _ => None,
    }
}

/// An event of Codex's first `--json`.
fn is_old_codex(value: &Value) -> bool {
    let kinds =
        ["task_", "agent_", "exec_command_", "token_count", "mcp_tool_call_", "patch_apply_"];
    let kind = value.pointer("/msg/type").and_then(Value::as_str);
    value.get("id").is_some_and(Value::is_string)
        && kind.is_some_and(|kind| kinds.iter().any(|start| kind.starts_with(start)))
}

/// The one object of Gemini's `--output-format json`. What it could not do it tells without any
/// answer, and builds before the ones that name their session without that.
fn is_gemini_report(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    let error_has = |key: &str| value.get("error").and_then(|error| text(error, key)).is_some();
    let failed = error_has("type") && error_has("message");
    if text(value, "session_id").is_some() {
        has("response") || has("stats") || failed
    } else {
        (has("response") && has("stats")) || is_gemini_failure(value)
    }
}

/// Gemini's error without a session around it. Services answer with an `error` too, but name its
/// type in another way than a class of JavaScript, or add to it what Gemini has not.
fn is_gemini_failure(value: &Value) -> bool {
    let only = |value: &Value, keys: &[&str]| {
        value.as_object().is_some_and(|all| all.keys().all(|key| keys.contains(&key.as_str())))
    };
    let is_class = |name: &str| {
        name.ends_with("Error")
            && name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    value.get("error").is_some_and(|error| {
        only(value, &["error", "warnings", "stats", "response"])
            && only(error, &["type", "message", "code"])
            && text(error, "message").is_some()
            && text(error, "type").is_some_and(is_class)
    })
}

/// The agent that says its name at the beginning of its text.
pub(super) fn of_line(line: &str) -> Option<Agent> {
    let words = line.strip_prefix("> ").unwrap_or(line);
    if line.starts_with("# aider chat started at ") || words.starts_with("Aider v") {
        return Some(Agent::Aider);
    }
    // The time in front of it came and went.
    let banner = line.find("OpenAI Codex v");
    banner.is_some_and(|at| at == 0 || at == "[2025-08-31T12:37:08] ".len()).then_some(Agent::Codex)
}

/// What a record that opens a stream has in it.
const OF_OPENINGS: &str =
    r#"thread\.started|session_meta|task_started|"init"|step_start|"session"|agent_start"#;
/// What most have that are a whole answer, or a last word.
const OF_ANSWERS: &str = r#""stats"|"total_tokens"|"subtype""#;
/// What the others have, as many programs' records do.
const OF_BARE_ANSWERS: &str = r#""response"|"error""#;

static OPENINGS: LazyLock<Regex> = LazyLock::new(|| signs(OF_OPENINGS));
static ANSWERS: LazyLock<Regex> =
    LazyLock::new(|| signs(&format!("{OF_ANSWERS}|{OF_BARE_ANSWERS}")));
static BEGINNINGS: LazyLock<Regex> =
    LazyLock::new(|| signs(&format!("{OF_OPENINGS}|{OF_ANSWERS}")));

fn signs(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

/// Tools may be many, and all of them are listed.
const LARGEST_OPENING: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#"{"thread_id":"x","type":"thread.started"}"#, Some(Agent::Codex))]
    #[case(r#"{"payload":{"id":"x"},"timestamp":"t","type":"session_meta"}"#, Some(Agent::Codex))]
    #[case(r#"{"session_id":"x","model":"m","timestamp":"t","type":"init"}"#, Some(Agent::Gemini))]
    #[case(r#"{"sessionId":"x","projectHash":"y","messages":[]}"#, Some(Agent::Gemini))]
    #[case(r#"{"response":"x","stats":{}}"#, Some(Agent::Gemini))]
    #[case(
        r#"{"session_id":"x","error":{"type":"FatalAuthenticationError","message":"m","code":41}}"#,
        Some(Agent::Gemini)
    )]
    #[case(r#"{"session_id":"x","response":"y"}"#, Some(Agent::Gemini))]
    #[case(r#"{"session_id":"x","error":"anybody's"}"#, None)]
    #[case(
        r#"{"error":{"type":"ApiError","message":"overloaded","code":503}}"#,
        Some(Agent::Gemini)
    )]
    #[case(r#"{"error":{"type":"Error","message":"m"},"warnings":[]}"#, Some(Agent::Gemini))]
    #[case(r#"{"error":{"type":"overloaded_error","message":"m"}}"#, None)]
    #[case(r#"{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}"#, None)]
    #[case(r#"{"error":{"message":"m","type":"BadRequestError","param":null,"code":400}}"#, None)]
    #[case(r#"{"error":{"message":"m","type":"OAuthException","code":190}}"#, None)]
    #[case(r#"{"error":{"message":"m","type":"ApiError"},"id":"x"}"#, None)]
    #[case(r#"{"error":{"message":"m","type":"server_error","code":null}}"#, None)]
    #[case(r#"{"sessionID":"x","type":"step_start","part":{}}"#, Some(Agent::OpenCode))]
    #[case(r#"{"sessionID":"x","type":"error","error":{}}"#, Some(Agent::OpenCode))]
    #[case(r#"{"type":"agent_start"}"#, Some(Agent::Pi))]
    #[case(r#"{"type":"message","message":{"role":"user","content":[]}}"#, Some(Agent::Goose))]
    #[case(r#"{"messages":[],"metadata":{"total_tokens":1}}"#, Some(Agent::Goose))]
    #[case(r#"{"messages":[{"id":"greeting"}],"metadata":{"locale":"en"}}"#, None)]
    #[case(
        r#"{"subtype":"init","type":"system","apiKeySource":"env","model":"m"}"#,
        Some(Agent::Cursor)
    )]
    #[case(
        r#"{"cwd":"/","tools":[],"subtype":"init","type":"system","apiKeySource":"none"}"#,
        Some(Agent::Claude)
    )]
    #[case(
        r#"{"is_error":false,"subtype":"success","type":"result","request_id":"r"}"#,
        Some(Agent::Cursor)
    )]
    #[case(
        r#"{"subtype":"success","type":"result","request_id":"r","usage":{"inputTokens":8445}}"#,
        Some(Agent::Cursor)
    )]
    #[case(
        r#"{"subtype":"success","type":"result","request_id":"r","usage":{"input_tokens":8445}}"#,
        Some(Agent::Claude)
    )]
    #[case(
        r#"{"is_error":false,"subtype":"success","type":"result","num_turns":3}"#,
        Some(Agent::Claude)
    )]
    #[case(r#"{"type":"error","error":{"type":"invalid_request_error"}}"#, Some(Agent::Claude))]
    #[case(r#"{"loglines":[]}"#, Some(Agent::Claude))]
    #[case(r#"{"id":"0","msg":{"type":"task_started"}}"#, Some(Agent::Codex))]
    #[case(r#"{"id":"0","msg":{"type":"hello"}}"#, None)]
    #[case(r#"{"id":7,"msg":"task_started"}"#, None)]
    #[case(r#"{"type":"build","status":"ok"}"#, None)]
    #[case(r#"{"type":"error","message":"anybody's"}"#, None)]
    #[case("{not json}", None)]
    fn keys_tell_the_agent(#[case] line: &str, #[case] expected: Option<Agent>) {
        assert_eq!(agent(&Record::Json(line.as_bytes())), expected);
    }

    #[rstest]
    #[case("# aider chat started at 2026-04-25 07:25:07", Some(Agent::Aider))]
    #[case("Aider v0.86.2", Some(Agent::Aider))]
    #[case("OpenAI Codex v0.46.0 (research preview)", Some(Agent::Codex))]
    #[case("[2025-08-31T12:37:08] OpenAI Codex v0.27.0 (research preview)", Some(Agent::Codex))]
    #[case("npm warn: see OpenAI Codex v2", None)]
    #[case("compiling", None)]
    fn so_do_banners(#[case] line: &str, #[case] expected: Option<Agent>) {
        assert_eq!(agent(&Record::Text(line)), expected);
    }
}
