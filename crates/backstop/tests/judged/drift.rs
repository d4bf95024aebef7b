//! How far the work drifts from what was asked for.

use crate::support::looping::Loop;

const ASKED: &str = "# Task\n\nUsers can reset a forgotten password by mail. The reset link expires\n\
                     after one hour, and a used link is refused.\n";
const RULE: &str = "[limits]\niterations = 2\n\
                    [[rule]]\nwhen = { type = 'topic_drift', above = 0.5 }\nthen = 'stop'\n";
const BY_WORDS: &str = "[work]\nrequirements = 'SPEC.md'\n";

fn in_a_repository(policy: &str, agent: &str) -> Loop {
    let test = Loop::new()
        .file("backstop.toml", &format!("{RULE}{policy}"))
        .file("SPEC.md", ASKED)
        .script("agent.sh", agent)
        .script(
            "begin.sh",
            "git init -q . && git add -A && \
             git -c user.name=ann -c user.email=ann@example.org commit -qm first",
        );
    let begun = std::process::Command::new("./begin.sh")
        .current_dir(test.work())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    assert!(begun.expect("git runs").success());
    test
}

fn scores(test: &Loop) -> Vec<f64> {
    test.events("drift").iter().map(|event| event["score"].as_f64().expect("a score")).collect()
}

const RELATED: &str = "printf 'fn send_password_reset(user: &User) { let link = ResetLink::expires(hour); mail(user, link) }\\n\
                       fn refuse_used_link(link) { refused }\\n' > \"reset_$BACKSTOP_ITERATION.rs\"";
const UNRELATED: &str = "printf 'drawCanvas(gradient); animateSprites(frame)\\n' > canvas.js";

#[test]
fn related_work_goes_on() {
    let test = in_a_repository(BY_WORDS, RELATED);
    let ended = test.run(["run", "--", "./agent.sh"]).exits(125);
    let scores = scores(&test);
    assert_eq!(scores.len(), 2);
    assert!(scores.iter().all(|score| (0.05..0.5).contains(score)), "{scores:?}");
    assert!(ended.stderr.contains("drift "), "{}", ended.stderr);
}

#[test]
fn unrelated_work_is_noticed_whether_it_is_committed_or_not() {
    let commit = "git add -A; git -c user.name=a -c user.email=a@example.org commit -qm draw";
    for agent in [UNRELATED.to_owned(), format!("{UNRELATED}; {commit}")] {
        let test = in_a_repository(BY_WORDS, &agent);
        test.run(["run", "--", "./agent.sh"]).exits(49);
        assert!(scores(&test)[0] > 0.9, "{:?}", scores(&test));
    }
}

#[test]
fn the_work_before_an_iteration_is_not_its_own() {
    // The first iteration wanders off and is forgiven; the second comes back.
    let agent = format!("if [ $BACKSTOP_ITERATION = 1 ]; then {UNRELATED}; else {RELATED}; fi");
    let test = in_a_repository(BY_WORDS, &agent);
    let policy = test.read("backstop.toml").replace("'stop'", "'warn'");
    let test = test.file("backstop.toml", &policy);
    test.run(["run", "--", "./agent.sh"]).exits(125);
    let scores = scores(&test);
    assert!(scores[0] > 0.9 && scores[1] < 0.5, "{scores:?}");
}

#[test]
fn what_the_agent_says_counts_where_it_changes_nothing() {
    let says = |text: &str| {
        let init = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#;
        let result = format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","num_turns":1,"result":"{text}","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
        );
        format!("echo '{init}'; echo '{result}'")
    };
    let test =
        in_a_repository(BY_WORDS, &says("The reset link in the mail now expires after an hour."));
    test.run(["run", "--", "./agent.sh"]).exits(125);
    assert!(scores(&test)[0] < 0.5, "{:?}", scores(&test));
    let test = in_a_repository(BY_WORDS, &says("I painted the canvas with sprites."));
    test.run(["run", "--", "./agent.sh"]).exits(49);
}

#[test]
fn where_nothing_was_done_nothing_is_measured() {
    let test = in_a_repository(BY_WORDS, "true");
    test.run(["run", "--", "./agent.sh"]).exits(125);
    assert_eq!(scores(&test), Vec::<f64>::new());
}

#[test]
fn a_command_gives_the_score_instead() {
    let rule = RULE.replace("iterations = 2", "iterations = 9");
    let policy = format!("{rule}[drift]\ncommand = './score.sh'\nevery = 2\n");
    let score = "echo \"in $BACKSTOP_ITERATION\" >> asked; echo comparing; echo 0.75";
    let test = Loop::new().file("backstop.toml", &policy).script("score.sh", score);
    test.run(["run", "--", "true"]).exits(49);
    assert_eq!(scores(&test), [0.75]);
    assert_eq!(test.read("asked"), "in 2\n");
}

#[test]
fn a_command_that_gives_no_score_is_no_zero() {
    for (score, timeout, why) in [
        ("echo far", "5m", "it must print a number from 0 to 1, and printed `far`"),
        ("echo 0.1; exit 1", "5m", "it failed"),
        ("exec sleep 300", "500ms", "it took too long"),
    ] {
        let policy = format!("{RULE}[drift]\ncommand = './score.sh'\ntimeout = '{timeout}'\n");
        let test = Loop::new().file("backstop.toml", &policy).script("score.sh", score);
        let ended = test.run(["run", "--", "true"]).exits(125);
        let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("warning: the drift was not measured: {why}")), "{said}");
        // Two iterations, and the same trouble in both.
        assert_eq!(said.matches("the drift was not measured").count(), 1, "{said}");
        assert_eq!(scores(&test), Vec::<f64>::new());
    }
}

#[test]
fn a_rule_on_a_drift_that_nobody_measures_is_told_at_the_start() {
    let test = Loop::new().file("backstop.toml", RULE);
    let ended = test.run(["run", "--", "true"]).exits(125);
    let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("`topic_drift` reads a drift that is not measured"), "{said}");
    let checked = test.run(["policy", "check", "backstop.toml"]);
    assert!(
        checked.stdout.contains("reads a drift that is not measured")
            || checked.stderr.contains("reads a drift that is not measured"),
        "{checked:?}"
    );
}

#[test]
fn requirements_that_are_gone_are_told() {
    let test = in_a_repository(BY_WORDS, "rm -f SPEC.md");
    let ended = test.run(["run", "--", "./agent.sh"]).exits(125);
    let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("SPEC.md` can't be read"), "{said}");
}
