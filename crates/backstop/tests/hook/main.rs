//! Hooks, called as the agents call them: JSON on standard input, an answer on standard output.

#![expect(
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    reason = "what a session can't do, its test can't either, and `json!` makes values"
)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use backstop_store::{Home, Location, RunFilter};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

mod guarded;
mod installing;
mod reviewed;
mod sub_agents;
mod supervised;
mod turns;

#[path = "../support/mod.rs"]
mod support;

use support::schema::violation;

const BINARY: &str = env!("CARGO_BIN_EXE_backstop");
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures/hooks");

/// A project, a home, and an agent that works there.
struct Session {
    folder: TempDir,
    agent: &'static str,
    /// What the agent's environment has.
    variable: Option<(&'static str, &'static str)>,
}

/// What a hook answered.
#[derive(Debug)]
struct Answered {
    json: Option<Json>,
    stderr: String,
}

impl Session {
    fn new(agent: &'static str, policy: &str) -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        if !policy.is_empty() {
            fs::write(folder.path().join("work/backstop.toml"), policy).unwrap();
        }
        Self { folder, agent, variable: None }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn home(&self) -> Home {
        Home::new(self.folder.path().join(".local/state/backstop"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(self.work()).env_clear();
        command.env("HOME", self.folder.path()).env("TZ", "UTC").env("NO_COLOR", "1");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs(self.variable);
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).stdin(Stdio::null()).output().unwrap();
        format!(
            "{}{}",
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap()
        )
    }

    /// Sends these bytes, and checks what holds for every answer: exit 0, and nothing or one object.
    fn sent(&self, bytes: &[u8]) -> Answered {
        let mut child = self
            .command(&["hook", self.agent])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        let json = (!stdout.is_empty()).then(|| serde_json::from_str(&stdout).unwrap());
        Answered { json, stderr: String::from_utf8(output.stderr).unwrap() }
    }

    fn says(&self, event: &str, fields: Json) -> Option<Json> {
        let mut all = json!({
            "session_id": "0a1b", "cwd": self.work(), "hook_event_name": event,
            "transcript_path": self.transcript(), "permission_mode": "default",
        });
        if self.agent == "codex" {
            all["turn_id"] = "t1".into();
            all["model"] = "gpt-5".into();
        }
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let answered = self.sent(all.to_string().as_bytes());
        if let Some(answer) = &answered.json {
            self.fits_the_schema(event, answer);
        }
        answered.json
    }

    fn transcript(&self) -> PathBuf {
        self.folder.path().join("transcript.jsonl")
    }

    /// The tokens that the newest run has used.
    fn tokens(&self) -> u64 {
        let state = self.run(&["show", "latest", "--json"]);
        let state: Json = serde_json::from_str(&state).unwrap();
        state["facts"]["tokens"].as_u64().unwrap()
    }

    /// Codex refuses an answer with a key too many.
    fn fits_the_schema(&self, event: &str, answer: &Json) {
        let name: String = event
            .char_indices()
            .map(|(at, letter)| match letter.is_uppercase() && at > 0 {
                true => format!("-{}", letter.to_ascii_lowercase()),
                false => letter.to_ascii_lowercase().to_string(),
            })
            .collect();
        let path = format!("{FIXTURES}/codex-schema/{name}.command.output.schema.json");
        if let Ok(schema) = fs::read_to_string(path) {
            let schema: Json = serde_json::from_str(&schema).unwrap();
            assert_eq!(violation(&schema, answer), None, "{event}: {answer}");
        }
    }

    /// Every run with its events, oldest first.
    fn runs(&self) -> Vec<(String, Vec<Json>)> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = backstop_store::open(&Location::Embedded(self.home())).await.unwrap();
            let mut runs = Vec::new();
            for run in store.run_list(&RunFilter::default()).await.unwrap().into_iter().rev() {
                let events = store.event_list(run.id, 0, 10_000).await.unwrap();
                let events = events.iter().map(|event| serde_json::from_str(&event.body).unwrap());
                runs.push((run.status.to_string(), events.collect()));
            }
            runs
        })
    }
}

fn types(events: &[Json]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn bash(command: &str, output: &str) -> Json {
    json!({"tool_name": "Bash", "tool_use_id": "c", "tool_input": {"command": command},
        "tool_response": {"stdout": output, "stderr": ""}})
}

fn stop(message: &str, sent_back: bool) -> Json {
    json!({"last_assistant_message": message, "stop_hook_active": sent_back})
}

const TASKS: &str = "[progress]\ntasks = \"PLAN.md\"\ngit = false\nfiles = false\n\
    [[rule]]\nwhen = { type = \"tasks_done\" }\nthen = \"complete\"\n";

#[test]
fn what_nobody_drives_is_not_offered_to_be_watched() {
    let session = Session::new("claude-code", "");
    session.says("SessionStart", json!({ "source": "startup" }));
    let shown = session.run(&["show", "latest"]);
    assert!(shown.contains("backstop stop ") && !shown.contains("backstop attach "), "{shown}");
}

#[test]
fn a_whole_session_of_each_agent() {
    for agent in ["claude-code", "codex"] {
        let session = Session::new(agent, TASKS);
        fs::write(session.work().join("PLAN.md"), "- [x] one\n- [ ] two\n").unwrap();
        assert_eq!(session.says("SessionStart", json!({"source": "startup"})), None);
        assert_eq!(session.says("UserPromptSubmit", json!({"prompt": "do the plan"})), None);
        assert_eq!(session.says("PreToolUse", bash("ls", "")), None);
        assert_eq!(session.says("PostToolUse", bash("ls", "PLAN.md")), None);
        let back = session.says("Stop", stop("Done.", false)).unwrap();
        assert_eq!(back["decision"], "block", "{back}");
        let reason = back["reason"].as_str().unwrap();
        assert!(reason.contains("not done yet") && reason.contains("1"), "{reason}");
        fs::write(session.work().join("PLAN.md"), "- [x] one\n- [x] two\n").unwrap();
        assert_eq!(session.says("PostToolUse", bash("edit", "ok")), None);
        let end = session.says("Stop", stop("Really done.", true)).unwrap();
        assert_eq!(end["continue"], false, "{end}");
        assert!(end["stopReason"].as_str().unwrap().contains("complete"), "{end}");
        // Whoever wants more gets another run.
        fs::write(session.work().join("PLAN.md"), "- [ ] three\n").unwrap();
        assert_eq!(session.says("UserPromptSubmit", json!({"prompt": "more"})), None);
        assert_eq!(session.says("SessionEnd", json!({"reason": "other"})), None);
        let runs = session.runs();
        let statuses: Vec<_> = runs.iter().map(|(status, _)| status.as_str()).collect();
        assert_eq!(statuses, ["completed", "completed"]);
        let told = types(&runs[0].1);
        let iterations = told.iter().filter(|kind| **kind == "iteration_finished").count();
        assert_eq!(iterations, 2, "{told:?}");
        assert_eq!(told[..3], ["run_started", "action", "iteration_started"]);
        let labels = &runs[0].1[0]["labels"];
        assert_eq!((&labels["agent"], &labels["session"]), (&json!(agent), &json!("0a1b")));
    }
}

#[test]
fn a_run_that_is_stopped_stays_so_until_it_is_resumed() {
    let session = Session::new("claude-code", "[limits]\niterations = 1\n");
    assert_eq!(session.says("UserPromptSubmit", json!({"prompt": "go"})), None);
    let end = session.says("Stop", stop("Done.", false)).unwrap();
    assert_eq!(end["continue"], false);
    assert!(end["stopReason"].as_str().unwrap().contains("max_iterations"), "{end}");
    let refused = session.says("UserPromptSubmit", json!({"prompt": "more"})).unwrap();
    assert_eq!(refused["decision"], "block");
    let denied = session.says("PreToolUse", bash("ls", "")).unwrap();
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    assert!(denied.get("continue").is_none(), "Codex takes no such key here: {denied}");
    let start = session.says("SessionStart", json!({"source": "resume"})).unwrap();
    let context = start["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("backstop show ") && start["systemMessage"].is_string(), "{start}");
    session.run(&["resume", "latest", "--raise", "iterations=5"]);
    assert_eq!(session.says("UserPromptSubmit", json!({"prompt": "more"})), None);
    assert_eq!(session.says("PreToolUse", bash("ls", "")), None);
    assert_eq!(session.runs().len(), 1);
}

#[test]
fn an_agent_that_repeats_itself_is_stopped_in_the_middle() {
    let policy = "[[rule]]\nwhen = { type = \"repetition\" }\nthen = \"stop\"\n";
    for agent in ["claude-code", "codex"] {
        let session = Session::new(agent, policy);
        session.says("UserPromptSubmit", json!({"prompt": "go"}));
        let answers = (0..30).map(|_| session.says("PostToolUse", bash("make", "error: no")));
        let answer = answers.flatten().next().expect("it is noticed");
        assert_eq!(answer["continue"], false, "{answer}");
        assert!(answer["stopReason"].as_str().unwrap().contains("repetition"), "{answer}");
    }
}

#[test]
fn what_a_person_asks_for_again_is_no_repetition() {
    let policy = "[[rule]]\nwhen = { type = \"repetition\" }\nthen = \"stop\"\n";
    let session = Session::new("claude-code", policy);
    for _ in 0..20 {
        assert_eq!(session.says("UserPromptSubmit", json!({"prompt": "build it"})), None);
        assert_eq!(session.says("PostToolUse", bash("make", "error: no")), None);
    }
}

#[test]
fn an_agent_is_not_sent_back_more_often_than_it_bears() {
    let policy = "[hooks]\nmost_blocks = 20\n[[rule]]\nthen = \"complete\"\n\
        when = { type = \"file_created\", path = \"DONE\" }\n";
    for (agent, cap, expected) in [
        ("claude-code", None, 8),
        ("claude-code", Some("3"), 3),
        ("claude-code", Some("0"), 12),
        ("codex", Some("3"), 12),
    ] {
        let mut session = Session::new(agent, policy);
        session.variable = cap.map(|cap| ("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", cap));
        session.says("UserPromptSubmit", json!({"prompt": "go"}));
        let mut sent_back = 0;
        for count in 0..12 {
            session.says("PostToolUse", bash(&format!("ls {count}"), ""));
            let answer = session.says("Stop", stop(&format!("said {count}"), count > 0));
            sent_back += u32::from(answer.is_some_and(|answer| answer["decision"] == "block"));
        }
        assert_eq!(sent_back, expected, "{agent}, {cap:?}");
    }
}

#[test]
fn an_agent_is_not_sent_back_for_ever() {
    let policy = "[hooks]\nmost_blocks = 2\n[[rule]]\nthen = \"complete\"\n\
        when = { type = \"file_created\", path = \"DONE\" }\n";
    let session = Session::new("claude-code", policy);
    session.says("UserPromptSubmit", json!({"prompt": "go"}));
    let decision = |answer: Option<Json>| answer.unwrap()["decision"].clone();
    assert_eq!(decision(session.says("Stop", stop("a", false))), "block");
    session.says("PostToolUse", bash("ls", ""));
    assert_eq!(decision(session.says("Stop", stop("b", true))), "block");
    session.says("PostToolUse", bash("ls -l", ""));
    let let_go = session.says("Stop", stop("c", true)).unwrap();
    assert!(let_go.get("decision").is_none(), "{let_go}");
    assert!(let_go["systemMessage"].as_str().unwrap().contains("2 times"), "{let_go}");
    // A person's word counts anew, but nobody is sent back who did nothing about it.
    session.says("UserPromptSubmit", json!({"prompt": "go on"}));
    assert_eq!(decision(session.says("Stop", stop("d", false))), "block");
    let let_go = session.says("Stop", stop("e", true)).unwrap();
    assert!(let_go.get("decision").is_none(), "{let_go}");
    session.says("UserPromptSubmit", json!({"prompt": "go on"}));
    let mut waiting = stop("f", false);
    waiting["background_tasks"] = json!([{"id": "b"}]);
    assert_eq!(session.says("Stop", waiting), None);
}

#[test]
fn a_policy_without_completion_never_sends_anybody_back() {
    for policy in ["", "preset = \"ralph\"\n[progress]\ngit = false\n"] {
        let session = Session::new("claude-code", policy);
        session.says("UserPromptSubmit", json!({"prompt": "go"}));
        assert_eq!(session.says("Stop", stop("What next?", false)), None, "{policy}");
    }
}

#[test]
fn a_claim_counts_only_if_the_verification_passes() {
    let policy = "[verify]\ncommand = \"test -e good || { echo two tests fail; exit 1; }\"\n\
        [[rule]]\nwhen = { type = \"output_pattern\", pattern = \"ALL DONE\", in = \"result\" }\n\
        then = \"complete\"\n";
    let session = Session::new("claude-code", policy);
    session.says("UserPromptSubmit", json!({"prompt": "go"}));
    let back = session.says("Stop", stop("ALL DONE", false)).unwrap();
    assert_eq!(back["decision"], "block");
    assert!(back["reason"].as_str().unwrap().contains("two tests fail"), "{back}");
    assert_eq!(session.says("PostToolUse", bash("touch good", "")), None);
    fs::write(session.work().join("good"), "").unwrap();
    let end = session.says("Stop", stop("ALL DONE", true)).unwrap();
    assert_eq!(end["continue"], false, "{end}");
    let runs = session.runs();
    assert_eq!(runs[0].0, "completed");
    assert!(types(&runs[0].1).contains(&"noted"), "the refused claim is recorded");
}

#[test]
fn guards_hold_before_a_file_is_touched() {
    let policy =
        "[guards]\nrequire_clean = false\nallow = [\"src/**\"]\nprotect = [\"src/check.rs\"]\n";
    let session = Session::new("claude-code", policy);
    let write = |path: &Path| json!({"tool_name": "Write", "tool_input": {"file_path": path}});
    for (path, denied) in [
        ("src/a.rs", false),
        ("src/check.rs", true),
        ("src/../src/check.rs", true),
        ("README.md", true),
        ("src/Cargo.lock", true),
    ] {
        let answer = session.says("PreToolUse", write(&session.work().join(path)));
        let decision =
            answer.map(|answer| answer["hookSpecificOutput"]["permissionDecision"].clone());
        assert_eq!(decision, denied.then(|| json!("deny")), "{path}");
    }
    assert_eq!(session.says("PreToolUse", write(Path::new("/elsewhere/plan.md"))), None);
    let runs = session.runs();
    let kinds = types(&runs[0].1);
    assert_eq!(kinds.iter().filter(|kind| **kind == "noted").count(), 4, "{kinds:?}");
    assert!(!kinds.contains(&"guard"), "nothing was touched");
}

#[test]
fn tokens_come_from_the_transcript_each_once() {
    let session = Session::new("claude-code", "[limits]\ntokens = 100\n");
    let message = |id: &str, tokens: u64| {
        format!(
            "{}\n",
            json!({"type": "assistant", "sessionId": "s", "message": {"id": id, "model": "claude-x",
                "content": [], "usage": {"input_tokens": tokens, "output_tokens": 1}}})
        )
    };
    session.says("UserPromptSubmit", json!({"prompt": "go"}));
    fs::write(session.transcript(), message("a", 40)).unwrap();
    assert_eq!(session.says("PostToolUse", bash("one", "")), None);
    let mut file = fs::File::options().append(true).open(session.transcript()).unwrap();
    // The same message once more, and half of the next one.
    let next = message("b", 70);
    file.write_all(message("a", 40).as_bytes()).unwrap();
    file.write_all(&next.as_bytes()[..30]).unwrap();
    assert_eq!(session.says("PostToolUse", bash("two", "")), None);
    file.write_all(&next.as_bytes()[30..]).unwrap();
    let answer = session.says("PostToolUse", bash("three", "")).unwrap();
    assert!(answer["stopReason"].as_str().unwrap().contains("token_limit"), "{answer}");
    let runs = session.runs();
    let used = runs[0].1.iter().filter(|event| event["type"] == "usage");
    let used: u64 = used.map(|usage| usage["input_tokens"].as_u64().unwrap()).sum();
    assert_eq!(used, 110);
}

#[test]
fn a_turn_that_dies_counts_as_an_error() {
    let policy = "[[rule]]\nwhen = { type = \"consecutive_errors\", count = 2 }\nthen = \"stop\"\n";
    let session = Session::new("claude-code", policy);
    let died = || json!({"error": "server_error", "last_assistant_message": "API Error: 500"});
    for _ in 0..2 {
        assert_eq!(session.says("UserPromptSubmit", json!({"prompt": "go"})), None);
        assert_eq!(session.says("StopFailure", died()), None);
    }
    let refused = session.says("UserPromptSubmit", json!({"prompt": "again"})).unwrap();
    assert_eq!(refused["decision"], "block");
}

#[test]
fn a_policy_that_cannot_be_loaded_is_never_no_policy() {
    let session =
        Session::new("claude-code", "[limits]\niteratons = 5\n[hooks]\non_failure = \"open\"\n");
    let denied = session.says("PreToolUse", bash("ls", "")).unwrap();
    let output = &denied["hookSpecificOutput"];
    assert_eq!(output["permissionDecision"], "deny");
    let why = output["permissionDecisionReason"].as_str().unwrap();
    assert!(why.contains("policy_block") && why.contains("iteratons"), "{why}");
    assert!(why.contains("backstop policy check") && denied["systemMessage"].is_string(), "{why}");
    let refused = session.says("UserPromptSubmit", json!({"prompt": "go"})).unwrap();
    assert_eq!(refused["decision"], "block");
    fs::write(session.work().join("backstop.toml"), "[limits]\niterations = 5\n").unwrap();
    assert_eq!(session.says("PreToolUse", bash("ls", "")), None);
}

#[test]
fn failures_of_our_own_are_closed_or_open_as_the_policy_says() {
    for (policy, closed) in [("", true), ("[hooks]\non_failure = \"open\"\n", false)] {
        let session = Session::new("codex", policy);
        for bytes in ["", "no json", "[]", "{\"session_id\":\"x\"}"] {
            let answered = session.sent(bytes.as_bytes());
            let answer = answered.json.unwrap();
            assert_eq!(answer.get("continue").is_some(), closed, "{bytes}: {answer}");
            assert!(answer["systemMessage"].is_string() && answered.stderr.contains("backstop:"));
        }
        // A store that can't be one.
        fs::create_dir_all(session.folder.path().join(".local/state")).unwrap();
        fs::write(session.home().root(), "in the way").unwrap();
        let answer = session.says("PreToolUse", bash("ls", "")).unwrap();
        assert_eq!(answer.get("hookSpecificOutput").is_some(), closed, "{answer}");
        assert!(answer["systemMessage"].is_string(), "{answer}");
    }
}

#[test]
fn what_is_none_of_our_business_costs_nothing() {
    let session = Session::new("claude-code", "");
    for event in ["Notification", "SubagentStart", "TaskCompleted", "SomethingNew"] {
        assert_eq!(session.says(event, json!({"message": "hi", "new_field": [1]})), None);
    }
    assert!(!session.home().root().exists());
}

#[test]
fn twenty_hooks_at_once_make_one_run_and_lose_nothing() {
    let session = Session::new("claude-code", "");
    std::thread::scope(|scope| {
        for number in 0..20 {
            let session = &session;
            scope.spawn(move || {
                session.says("PostToolUse", bash(&format!("step {number}"), "ok"));
            });
        }
    });
    let runs = session.runs();
    assert_eq!(runs.len(), 1);
    let kinds = types(&runs[0].1);
    assert_eq!(kinds.iter().filter(|kind| **kind == "action").count(), 20);
    assert_eq!(kinds.iter().filter(|kind| **kind == "iteration_started").count(), 1);
}

#[test]
fn every_input_that_codex_describes_is_taken() {
    let Ok(entries) = fs::read_dir(format!("{FIXTURES}/codex-schema")) else {
        println!("skipped: there are no fixtures here");
        return;
    };
    let session = Session::new("codex", "");
    let mut seen = 0;
    for entry in entries.map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".input.schema.json") {
            continue;
        }
        let schema: Json = serde_json::from_slice(&fs::read(&entry).unwrap()).unwrap();
        let mut input = json!({});
        for (key, rule) in schema["properties"].as_object().unwrap() {
            let nullable = rule["$ref"].is_string();
            input[key] = match (key.as_str(), &rule["const"], &rule["enum"][0], &rule["type"]) {
                (_, Json::String(constant), ..) => constant.as_str().into(),
                (_, _, Json::String(first), _) => first.as_str().into(),
                (_, _, _, kind) if kind == "boolean" => false.into(),
                _ if nullable => Json::Null,
                ("cwd", ..) => json!(session.work()),
                _ => "x".into(),
            };
        }
        let event = input["hook_event_name"].as_str().unwrap().to_owned();
        let answered = session.sent(input.to_string().as_bytes());
        if let Some(answer) = &answered.json {
            session.fits_the_schema(&event, answer);
        }
        seen += 1;
    }
    assert_eq!(seen, 7);
}
