//! What is shown of how a run is judged.

use crate::support::looping::Loop;

#[test]
fn the_health_is_shown_with_its_parts() {
    let reports = r#"echo '::backstop {"type":"usage","input_tokens":500}'
        echo '::backstop {"type":"context","used":10,"limit":100}'
        echo '::backstop {"type":"cycle","metrics":{"score":100}}'
        echo '::backstop {"type":"cycle","metrics":{"score":112}}'
        echo '::backstop {"type":"drift","score":0.35}'"#;
    let test = Loop::new().script("agent.sh", reports);
    let flags = ["--max-tokens", "1000", "--max-iterations", "1"];
    test.run([&["run"], &flags[..], &["--", "./agent.sh"]].concat()).exits(125);
    let shown = test.run(["show", "latest"]).exits(0).stdout;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    // 0.30 x 0.5 + 0.25 x 0.9 + 0.25 + 0.20 = 0.825
    let health = "health 82.5% = tokens left 50% x 0.30 + context left 90% x 0.25 + \
                  errors left 100% x 0.25 + recent progress 100% x 0.20";
    assert!(words.contains(health), "{shown}");
    assert!(words.contains("cycles 2, the last improved 12%"), "{shown}");
    assert!(words.contains("drift 35%"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let health = &test.state()["health"];
    assert!((health["score"].as_f64().unwrap() - 0.825).abs() < 1e-9, "{health}");
    assert_eq!(health["parts"]["tokens_left"], serde_json::json!({"value": 0.5, "weight": 0.3}));
}

#[test]
fn boxes_below_a_heading_of_improvements_begin_another_phase() {
    let policy = "[limits]\niterations = 1\n[progress]\ntasks = 'PLAN.md'\n\
                  [[rule]]\nwhen = { type = 'tasks_done' }\nthen = 'complete'\n";
    let plan = "# Plan\n- [x] one\n- [ ] two\n\n## Improvements\n- [ ] three\n- [x] four\n";
    let test = Loop::new().file("backstop.toml", policy).file("PLAN.md", plan);
    test.run(["run", "--", "sed", "-i", "s/\\[ \\] two/[x] two/", "PLAN.md"]).exits(125);
    let tasks = test.events("tasks");
    assert_eq!(tasks.last().unwrap()["phase"], "improvement");
    assert_eq!(tasks.last().unwrap()["improvements"], 1);
    let shown = test.run(["show", "latest"]).exits(0).stdout;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "tasks 2 of 2 done, 0 queued, 1 improvement open, in the improvement phase";
    assert!(words.contains(told), "{shown}");
    // With the last improvement done, all is.
    test.run(["run", "--", "sed", "-i", "s/\\[ \\]/[x]/", "PLAN.md"]).exits(0);
}
