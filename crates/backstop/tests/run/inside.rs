//! What the supervised side says, and what it may not.

use crate::support::looping::Loop;
use crate::{MISBEHAVE, support};

/// Three units in a row that go wrong are enough.
const THREE: &str = "[[rule]]\nwhen = { type = 'consecutive_fails', count = 3 }\nthen = 'stop'\n";

fn reporting(script: &str) -> Loop {
    Loop::new()
        .file("three.toml", THREE)
        .script("agent.sh", script)
        .variable("BACKSTOP", support::BINARY)
}

#[test]
fn emit_from_inside_answers_with_the_decision() {
    let test = reporting(
        r#"for i in 1 2 3 4 5; do
  "$BACKSTOP" emit unit --id f$i --status rejected --attempts 1 > said; echo $? >> codes
done"#,
    );
    test.run(["run", "--once", "--policy", "three.toml", "--", "./agent.sh"]).exits(41);
    let codes = test.read("codes");
    assert!(codes.starts_with("0\n0\n41\n"), "{codes}");
    assert_eq!(test.state()["stop_reason"]["code"], "consecutive_fails");
}

#[test]
fn who_reports_and_ends_at_once_is_heard_to_the_end() {
    for flags in [["--once"].as_slice(), &["--max-iterations", "1"]] {
        let test = Loop::new();
        let words = [&["run"], flags, &["--", MISBEHAVE, "report-and-go", "200"]].concat();
        let exit = if flags.len() == 1 { 0 } else { 125 };
        test.run(words).exits(exit);
        assert_eq!(test.events("unit").len(), 200);
        assert_eq!(test.state()["facts"]["units"]["approved"], 200);
    }
}

#[test]
fn a_shell_loop_breaks_by_the_answer() {
    let test = reporting(
        r#"for i in 1 2 3 4 5; do
  "$BACKSTOP" emit unit --id f$i --status rejected --attempts 1 --break || break
  echo $i > last
done"#,
    );
    test.run(["run", "--once", "--policy", "three.toml", "--", "./agent.sh"]).exits(41);
    assert_eq!(test.read("last"), "2\n");
}

#[test]
fn a_unit_in_progress_may_finish_and_no_new_one_may_start() {
    // The third one that goes wrong stops the run: f4 must not be worked on.
    let test = reporting(
        r#"unit() { echo "::backstop {\"type\":\"unit\",\"id\":\"$1\",\"status\":\"$2\",\"attempts\":1}"; }
unit f1 rejected; unit f2 rejected; unit f3 in_progress; unit f3 rejected
until "$BACKSTOP" show "$BACKSTOP_RUN_ID" --events | grep -q '"verdict":"stop"'; do :; done
unit f3 rejected; touch goes-on
unit f4 in_progress; sleep 300; unit f4 approved"#,
    );
    let flags = ["run", "--once", "--policy", "three.toml", "--finish-within", "1h"];
    test.run([&flags[..], &["--", "./agent.sh"]].concat()).exits(41);
    assert!(test.exists("goes-on"), "the one in work may say more");
    let units = test.events("unit");
    let last = units.last().expect("units");
    assert_eq!((&last["id"], &last["status"]), (&"f4".into(), &"in_progress".into()));
    assert!(test.events("noted").iter().any(|note| note["what"] == "signalled"));
    test.leaves_nothing();
}

#[test]
fn what_may_not_be_sent_is_refused_and_recorded() {
    let test = reporting(
        r#"echo '::backstop {"type":"raised","limit":"max_iterations","value":900,"by":"me","why":""}'
echo '::backstop {"type":"resumed"}'
echo '::backstop {"type":"usage","input_tokens":-5}'
echo '::backstop not json'
"$BACKSTOP" emit raised --limit max_iterations --value 900 2> told; echo $? > code
echo plain ::backstop {}"#,
    );
    test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]).exits(125);
    let refused: Vec<String> = test
        .events("noted")
        .iter()
        .filter(|note| note["what"] == "refused")
        .map(|note| note["detail"].to_string())
        .collect();
    assert_eq!(refused.len(), 5, "{refused:?}");
    assert!(refused[0].contains("raised"), "{refused:?}");
    assert_eq!(test.read("code"), "65\n");
    assert_eq!(test.events("raised").len(), 0);
    assert_eq!(test.events("usage").len(), 0);
    assert_eq!(test.events("resumed").len(), 0);
}

#[test]
fn a_supervised_process_can_not_operate_its_run() {
    let test = reporting(
        r#"for words in "raise $BACKSTOP_RUN_ID iterations=900" "resume $BACKSTOP_RUN_ID" "policy apply $BACKSTOP_RUN_ID --preset ralph" "stop $BACKSTOP_RUN_ID" "pause $BACKSTOP_RUN_ID"; do
  env -u BACKSTOP_SOCKET -u BACKSTOP_RUN_ID "$BACKSTOP" $words 2>> told; echo $? >> codes
  (setsid "$BACKSTOP" $words 2>> told; echo $? >> codes)
done"#,
    );
    test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]).exits(125);
    let codes = test.read("codes");
    assert_eq!(codes.lines().count(), 10, "{codes}");
    assert!(codes.lines().all(|code| code == "64" || code == "65"), "{codes}{}", test.read("told"));
    assert_eq!(test.events("raised").len(), 0);
    assert_eq!(test.events("signal").len(), 0);
}

#[test]
fn a_supervised_process_may_run_a_loop_of_its_own() {
    let test = reporting(
        r#""$BACKSTOP" run --store "$PWD/inner" --max-iterations 2 -- touch inner-ran; echo $? > code"#,
    );
    test.run(["run", "--max-iterations", "1", "--", "./agent.sh"]).exits(125);
    assert_eq!(test.read("code"), "125\n");
    assert!(test.exists("inner-ran"));
    assert_eq!(test.state()["facts"]["iterations"], 1);
}
