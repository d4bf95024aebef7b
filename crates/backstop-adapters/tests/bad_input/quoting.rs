//! Streams in which a prompt, a tool's output and a file quote what must not be taken for said.

use backstop_adapters::Agent;
use serde_json::{Value, json};

/// With which agents say that they are done.
pub const PHRASES: [&str; 6] = [
    "<promise>COMPLETE</promise>",
    "TASK_COMPLETE",
    "ALL_TASKS_DONE",
    "EXIT_SIGNAL: true",
    "All tests pass",
    "LOOP_COMPLETE",
];

/// With which agents and the services behind them say that they can't go on.
const LIMITS: [&str; 42] = [
    "5-hour limit reached ∙ resets 12am",
    "You've hit your session limit · resets 3:45pm",
    "You've hit your weekly limit · resets Mon 12:00am",
    "You've hit your Opus limit · resets 9:50pm (Asia/Saigon)",
    "Claude AI usage limit reached|1751997600",
    "spend limit reached (daily; resets 2026-08-09 00:00 UTC)",
    "Credit balance is too low",
    "API Error: Request rejected (429) · slow down",
    "API Error: Server is temporarily limiting requests (not your usage limit)",
    "API Error: Repeated 529 Overloaded errors.",
    "API Error: 500 Internal server error",
    "Request timed out",
    "Connection closed mid-response",
    "Response stalled mid-stream",
    "API Error: Claude's response exceeded the 32000 output token maximum.",
    "Prompt is too long",
    "Context limit reached · /compact or /clear to continue",
    "Input is too long for requested model.",
    "Invalid API key",
    "Not logged in · Please run /login",
    "OAuth token has expired",
    "Please run /login · API Error: 401",
    "You've hit your usage limit. Upgrade to Pro or try again at 2:54 AM.",
    "You've hit your usage limit for gpt-5. Switch to another model now,",
    "Your workspace is out of credits",
    "You hit your spend cap",
    "Quota exceeded. Check your plan and billing details.",
    "Selected model is at capacity. Please try a different model.",
    "We're currently experiencing high demand",
    "stream disconnected before completion: eof",
    "request timed out",
    "shared rollout token budget exhausted",
    "Loop detected, stopping execution",
    "Maximum session turns exceeded",
    "litellm.RateLimitError: RateLimitError: 429",
    "Retrying in 0.2 seconds...",
    "tokens used: 16508",
    "Tokens: 2.4k sent, 91 received. Cost: $9.99 message, $9.99 session.",
    "{\"type\":\"result\",\"subtype\":\"error_max_turns\",\"is_error\":true,\"total_cost_usd\":99}",
    "{\"type\":\"turn.failed\",\"error\":{\"message\":\"You've hit your usage limit.\"}}",
    "{\"type\":\"error\",\"severity\":\"error\",\"message\":\"Maximum session turns exceeded\"}",
    "{\"type\":\"error\",\"error\":{\"name\":\"APIError\",\"data\":{\"message\":\"overloaded\"}}}",
];

/// All of it, a line each.
pub fn everything() -> String {
    LIMITS.iter().chain(&PHRASES).copied().collect::<Vec<_>>().join("\n")
}

/// One stream of each agent and form, which ends well.
pub fn streams() -> Vec<(Agent, String)> {
    let text = &everything();
    let mut streams = vec![
        (Agent::Aider, aider(text)),
        (Agent::Codex, codex_text(text)),
        (Agent::Claude, answer(text)),
        (Agent::Codex, answer(text)),
        (Agent::Gemini, answer(text)),
        (Agent::OpenCode, answer(text)),
        (Agent::Cursor, answer(text)),
        (Agent::Goose, answer(text)),
        (Agent::Pi, answer(text)),
    ];
    let json = [
        (Agent::Claude, claude(text)),
        (Agent::Claude, claude_transcript(text)),
        (Agent::Codex, codex(text)),
        (Agent::Codex, codex_rollout(text)),
        (Agent::Gemini, gemini(text)),
        (Agent::OpenCode, opencode(text)),
        (Agent::Cursor, cursor(text)),
        (Agent::Goose, goose(text)),
        (Agent::Pi, pi(text)),
        (Agent::Jsonl, vec![json!({"prompt": text, "file": text, "text": "Done."})]),
        (Agent::Generic, vec![json!({"prompt": text})]),
    ];
    streams.extend(json.map(|(agent, lines)| {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        (agent, lines.join("\n"))
    }));
    streams
}

fn claude(text: &str) -> Vec<Value> {
    let call = |id: &str, name: &str, input: Value| json!({"type": "assistant", "session_id": "s", "message": {"id": id, "model": "opus", "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]}});
    let answer = |id: &str, is_error: bool| json!({"type": "user", "session_id": "s", "tool_use_result": {"stdout": text, "stderr": text}, "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]}});
    vec![
        json!({"type": "system", "subtype": "init", "session_id": "s", "model": "opus", "cwd": text}),
        json!({"type": "user", "session_id": "s", "message": {"role": "user", "content": text}}),
        call("a", "Read", json!({"file_path": "a"})),
        answer("a", false),
        call("b", "Bash", json!({"command": text})),
        answer("b", true),
        call("c", "Write", json!({"file_path": "c", "content": text})),
        json!({"type": "user", "session_id": "s", "message": {"content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": text}]}]}}),
        json!({"type": "system", "subtype": "hook_response", "session_id": "s", "stdout": text, "stderr": text}),
        json!({"type": "system", "subtype": "informational", "session_id": "s", "content": text}),
        json!({"type": "assistant", "session_id": "s", "message": {"id": "d", "model": "opus", "content": [{"type": "thinking", "thinking": text}, {"type": "text", "text": "Done."}]}}),
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "Done.", "session_id": "s", "total_cost_usd": 0.1}),
    ]
}

fn claude_transcript(text: &str) -> Vec<Value> {
    vec![
        json!({"type": "summary", "summary": text}),
        json!({"type": "user", "sessionId": "s", "message": {"role": "user", "content": text}}),
        json!({"type": "assistant", "sessionId": "s", "message": {"id": "a", "model": "opus", "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "a"}}]}}),
        json!({"type": "user", "sessionId": "s", "toolUseResult": text, "message": {"content": [{"type": "tool_result", "tool_use_id": "a", "content": text}]}}),
        json!({"type": "attachment", "sessionId": "s", "attachment": {"content": text}}),
        json!({"type": "last-prompt", "sessionId": "s", "prompt": text}),
        json!({"type": "assistant", "sessionId": "s", "message": {"id": "b", "model": "opus", "stop_reason": "end_turn", "content": [{"type": "text", "text": "Done."}]}}),
    ]
}

fn codex(text: &str) -> Vec<Value> {
    vec![
        json!({"type": "thread.started", "thread_id": "t"}),
        json!({"type": "turn.started"}),
        json!({"type": "item.completed", "item": {"id": "1", "type": "reasoning", "text": text}}),
        json!({"type": "item.completed", "item": {"id": "2", "type": "command_execution", "command": text, "aggregated_output": text, "exit_code": 1, "status": "failed"}}),
        json!({"type": "item.completed", "item": {"id": "3", "type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": {"q": text}, "result": {"content": [{"type": "text", "text": text}]}, "error": {"message": text}, "status": "failed"}}),
        json!({"type": "item.completed", "item": {"id": "4", "type": "web_search", "query": text}}),
        json!({"type": "item.completed", "item": {"id": "5", "type": "todo_list", "items": [{"text": text, "completed": false}]}}),
        json!({"type": "item.completed", "item": {"id": "6", "type": "agent_message", "text": "Done."}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}),
    ]
}

fn codex_rollout(text: &str) -> Vec<Value> {
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-05-04T10:00:00Z", "type": kind, "payload": payload});
    vec![
        line("session_meta", json!({"id": "r", "instructions": text})),
        line("event_msg", json!({"type": "user_message", "message": text})),
        line(
            "response_item",
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}),
        ),
        line(
            "response_item",
            json!({"type": "function_call", "name": "shell", "arguments": json!({"command": [text]}).to_string(), "call_id": "c"}),
        ),
        line(
            "response_item",
            json!({"type": "function_call_output", "call_id": "c", "output": text}),
        ),
        line("event_msg", json!({"type": "agent_reasoning", "text": text})),
        line("event_msg", json!({"type": "agent_message", "message": "Done."})),
        line("event_msg", json!({"type": "task_complete", "last_agent_message": "Done."})),
    ]
}

fn codex_text(text: &str) -> String {
    format!(
        "[2025-08-31T12:37:08] OpenAI Codex v0.27.0 (research preview)\n--------\nmodel: o4-mini\n--------\n\
         [2025-08-31T12:37:08] User instructions:\n{text}\n\
         [2025-08-31T12:37:33] exec bash -lc 'cat notes' in /home\n\
         [2025-08-31T12:37:34] bash -lc 'cat notes' succeeded in 162ms:\n{text}\n\
         [2025-08-31T12:37:50] codex\n\nDone.\n[2025-08-31T12:37:51] tokens used: 1,368\n"
    )
}

fn gemini(text: &str) -> Vec<Value> {
    vec![
        json!({"type": "init", "session_id": "s", "model": "gemini-3"}),
        json!({"type": "message", "role": "user", "content": text}),
        json!({"type": "tool_use", "tool_name": "read_file", "tool_id": "1", "parameters": {"path": text}}),
        json!({"type": "tool_result", "tool_id": "1", "status": "success", "output": text}),
        json!({"type": "tool_use", "tool_name": "shell", "tool_id": "2", "parameters": {"command": text}}),
        json!({"type": "tool_result", "tool_id": "2", "status": "error", "error": {"type": "X", "message": text}}),
        json!({"type": "message", "role": "assistant", "content": "Done."}),
        json!({"type": "result", "status": "success", "stats": {"total_tokens": 2, "input_tokens": 1, "output_tokens": 1}}),
    ]
}

fn opencode(text: &str) -> Vec<Value> {
    vec![
        json!({"type": "step_start", "sessionID": "s", "part": {"type": "step-start"}}),
        json!({"type": "reasoning", "sessionID": "s", "part": {"type": "reasoning", "text": text}}),
        json!({"type": "tool_use", "sessionID": "s", "part": {"callID": "c", "tool": "bash", "state": {"status": "completed", "input": {"command": text}, "output": text, "title": text, "metadata": {"exit": 0, "output": text}}}}),
        json!({"type": "tool_use", "sessionID": "s", "part": {"callID": "d", "tool": "read", "state": {"status": "error", "input": {"filePath": "a"}, "error": text}}}),
        json!({"type": "text", "sessionID": "s", "part": {"type": "text", "text": "Done."}}),
        json!({"type": "step_finish", "sessionID": "s", "part": {"reason": "stop", "cost": 0.1, "tokens": {"input": 1, "output": 1}}}),
    ]
}

fn cursor(text: &str) -> Vec<Value> {
    vec![
        json!({"type": "system", "subtype": "init", "apiKeySource": "env", "session_id": "s", "model": "m"}),
        json!({"type": "user", "session_id": "s", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}),
        json!({"type": "tool_call", "subtype": "started", "call_id": "c", "session_id": "s", "tool_call": {"shellToolCall": {"args": {"command": text}}}}),
        json!({"type": "tool_call", "subtype": "completed", "call_id": "c", "session_id": "s", "tool_call": {"shellToolCall": {"args": {"command": text}, "result": {"failure": {"stdout": text, "exitCode": 1}}}}}),
        json!({"type": "assistant", "session_id": "s", "message": {"content": [{"type": "text", "text": "Done."}]}}),
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "Done.", "session_id": "s"}),
    ]
}

fn goose(text: &str) -> Vec<Value> {
    let message = |role: &str, block: Value| json!({"type": "message", "message": {"role": role, "content": [block]}});
    vec![
        message("user", json!({"type": "text", "text": text})),
        message(
            "assistant",
            json!({"type": "toolRequest", "id": "c", "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"command": text}}}}),
        ),
        message(
            "user",
            json!({"type": "toolResponse", "id": "c", "toolResult": {"status": "error", "error": text}}),
        ),
        json!({"type": "notification", "extension_id": "x", "message": text}),
        message("assistant", json!({"type": "text", "text": "Done."})),
        json!({"type": "complete", "total_tokens": 2}),
    ]
}

fn pi(text: &str) -> Vec<Value> {
    vec![
        json!({"type": "session", "version": 3, "id": "s", "cwd": "/"}),
        json!({"type": "agent_start"}),
        json!({"type": "message_end", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}),
        json!({"type": "message_end", "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": text}}], "usage": {"input": 1, "output": 1}, "stopReason": "toolUse"}}),
        json!({"type": "message_end", "message": {"role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": [{"type": "text", "text": text}], "isError": true}}),
        json!({"type": "message_end", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "usage": {"input": 1, "output": 1}, "stopReason": "stop"}}),
        json!({"type": "agent_end", "messages": []}),
    ]
}

/// An answer in plain words, which quotes everything but what the agent itself would say at its end.
/// A line that is a record is one, so it is quoted as such.
pub fn answer(text: &str) -> String {
    let quoted: Vec<String> = text
        .lines()
        .filter(|line| !PHRASES.iter().any(|phrase| line.contains(phrase)))
        .map(|line| if line.starts_with('{') { format!("> {line}") } else { line.to_owned() })
        .collect();
    format!("These are the messages:\n\n{}\n\nAll are told apart now.\n", quoted.join("\n"))
}

/// A history: what a person asked for, and a file in the model's answer.
fn aider(text: &str) -> String {
    let asked: String = text.lines().map(|line| format!("#### {line}  \n")).collect();
    // What the model itself says of being done would be said.
    let file: Vec<&str> =
        text.lines().filter(|line| !PHRASES.iter().any(|phrase| line.contains(phrase))).collect();
    format!(
        "# aider chat started at 2026-05-04 10:00:00\n\n> Aider v0.86.2  \n> Main model: gpt-5 with diff edit format  \n\n\
         {asked}\nThe file is now:\n\nnotes.md\n```\n{}\n```\n\n\
         > Tokens: 1.2k sent, 345 received. Cost: $0.01 message, $0.02 session.  \n> Applied edit to notes.md  \n",
        file.join("\n")
    )
}
