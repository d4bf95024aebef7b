use std::path::Path;

use super::*;

fn with(text: &str) -> String {
    Settings::new(Path::new("s.json"), text).with(HookAgent::ClaudeCode, "backstop").unwrap()
}

fn without(text: &str, kept: Option<&str>) -> String {
    Settings::new(Path::new("s.json"), text).without(HookAgent::ClaudeCode, kept).unwrap()
}

const SAMPLES: [&str; 6] = [
    "{}\n",
    "{\n  \"permissions\": {\n    \"allow\": [\"Bash(ls:*)\"]\n  }\n}\n",
    "{\n\t\"a\": 1.50,\n\t\"hooks\": {}\n}",
    "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]},\"z\":1e3}",
    "{ \"hooks\": { \"Stop\": [] , \"Odd\": [ ] } }\n",
    "{\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\n                \"matcher\": \
     \"Bash\",\n                \"hooks\": [{\"type\": \"command\", \"command\": \"a b\"}]\n         \
     }\n        ]\n    },\n    \"ü\": \"\\u00e9\"\n}\n",
];

#[test]
fn every_event_calls_us_once_and_a_second_time_changes_nothing() {
    for sample in SAMPLES {
        let text = with(sample);
        let value: Json = serde_json::from_str(&text).unwrap();
        for event in HookAgent::ClaudeCode.events() {
            let groups = value["hooks"][event].as_array().unwrap();
            let ours = groups.iter().flat_map(|group| group["hooks"].as_array().unwrap());
            let ours = ours.filter(|handler| handler["command"] == "backstop hook claude-code");
            assert_eq!(ours.count(), 1, "{event} in {text}");
        }
        assert_eq!(with(&text), text);
    }
}

#[test]
fn what_is_there_stays_byte_for_byte() {
    for sample in SAMPLES {
        let text = with(sample);
        // Nothing is taken away: the old text is what is left when the new lines are skipped.
        let mut new = text.chars();
        for character in sample.chars().filter(|character| !character.is_whitespace()) {
            assert!(new.any(|other| other == character), "{character} of {sample} in {text}");
        }
    }
    let numbers = with("{\"a\": 1.50, \"b\": 1e3}");
    assert!(numbers.starts_with("{\"a\": 1.50, \"b\": 1e3,\n"), "{numbers}");
}

#[test]
fn taking_it_out_again_leaves_what_was_there() {
    for sample in SAMPLES {
        assert_eq!(without(&with(sample), Some(sample)), sample);
        // Also when the copy is lost, but for what was empty, which nobody misses.
        let undone = without(&with(sample), None);
        let undone = if undone.is_empty() { "{}".to_owned() } else { undone };
        assert_eq!(without_empty_hooks(&undone), without_empty_hooks(sample), "{undone}");
    }
}

#[test]
fn what_others_changed_meanwhile_survives() {
    let installed = with("{\n  \"a\": 1\n}\n").replace("\"a\": 1", "\"a\": 2");
    assert_eq!(without(&installed, Some("{\n  \"a\": 1\n}\n")), "{\n  \"a\": 2\n}\n");
}

#[test]
fn settings_in_which_we_are_not_stay_as_they_are() {
    for text in ["{}\n", "{ \"hooks\": {} }"] {
        assert_eq!(without(text, None), text);
    }
    assert_eq!(without(&with(""), None), "");
}

#[test]
fn a_call_for_some_tools_is_not_one_for_all() {
    let some = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command",
        "command":"backstop hook claude-code"}]}]}}"#;
    let groups = |text: &str| {
        let value: Json = serde_json::from_str(text).unwrap();
        value["hooks"]["PreToolUse"].as_array().unwrap().len()
    };
    assert_eq!(groups(&with(some)), 2);
    assert_eq!(without(&with(some), None), some, "it was there before");
    for all in ["", "*", ".*"] {
        assert_eq!(groups(&with(&some.replace("Bash", all))), 1);
    }
}

#[test]
fn settings_may_switch_hooks_off() {
    let disable = |text| Settings::new(Path::new("s.json"), text).disable_hooks();
    assert!(disable(r#"{"disableAllHooks": true}"#));
    assert!(!disable(r#"{"disableAllHooks": false}"#) && !disable("{}") && !disable(""));
}

#[test]
fn a_program_that_moved_is_called_where_it_is() {
    let old = Settings::new(Path::new("s"), "").with(HookAgent::Codex, "'/a b/backstop'").unwrap();
    let new = Settings::new(Path::new("s"), &old).with(HookAgent::Codex, "backstop").unwrap();
    assert!(old.contains("'/a b/backstop' hook codex") && !new.contains("/a b/"), "{new}");
    assert_eq!(new.matches("backstop hook codex").count(), HookAgent::Codex.events().len());
    let others = "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"my-backstop hook codex\"}]}]}}";
    let undone = Settings::new(Path::new("s"), others).without(HookAgent::Codex, None).unwrap();
    assert_eq!(undone, others);
}

#[test]
fn settings_that_are_none_are_refused_with_their_place() {
    for (text, expected) in [
        ("{\n  \"a\": 1,\n}", "s.json:3:1"),
        ("[]", "s.json:1:1"),
        ("{\n  \"hooks\": []\n}", "s.json:2:12"),
        ("{\"hooks\": {\"Stop\": {}}}", "s.json:1:20"),
        ("// mine\n{}", "s.json:1:1"),
    ] {
        let refused = Settings::new(Path::new("s.json"), text).with(HookAgent::Codex, "backstop");
        let message = refused.unwrap_err().to_string();
        assert!(message.ends_with(expected), "{text}: {message}");
    }
}

#[test]
fn a_comment_is_called_one() {
    for (text, place) in [("{\n  // mine\n}\n", "s.json:2:3"), ("# mine\n{}\n", "s.json:1:1")] {
        let settings = Settings::new(Path::new("s.json"), text);
        let told = settings.with(HookAgent::ClaudeCode, "backstop").unwrap_err().to_string();
        assert!(told.contains(place) && told.contains("comments have no place in it"), "{told}");
    }
}
