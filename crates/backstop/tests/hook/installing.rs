//! `backstop hook install` and the settings that it writes.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value as Json;

use crate::{FIXTURES, Session};

#[test]
fn real_settings_take_our_hooks_and_give_them_back() {
    let mut files = Vec::new();
    for folder in ["claude-settings", "codex-hooks-json"] {
        let Ok(entries) = fs::read_dir(format!("{FIXTURES}/{folder}")) else {
            println!("skipped: there are no fixtures here");
            return;
        };
        files.extend(entries.map(|entry| (folder, entry.unwrap().path())));
    }
    assert_eq!(files.len(), 5);
    for (folder, file) in files {
        let (agent, place) = match folder {
            "claude-settings" => ("claude-code", ".claude/settings.json"),
            _ => ("codex", ".codex/hooks.json"),
        };
        let session = Session::new(agent, "");
        let place = session.work().join(place);
        let original = fs::read_to_string(&file).unwrap();
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, &original).unwrap();
        let shown = session.run(&["hook", "install", agent, "--dry-run"]);
        assert!(shown.contains("+") && shown.contains("hook"), "{shown}");
        assert_eq!(fs::read_to_string(&place).unwrap(), original);
        let shown = session.run(&["hook", "install", agent]);
        assert!(shown.contains("+") && shown.contains("wrote"), "{shown}");
        let installed = fs::read_to_string(&place).unwrap();
        assert!(serde_json::from_str::<Json>(&installed).unwrap()["hooks"]["Stop"].is_array());
        let again = session.run(&["hook", "install", agent, "--yes"]);
        assert!(again.contains("nothing to do"), "{again}");
        session.run(&["hook", "install", agent, "--undo", "--yes"]);
        assert_eq!(fs::read_to_string(&place).unwrap(), original, "{}", file.display());
        assert_eq!(fs::read_dir(place.parent().unwrap()).unwrap().count(), 1, "nothing is left");
    }
}

/// Else the first prompt would be refused for what backstop itself has written.
#[test]
fn in_a_repository_it_says_that_the_settings_want_to_be_committed() {
    let session = Session::new("claude-code", "");
    let install = ["hook", "install", "claude-code", "--yes"];
    let undo = ["hook", "install", "claude-code", "--undo", "--yes"];
    assert!(!session.run(&install).contains("commit"));
    session.run(&undo);
    fs::create_dir(session.work().join(".git")).unwrap();
    let shown = session.run(&install);
    assert!(shown.contains("commit .claude, or have git ignore it"), "{shown}");
    assert!(!session.run(&undo).contains("commit"));
}

#[test]
fn an_undone_installation_leaves_nothing() {
    let session = Session::new("claude-code", "");
    session.run(&["hook", "install", "claude-code", "--yes"]);
    session.run(&["hook", "install", "claude-code", "--undo", "--yes"]);
    assert!(!session.work().join(".claude").exists());
    let again = session.run(&["hook", "install", "claude-code", "--undo", "--yes"]);
    assert!(again.contains("nothing to do: claude-code does not call backstop"), "{again}");
}

#[test]
fn a_folder_that_was_there_stays() {
    let session = Session::new("claude-code", "");
    let folder = session.work().join(".claude");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("settings.json");
    for existing in [None, Some(""), Some("\n"), Some("{}")] {
        if let Some(text) = existing {
            fs::write(&file, text).unwrap();
        }
        session.run(&["hook", "install", "claude-code", "--yes"]);
        assert!(fs::read_to_string(&file).unwrap().contains("hook claude-code"));
        session.run(&["hook", "install", "claude-code", "--undo", "--yes"]);
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), existing);
        let left = fs::read_dir(&folder).expect("it is still there").count();
        assert_eq!(left, usize::from(existing.is_some()), "{existing:?}");
    }
    // The user's own is never removed, whoever made it.
    let session = Session::new("codex", "");
    let printed = session.run(&["hook", "install", "codex", "--user", "--yes"]);
    let wrote = printed.lines().find_map(|line| line.strip_prefix("wrote ")).expect("a file");
    let file = Path::new(wrote.split(": ").next().unwrap());
    assert!(file.exists(), "{printed}");
    session.run(&["hook", "install", "codex", "--user", "--undo", "--yes"]);
    let folder = file.parent().unwrap();
    assert_eq!(fs::read_dir(folder).expect("it is still there").count(), 0);
}

#[test]
fn an_answer_that_is_piped_in_is_an_answer() {
    for (answer, agreed) in [("n\n", false), ("no", false), ("\n", true), ("", true), ("y\n", true)]
    {
        let session = Session::new("claude-code", "");
        let mut command = session.command(&["hook", "install", "claude-code"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.contains("nothing was written"), !agreed, "{answer:?}: {said}");
        assert_eq!(session.work().join(".claude").exists(), agreed, "{answer:?}");
    }
}

#[test]
fn settings_that_are_broken_are_left_alone() {
    let session = Session::new("claude-code", "");
    fs::create_dir(session.work().join(".claude")).unwrap();
    let place = session.work().join(".claude/settings.json");
    fs::write(&place, "{\n  \"a\": 1,\n}\n").unwrap();
    let printed = session.run(&["hook", "install", "claude-code", "--yes"]);
    assert!(printed.contains(".claude/settings.json:3:1"), "{printed}");
    assert_eq!(fs::read_to_string(&place).unwrap(), "{\n  \"a\": 1,\n}\n");
}

#[test]
fn the_plugin_calls_us_as_the_settings_would() {
    let session = Session::new("claude-code", "");
    session.run(&["hook", "install", "claude-code", "--yes"]);
    let text = fs::read_to_string(session.work().join(".claude/settings.json")).unwrap();
    let mut settings: Json = serde_json::from_str(&text).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/claude-code");
    let plugin = fs::read_to_string(root.join("hooks/hooks.json")).unwrap();
    let plugin: Json = serde_json::from_str(&plugin).unwrap();
    for groups in settings["hooks"].as_object_mut().unwrap().values_mut() {
        groups[0]["hooks"][0]["command"] = "backstop hook claude-code".into();
    }
    assert_eq!(plugin["hooks"], settings["hooks"]);
    let manifest = fs::read_to_string(root.join(".claude-plugin/plugin.json")).unwrap();
    assert_eq!(serde_json::from_str::<Json>(&manifest).unwrap()["name"], "backstop");
}
