//! `backstop reasons`, and every reason reached through `backstop check`.

use std::collections::BTreeMap;

use serde_json::Value as Json;

mod support;

use support::{Test, keys};

fn all() -> Vec<Json> {
    let list = Test::new().run(["reasons", "--json"]).exits(0).json();
    list.as_array().expect("a list").clone()
}

#[test]
fn json_is_a_list_of_objects_with_these_keys() {
    let all = all();
    assert_eq!(all.len(), 44);
    for reason in &all {
        assert_eq!(
            keys(reason),
            [
                "code",
                "title",
                "family",
                "exit_code",
                "diagnosis",
                "auto_resumable",
                "aliases",
                "next_step"
            ]
        );
        assert!(reason["exit_code"].is_u64() && reason["auto_resumable"].is_boolean());
        assert!(reason["aliases"].is_array());
        for key in ["code", "title", "family", "diagnosis", "next_step"] {
            assert!(!reason[key].as_str().unwrap().is_empty(), "{key} of {reason}");
        }
    }
}

#[test]
fn codes_and_aliases_are_found_in_any_case() {
    for reason in all() {
        let code = reason["code"].as_str().unwrap();
        let aliases =
            reason["aliases"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        for name in aliases.chain([code]) {
            for written in [name.to_owned(), name.to_uppercase()] {
                let found = Test::new().run(["reasons", &written, "--json"]).exits(0).json();
                assert_eq!(found, serde_json::json!([reason]), "{written}");
            }
        }
    }
}

#[test]
fn unknown_codes_are_answered_with_the_nearest() {
    let ended = Test::new().run(["reasons", "no_progres"]);
    ended.refused(64, &["unknown stop reason `no_progres`", "did you mean `no_progress`?"]);
    Test::new().run(["reasons", "xyzzy"]).refused(64, &["`backstop reasons` lists them all"]);
    let ended = Test::new().run(["reasons", "--family", "qualty"]);
    ended.refused(64, &["did you mean `quality`?"]);
}

#[test]
fn the_list_is_grouped_by_family() {
    let listing = Test::new().run(["reasons", "--family", "worker"]).exits(0);
    insta::assert_snapshot!(listing.stdout, @r##"
    worker
       30  worker_blocked         Worker reported blocked status
       31  worker_failed          Worker process failed
       32  worker_timeout         Worker call timeout (resumes by itself)
       33  rate_limited           Provider rate limit reached (resumes by itself)
    "##);
    let resumable = Test::new().run(["reasons", "--auto-resumable", "--json"]).exits(0).json();
    let codes: Vec<_> = resumable
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["worker_timeout", "rate_limited", "stalled"]);
    let whole = Test::new().run(["reasons"]).exits(0).stdout;
    assert!(whole.lines().all(|line| line.chars().count() <= 80), "{whole}");
    for reason in all() {
        let code = format!("  {} ", reason["code"].as_str().unwrap());
        assert!(whole.contains(&code), "{code}");
    }
}

#[test]
fn a_page_reads_on_a_terminal() {
    insta::assert_snapshot!(Test::new().run(["reasons", "MAX_TICKS"]).exits(0).stdout, @r##"
    max_iterations  Iteration limit reached
    resource limit · exit 125 · also called max_ticks

    The run finished as many iterations as it may.

    What happened

    The number of finished iterations reached `[limits] iterations`. If the last
    allowed iteration also met the completion rule, the run would have ended as
    `completed`.

    Why it matters

    Without this limit a loop whose iterations are quick and cheap could run for
    ever. That is why every policy gets one, unless it says `unlimited = true`.

    What to do

    Look at the last few iterations in the report. If each brought something, allow
    more:

      backstop resume RUN --raise iterations=100

    While a run is going, `backstop raise RUN iterations=100 --why "nearly there"`
    does the same.

    Example

      [limits]
      iterations = 50

      {"iterations": 50}

    Verdict: stop max_iterations

    Exit code: 125
    "##);
    for reason in all() {
        let page = Test::new().run(["reasons", reason["code"].as_str().unwrap()]).exits(0).stdout;
        let prose = page.lines().filter(|line| !line.starts_with("  "));
        assert!(prose.clone().all(|line| line.chars().count() <= 80), "{page}");
    }
}

#[test]
fn markdown_is_a_table_or_a_page() {
    let table = Test::new().run(["reasons", "--markdown"]).exits(0).stdout;
    assert_eq!(table.lines().count(), 2 + all().len());
    let page = Test::new().run(["reasons", "stalled", "--markdown"]).exits(0).stdout;
    assert!(page.starts_with("# stalled\n\n"), "{page}");
    let family = Test::new().run(["reasons", "--family", "user", "--markdown"]).exits(0).stdout;
    assert_eq!(family.lines().count(), 2 + 4);
}

#[test]
fn every_reason_is_reached_by_the_example_on_its_page() {
    for reason in all() {
        let code = reason["code"].as_str().unwrap();
        let page = Test::new().run(["reasons", code, "--markdown"]).exits(0).stdout;
        let example = Example::read(&page);
        let test = Test::new().file("policy.toml", &example.fences["toml policy"]);
        let mut call = vec!["check", "--policy", "policy.toml", "--json"];
        let (flag, content) = match example.fences.get("json facts") {
            Some(facts) => ("--facts", facts),
            None => ("--events", &example.fences["jsonl events"]),
        };
        let test = test.file("input", content);
        call.extend([flag, "input"]);
        if let Some(at) = example.told.get("Decided at") {
            call.extend(["--now", at]);
        }
        let ended = test.run(call);
        let decision = ended.json();
        let verdict = format!(
            "{} {}",
            decision["verdict"].as_str().unwrap(),
            decision["reason"].as_str().unwrap_or_default()
        );
        assert_eq!(verdict, example.told["Verdict"], "{code}: {decision}");
        assert_eq!(decision["reason"], code);
        assert_eq!(ended.code.unwrap().to_string(), example.told["Exit code"], "{code}");
        assert_eq!(reason["exit_code"].as_i64(), ended.code.map(i64::from), "{code}");
        assert_eq!(reason["next_step"], decision["next_step"], "{code}");
    }
}

/// The example that ends a page: what is fed in, and what is told of the outcome.
struct Example {
    fences: BTreeMap<String, String>,
    told: BTreeMap<String, String>,
}

impl Example {
    fn read(page: &str) -> Self {
        let (_, section) = page.split_once("\n## Example\n").expect("an example");
        let mut example = Self { fences: BTreeMap::new(), told: BTreeMap::new() };
        let mut open: Option<String> = None;
        for line in section.lines() {
            match (&open, line.strip_prefix("```")) {
                (None, Some(info)) => {
                    example.fences.insert(info.to_owned(), String::new());
                    open = Some(info.to_owned());
                }
                (Some(_), Some(_)) => open = None,
                (Some(info), None) => {
                    let text = example.fences.get_mut(info).expect("opened before");
                    text.push_str(line);
                    text.push('\n');
                }
                (None, None) => {
                    if let Some((key, value)) = line.split_once(": ") {
                        example.told.insert(key.to_owned(), value.to_owned());
                    }
                }
            }
        }
        example
    }
}
