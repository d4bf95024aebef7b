//! Who is told of what happens to a run: webhooks, commands, GitHub Actions.

#[expect(dead_code, reason = "the tests of the runner use all of it")]
#[path = "../../backstop-runner/tests/notify/receiver.rs"]
mod receiver;
mod support;

use receiver::{Receiver, Reply};
use serde_json::{Value as Json, json};
use support::looping::Loop;
use support::{Ended, Test};

/// Stops after three iterations.
const THREE: &str = "[[rule]]\nwhen = { type = \"max_iterations\", count = 3 }\nthen = \"stop\"\n";

fn policy(notify: &str) -> Loop {
    Loop::new().file("backstop.toml", &format!("{THREE}{notify}"))
}

fn with_webhook(receiver: &Receiver, more: &str) -> Loop {
    let url = receiver.url();
    policy(&format!("[notify]\nwebhook = \"{url}\"\nallow_private = true\n{more}"))
}

fn run(test: &Loop) -> Ended {
    test.run(["run", "--", "true"]).exits(125)
}

/// What the journal says of notifications: what, and the detail.
fn history(test: &Loop) -> Vec<(String, String)> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let notes = test.events("noted").into_iter();
    notes
        .map(|note| (text(&note["what"]), text(&note["detail"])))
        .filter(|(what, _)| what.ends_with("notified"))
        .collect()
}

#[test]
fn a_webhook_is_told_of_the_halt_and_the_journal_says_so() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let test = with_webhook(&receiver, "").variable("HTTP_PROXY", "http://127.0.0.1:1");
    let ended = test.run(["run", "--label", "team=web", "--", "true"]).exits(125);
    let received = receiver.received();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].header("x-backstop-event"), Some("halted"));
    let body: Json = serde_json::from_str(&received[0].body).unwrap();
    let run = test.state()["run_id"].as_str().unwrap().to_owned();
    assert_eq!(
        support::keys(&body),
        [
            "version",
            "event",
            "delivery",
            "at",
            "run",
            "status",
            "reason",
            "title",
            "message",
            "diagnosis",
            "next",
            "iteration",
            "tokens",
            "cost_usd",
            "active_ms",
            "project",
            "labels",
            "left_out"
        ]
    );
    assert_eq!(body["version"], 1);
    assert_eq!(body["event"], "halted");
    assert_eq!(body["run"], run);
    assert_eq!(body["status"], "stopped");
    assert_eq!(body["reason"], "max_iterations");
    assert_eq!(body["title"], format!("run {run} stopped: max_iterations"));
    assert_eq!(body["message"], test.state()["stop_reason"]["message"]);
    let next = body["next"].as_array().unwrap();
    assert!(next.contains(&json!(format!("backstop resume {run} --raise iterations=6"))));
    assert_eq!((&body["iteration"], &body["cost_usd"]), (&json!(3), &Json::Null));
    assert_eq!(body["project"], "work");
    assert_eq!(body["labels"], json!({ "team": "web" }));
    let place = format!("http://127.0.0.1:{}/…", receiver.port);
    let line = format!("webhook {place}: halted: it answered 200");
    assert_eq!(history(&test), [("notified".to_owned(), line)]);
    // After the halt, so that nothing of it is lost if this fails.
    let journal = test.journal();
    let place = |kind: &str| journal.iter().rposition(|event| event["type"] == kind).unwrap();
    assert!(place("halted") < place("noted"));
    let everything = format!("{}{}{}", ended.stdout, ended.stderr, json!(journal));
    assert!(!everything.contains("s3cret-path"), "{everything}");
}

#[test]
fn a_webhook_that_fails_twice_is_told_the_third_time() {
    let receiver = Receiver::new([Reply::Status(500), Reply::Close, Reply::Status(204)]);
    let test = with_webhook(&receiver, "");
    let ended = run(&test);
    assert!(!ended.stderr.contains("nobody was told"), "{}", ended.stderr);
    let (what, detail) = history(&test).remove(0);
    assert_eq!(what, "notified");
    assert!(detail.ends_with(": halted (3 attempts): it answered 204"), "{detail}");
}

#[test]
fn a_signed_message_can_be_checked_and_its_secret_stays_where_it_is() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let test = with_webhook(&receiver, "secret_env = \"HOOK_SECRET\"\ncommand = \"env > told\"\n")
        .variable("HOOK_SECRET", "correct horse battery");
    let ended = test.run(["run", "--", "sh", "-c", "env > seen"]).exits(125);
    let signature = receiver.received()[0].header("x-backstop-signature").map(str::to_owned);
    assert!(signature.is_some_and(|text| text.starts_with("sha256=") && text.len() == 71));
    for (name, text) in [
        ("the command", test.read("seen")),
        ("the notified", test.read("told")),
        ("the journal", json!(test.journal()).to_string()),
        ("the output", format!("{}{}", ended.stdout, ended.stderr)),
        ("the message", receiver.received()[0].body.clone()),
    ] {
        assert!(!text.is_empty(), "{name}");
        assert!(!text.contains("battery"), "{name}: {text}");
    }
}

#[test]
fn nothing_is_posted_unsigned_that_should_be_signed() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let test = with_webhook(&receiver, "secret_env = \"HOOK_SECRET\"\n");
    let ended = run(&test);
    assert_eq!(receiver.received().len(), 0);
    let words = "the variable `HOOK_SECRET` is not set";
    let shown = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(words), "{}", ended.stderr);
    assert!(history(&test)[0].1.contains(words));
}

/// The webhook's thread waits for ever; the loop does not.
#[test]
fn a_webhook_that_never_answers_keeps_nothing_waiting_but_the_end() {
    let receiver = Receiver::new([Reply::Never]);
    let warn = "[[rule]]\nwhen = { type = \"max_iterations\", count = 1 }\nthen = \"warn\"\n";
    let test = with_webhook(&receiver, warn);
    let ended = run(&test);
    assert!(receiver.received().len() >= 2, "no message waits for another");
    let journal = test.journal();
    let at = |event: &Json| event["at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let halted = journal.iter().find(|event| event["type"] == "halted").unwrap();
    let first = journal.iter().find(|event| {
        event["type"] == "noted" && event["what"].as_str().unwrap().ends_with("notified")
    });
    // Nothing was heard of the first message when the run was over.
    assert!(halted["seq"].as_u64() < first.unwrap()["seq"].as_u64());
    assert!(at(halted) <= at(first.unwrap()));
    let lost = history(&test);
    assert_eq!(lost.len(), 2, "{lost:?}");
    assert!(lost.iter().all(|(what, _)| what == "not_notified"), "{lost:?}");
    assert!(ended.stderr.contains("nobody was told by webhook"), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("nobody was told").count(), 1, "{}", ended.stderr);
}

#[test]
fn private_addresses_are_refused_unless_they_are_allowed() {
    let receiver = Receiver::new([Reply::Status(200)]);
    for host in ["127.0.0.1", "localhost"] {
        let url = receiver.url().replace("127.0.0.1", host);
        let test = policy(&format!("[notify]\nwebhook = \"{url}\"\n"));
        let ended = run(&test);
        assert!(ended.stderr.contains("is a private address"), "{}", ended.stderr);
    }
    assert_eq!(receiver.received().len(), 0);
}

#[test]
fn a_command_is_told_in_three_ways() {
    let test = policy("[notify]\ncommand = [\"./told.sh\", \"first\"]\n").script(
        "told.sh",
        "cat > input; printf '%s\\n' \"$@\" > arguments; \
         printf '%s\\n' \"$BACKSTOP_EVENT\" \"$BACKSTOP_TITLE\" \"$BACKSTOP_MESSAGE\" > variables",
    );
    run(&test);
    let input: Json = serde_json::from_str(&test.read("input")).unwrap();
    let (title, message) = (input["title"].as_str().unwrap(), input["message"].as_str().unwrap());
    assert_eq!(input["event"], "halted");
    assert_eq!(test.read("variables"), format!("halted\n{title}\n{message}\n"));
    assert_eq!(test.read("arguments"), format!("first\nbackstop: work: {title}: {message}\n"));
    let told = ("notified".to_owned(), "command ./told.sh: halted: it exited with 0".to_owned());
    assert_eq!(history(&test), [told]);
    test.leaves_nothing();
}

#[test]
fn a_command_that_fails_is_warned_of_once_and_ends_nothing() {
    let warn = "[[rule]]\nwhen = { type = \"max_iterations\", count = 1 }\nthen = \"warn\"\n";
    let test = policy(&format!("[notify]\ncommand = \"echo out of paper; exit 3\"\n{warn}"));
    let ended = run(&test);
    assert_eq!(ended.stderr.matches("nobody was told").count(), 1, "{}", ended.stderr);
    let history = history(&test);
    assert_eq!(history.len(), 2, "{history:?}");
    for (what, detail) in history {
        assert_eq!(what, "not_notified");
        assert!(detail.ends_with("it exited with 3: out of paper"), "{detail}");
    }
}

/// What ends an iteration does not end those who are being told of it.
#[test]
fn a_command_outlives_the_iteration_that_it_tells_of() {
    let test = Loop::new()
        .file(
            "backstop.toml",
            "[loop]\nfinish_within = \"0s\"\n\
             [[rule]]\nwhen = { type = \"max_tokens\", count = 1 }\nthen = \"warn\"\n\
             [[rule]]\nwhen = { type = \"max_tokens\", count = 2 }\nthen = \"kill\"\n\
             [notify]\non = [\"warn\"]\ncommand = \"touch begun; sleep 1; touch told\"\n",
        )
        .script(
            "agent.sh",
            "use() { echo '::backstop {\"type\":\"usage\",\"output_tokens\":1}'; }\n\
             use; until [ -e begun ]; do sleep 0.01; done; use; sleep 100",
        );
    test.run(["run", "--", "./agent.sh"]).exits(127);
    assert!(test.exists("told"));
    test.leaves_nothing();
}

#[test]
fn a_warning_is_told_once_each_time_that_its_rule_begins_to_fire() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let url = receiver.url();
    let cel = "iterations == 2 || iterations == 3 || iterations == 5";
    let test = Loop::new().file(
        "backstop.toml",
        &format!(
            "[[rule]]\nwhen = {{ type = \"max_iterations\", count = 6 }}\nthen = \"stop\"\n\
             [[rule]]\nwhen = {{ type = \"expr\", cel = \"{cel}\" }}\nthen = \"warn\"\n\
             message = \"look here\"\n\
             [notify]\nwebhook = \"{url}\"\nallow_private = true\n"
        ),
    );
    test.run(["run", "--", "true"]).exits(125);
    let mut told: Vec<(u64, String)> = receiver
        .received()
        .iter()
        .map(|one| serde_json::from_str::<Json>(&one.body).unwrap())
        .map(|body| (body["iteration"].as_u64().unwrap(), body["event"].as_str().unwrap().into()))
        .collect();
    // Each is sent as soon as it is known, and may be overtaken on its way.
    told.sort();
    let wanted = [(2, "warn"), (5, "warn"), (6, "halted")];
    assert_eq!(told, wanted.map(|(count, event)| (count, event.to_owned())));
}

#[test]
fn only_what_is_wanted_is_told() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let test = with_webhook(&receiver, "on = [\"held\"]\n");
    run(&test);
    assert_eq!(receiver.received().len(), 0);
    assert_eq!(history(&test), []);
    let held = Loop::new().file(
        "backstop.toml",
        &format!(
            "[[rule]]\nwhen = {{ type = \"max_iterations\", count = 1 }}\nthen = \"hold\"\n\
             [notify]\non = [\"held\"]\nwebhook = \"{}\"\nallow_private = true\n",
            receiver.url()
        ),
    );
    held.run(["run", "--", "true"]);
    assert_eq!(receiver.received()[0].header("x-backstop-event"), Some("held"));
}

#[test]
fn more_than_so_many_an_hour_are_left_out_and_counted() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let warn =
        "[[rule]]\nwhen = { type = \"expr\", cel = \"iterations % 2 == 1\" }\nthen = \"warn\"\n";
    let url = receiver.url();
    let test = Loop::new().file(
        "backstop.toml",
        &format!(
            "[[rule]]\nwhen = {{ type = \"max_iterations\", count = 8 }}\nthen = \"stop\"\n{warn}\
             [notify]\nwebhook = \"{url}\"\nallow_private = true\nmax_per_hour = 1\n"
        ),
    );
    test.run(["run", "--", "true"]).exits(125);
    let mut told: Vec<Json> = receiver
        .received()
        .iter()
        .map(|one| serde_json::from_str::<Json>(&one.body).unwrap())
        .map(|body| json!([body["event"], body["iteration"], body["left_out"]]))
        .collect();
    // The first may be overtaken on its way.
    told.sort_by_key(|one| one[1].as_u64());
    assert_eq!(told, [json!(["warn", 1, 0]), json!(["halted", 8, 3])]);
    let left_out =
        |(_, detail): &&(String, String)| detail == "warn: left out, there were too many";
    assert_eq!(history(&test).iter().filter(left_out).count(), 3);
}

#[test]
fn an_action_is_annotated_and_its_summary_written() {
    let test = policy("[notify]\non = [\"halted\"]\n")
        .variable("GITHUB_ACTIONS", "true")
        .variable("GITHUB_STEP_SUMMARY", "summary.md");
    let ended = run(&test);
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("::")).collect();
    let run_id = test.state()["run_id"].as_str().unwrap().to_owned();
    let title = format!("::error title=backstop%3A run {run_id} stopped%3A max_iterations::");
    assert_eq!(lines.len(), 1, "{}", ended.stderr);
    assert!(lines[0].starts_with(&title), "{}", lines[0]);
    let summary = test.read("summary.md");
    assert!(summary.starts_with("## backstop: stopped · `max_iterations`\n"), "{summary}");
    assert!(summary.contains(&format!("backstop resume {run_id} --raise iterations=6")));
    assert_eq!(history(&test)[0].1, "github: halted: annotated, and in the step's summary");

    let json = test.run(["run", "--json", "--", "true"]).exits(125);
    assert!(!json.stdout.contains("\n::") && !json.stderr.contains("::error"), "{}", json.stderr);
}

#[test]
fn an_action_is_left_alone_where_the_policy_says_so_and_elsewhere() {
    let off = policy("[notify]\ngithub = \"off\"\n").variable("GITHUB_ACTIONS", "true");
    assert!(!run(&off).stderr.contains("::error"));
    assert!(!run(&policy("")).stderr.contains("::error"));
    assert!(run(&policy("[notify]\ngithub = \"on\"\n")).stderr.contains("::error"));
}

#[test]
fn a_run_without_a_supervisor_tells_of_its_end() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let test = with_webhook(&receiver, "");
    let run = test.run(["begin"]).exits(0).stdout.trim().to_owned();
    test.run(["end", "--run", &run]).exits(0);
    let received = receiver.received();
    assert_eq!(received.len(), 1);
    let body: Json = serde_json::from_str(&received[0].body).unwrap();
    assert_eq!((&body["event"], &body["status"]), (&json!("halted"), &json!("completed")));
    assert_eq!(body["run"], run);
    assert!(history(&test)[0].1.ends_with("it answered 200"));
    test.run(["end", "--run", &run]).exits(0);
    assert_eq!(receiver.received().len(), 1, "it has been told");
}

#[test]
fn a_run_without_a_supervisor_tells_of_a_warning_once_each_time_that_it_begins() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let rule = "[[rule]]\nwhen = { type = \"expr\", cel = \"drift > 0.5\" }\nthen = \"warn\"\n";
    let test = with_webhook(&receiver, rule);
    let run = test.run(["begin"]).exits(0).stdout.trim().to_owned();
    for (score, told, why) in [
        ("0.9", 1, "it begins to warn"),
        ("0.8", 1, "it warns still"),
        ("0.1", 1, "it does not warn"),
        ("0.7", 2, "it warns again"),
    ] {
        test.run(["emit", "drift", "--score", score, "--run", &run]).exits(0);
        let received = receiver.received();
        assert_eq!(received.len(), told, "{why}");
        assert!(received.iter().all(|one| one.body.contains("\"event\":\"warn\"")), "{why}");
    }
    let notified = history(&test).iter().filter(|(what, _)| what == "notified").count();
    assert_eq!(notified, 2);
}

#[test]
fn all_who_report_to_a_run_share_its_hour_and_so_do_its_resumptions() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let rule = "max_per_hour = 1\n[[rule]]\n\
                when = { type = \"expr\", cel = \"drift > 0.5\" }\nthen = \"warn\"\n";
    let test = with_webhook(&receiver, rule);
    let run = test.run(["begin"]).exits(0).stdout.trim().to_owned();
    for score in ["0.9", "0.1", "0.7", "0.2", "0.6"] {
        test.run(["emit", "drift", "--score", score, "--run", &run]).exits(0);
    }
    assert_eq!(receiver.received().len(), 1, "the other two were too many");
    test.run(["end", "--run", &run]).exits(0);
    let received = receiver.received();
    let last: Json = serde_json::from_str(&received[1].body).expect("JSON");
    assert_eq!((&last["event"], &last["left_out"]), (&json!("halted"), &json!(2)));

    let warn = "max_per_hour = 2\n[[rule]]\nwhen = { type = \"expr\", cel = \"iterations > 0\" }\n\
                then = \"warn\"\n";
    let receiver = Receiver::new([Reply::Status(200)]);
    let test = with_webhook(&receiver, warn);
    test.run(["run", "--", "true"]).exits(125);
    let told = receiver.received().len();
    assert_eq!(told, 2, "a warning and the halt");
    test.run(["resume", "latest", "--raise", "iterations=9"]).exits(125);
    let received = receiver.received();
    assert_eq!(received.len(), told + 1, "the halt only");
}

#[test]
fn a_test_message_goes_to_everybody() {
    let receiver = Receiver::new([Reply::Status(200)]);
    let test = with_webhook(&receiver, "command = [\"false\"]\n");
    let place = format!("http://127.0.0.1:{}/…", receiver.port);
    let told = test.run(["notify", "test"]).exits(74);
    assert!(told.stdout.starts_with(&format!("webhook  delivered to {place}: it answered 200\n")));
    assert!(told.stdout.contains("command  failed to false: it exited with 1"), "{}", told.stdout);
    let body: Json = serde_json::from_str(&receiver.received()[0].body).unwrap();
    assert_eq!(body["event"], "test");

    let good = policy("[notify]\ncommand = \"cat > told\"\n");
    assert_eq!(
        good.run(["notify", "test", "--json"]).exits(0).json(),
        json!({ "delivered": true, "channels": [{
            "channel": "command", "target": "cat > told", "delivered": true, "attempts": 1,
            "detail": "it exited with 0"
        }] })
    );
    assert!(good.read("told").contains("\"event\":\"test\""));
    assert_eq!(good.run(["ls"]).exits(0).stdout.matches("told").count(), 0, "there is no run");
}

#[test]
fn a_test_of_nobody_says_so() {
    let nobody = Test::new().file("backstop.toml", THREE).run(["notify", "test"]);
    nobody.refused(78, &["backstop.toml names nobody who is to be told", "hint: add `[notify]`"]);
}

#[test]
fn a_webhook_that_can_t_be_one_is_refused_at_its_place_and_not_shown() {
    for (url, words) in [
        ("ftp://example.org/s3cret", "must begin with `https://` or `http://`"),
        ("https:///s3cret", "`webhook` has no host"),
        ("https://me:s3cret@example.org/", "has a name or a password in it"),
        ("https://example.org:0/s3cret", "has a port that is none"),
        ("https://example.org/s3cret path", "must be escaped"),
    ] {
        let text = format!("{THREE}[notify]\nwebhook = \"{url}\"\n");
        let test = Test::new().file("backstop.toml", &text);
        for arguments in [&["policy", "check"][..], &["run", "--", "true"], &["notify", "test"]] {
            let refused = test.run(arguments.iter().copied());
            refused.refused(78, &[words, "--> backstop.toml:5:11"]);
            assert!(!refused.stderr.contains("s3cret"), "{}", refused.stderr);
        }
    }
    let text = format!("{THREE}[notify]\nsecret_env = \"whsec/s3cret\"\n");
    let refused = Test::new().file("backstop.toml", text).run(["policy", "check"]);
    refused.refused(78, &["`secret_env` must be the name of an environment variable"]);
    assert!(!refused.stderr.contains("s3cret"), "{}", refused.stderr);
}

#[test]
fn telling_others_takes_no_time_of_the_run() {
    let policy = "[limits]\niterations = 1\n[notify]\ncommand = \"sleep 4\"\non = [\"halted\"]\n";
    let test = Loop::new().file("p.toml", policy);
    test.run(["run", "--policy", "p.toml", "--", "true"]).exits(125);
    test.run(["resume", "latest", "--raise", "iterations=2"]).exits(125);
    let active = |kind: &str| test.events(kind)[0]["active_ms"].as_u64().expect("a number");
    let (halted, resumed) = (active("halted"), active("resumed"));
    assert!(resumed - halted < 4_000, "{halted} to {resumed}");
}
