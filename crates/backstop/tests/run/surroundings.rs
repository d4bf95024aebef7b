//! What a run is given: standard input, a policy, labels, a store.

use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;

use rustix::process::Signal;

use crate::run_of;
use crate::support::looping::{Loop, wait_for};

#[test]
fn every_iteration_reads_the_file() {
    let test = Loop::new().file("PROMPT.md", "do it\n");
    let flags = ["--stdin", "PROMPT.md", "--max-iterations", "2"];
    let ended = test.run(run_of(&flags, &["cat"])).exits(125);
    assert_eq!(ended.stdout, "do it\ndo it\n");
    let test = test.file("PROMPT.md", "do more\n");
    let ended = test.run(["resume", "--raise", "iterations=3"]).exits(125);
    assert_eq!(ended.stdout, "do more\n", "a file is read as it is now");
}

#[test]
fn the_file_may_be_named_by_the_policy() {
    let policy = "[loop]\nstdin = 'PROMPT.md'\n";
    let test = Loop::new().file("PROMPT.md", "do it\n").file("backstop.toml", policy);
    let ended = test.run(run_of(&["--max-iterations", "1"], &["cat"])).exits(125);
    assert_eq!(ended.stdout, "do it\n");
}

#[test]
fn every_iteration_reads_what_is_piped_in() {
    let test = Loop::new();
    let ended = test.feed("piped\n", run_of(&["--max-iterations", "2"], &["cat"])).exits(125);
    assert_eq!(ended.stdout, "piped\npiped\n");
    let ended = test.run(["resume", "--raise", "iterations=3"]).exits(125);
    assert_eq!(ended.stdout, "piped\n", "a resumption reads it too");
}

#[test]
fn commands_that_are_shown_name_the_store_that_was_named() {
    let test = Loop::new();
    let run = ["run", "--store", "in here", "--max-iterations", "1", "--", "true"];
    let card = test.run(run).exits(125).stderr;
    let commands: Vec<&str> =
        card.lines().filter_map(|line| Some(line.split_once("backstop ")?.1)).collect();
    let commands: Vec<_> = commands.iter().filter(|words| words.contains("--store")).collect();
    assert_eq!(commands.len(), 3, "{card}");
    for command in commands {
        // What it is good for stands behind it.
        let line = command.split("   ").next().unwrap_or_default();
        let shell = format!("{} {line}", env!("CARGO_BIN_EXE_backstop"));
        let mut typed = test.command::<&str>([]);
        let surroundings: Vec<_> = typed
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        typed = std::process::Command::new("/bin/sh");
        typed.args(["-c", &shell]).current_dir(test.work()).env_clear().envs(surroundings);
        let ended = test.launch(typed.stdin(std::process::Stdio::null())).ends();
        assert!([Some(0), Some(125)].contains(&ended.code), "{line}: {}", ended.stderr);
    }
    let refused = test.run(["stop", "latest", "--store", "in here"]);
    refused.refused(65, &["`backstop resume --store 'in here' "]);
}

#[test]
fn a_store_that_a_variable_names_need_not_be_shown() {
    let test = Loop::new().variable("BACKSTOP_STORE", "elsewhere");
    let card = test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125).stderr;
    assert!(card.contains("backstop report ") && !card.contains("--store"), "{card}");
}

#[test]
fn what_is_piped_in_may_be_named() {
    let policy = "[loop]\nstdin = 'PROMPT.md'\n";
    let test = Loop::new().file("PROMPT.md", "of the file\n").file("backstop.toml", policy);
    let words = run_of(&["--stdin", "-", "--max-iterations", "1"], &["cat"]);
    assert_eq!(test.feed("piped\n", words).exits(125).stdout, "piped\n");
}

#[test]
fn a_run_whose_paths_are_no_text_can_be_resumed() {
    let test = Loop::new();
    let name = |bytes: &[u8]| std::ffi::OsString::from_vec(bytes.to_vec());
    let folder = test.work().join(name(b"caf\xe9"));
    std::fs::create_dir(&folder).expect("can be created");
    std::fs::write(folder.join(name(b"\xe9")), "do it\n").expect("can be written");
    let in_it = |words: Vec<std::ffi::OsString>| {
        test.launch(&mut test.command_in(&folder, words)).ends().exits(125).stdout
    };
    let words = ["run", "--max-iterations", "1", "--stdin"].map(Into::into);
    let command = ["--", crate::MISBEHAVE, "cat"].map(Into::into);
    let words = words.into_iter().chain([name(b"\xe9")]).chain(command);
    assert_eq!(in_it(words.collect()), "do it\n");
    let again = ["resume", "--raise", "iterations=2"].map(Into::into).to_vec();
    assert_eq!(in_it(again), "do it\n");
}

#[test]
fn without_anything_there_is_nothing_to_read() {
    let test = Loop::new();
    let ended = test.run(run_of(&["--once"], &["cat"])).exits(0);
    assert_eq!(ended.stdout, "");
}

/// With them it could answer its own questions.
#[test]
fn nothing_that_is_started_is_told_what_operators_know() {
    let policy = "[limits]\niterations = 1\n[verify]\ncommand = 'env > verified'\n\
        [[rule]]\nwhen = { type = 'custom_script', script = './probe.sh' }\nthen = 'stop'\n";
    let test = Loop::new()
        .file("p.toml", policy)
        .script("probe.sh", "env > probed; exit 1")
        .script("agent.sh", "env > told")
        .variable("BACKSTOP_TOKEN", "bks_secret-one")
        .variable("BACKSTOP_GITHUB_TOKEN", "secret-two")
        .variable("BACKSTOP_GITHUB_SECRET", "secret-three")
        .variable("PGPASSWORD", "of-its-own-database")
        .variable("OTHER_TOKEN", "for-the-agent");
    let ended = test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]);
    for name in ["told", "verified", "probed"] {
        let environment = test.read(name);
        assert!(environment.contains("OTHER_TOKEN=for-the-agent"), "{name}: {}", ended.stderr);
        assert!(environment.contains("PGPASSWORD="), "its store is no database: {environment}");
        for variable in ["BACKSTOP_TOKEN", "BACKSTOP_GITHUB_TOKEN", "BACKSTOP_GITHUB_SECRET"] {
            assert!(!environment.contains(variable), "{name} knows {variable}");
        }
    }
}

#[test]
fn policy_and_flags_are_merged() {
    let policy = "[limits]\niterations = 7\n[[rule]]\nwhen = { type = 'output_pattern', pattern = 'STOP' }\nthen = 'stop'\n";
    let test = Loop::new().file("p.toml", policy).script("agent.sh", "echo $BACKSTOP_ITERATION");
    test.run(["run", "--policy", "p.toml", "--", "./agent.sh"]).exits(125);
    assert_eq!(test.state()["facts"]["iterations"], 7);
    test.run(["run", "--policy", "p.toml", "--max-iterations", "2", "--", "./agent.sh"]).exits(125);
    assert_eq!(test.state()["facts"]["iterations"], 2, "the flag replaces the file's limit");
    test.run(["run", "--policy", "p.toml", "--", "echo", "STOP"]).exits(60);
}

#[test]
fn the_nearest_policy_is_found_and_named() {
    let test =
        Loop::new().file("backstop.toml", "[limits]\niterations = 2\n").file("deep/er/x", "");
    let mut command = test.command_in(&test.work().join("deep/er"), ["run", "--", "true"]);
    let ended = test.launch(&mut command).ends().exits(125);
    assert!(ended.stderr.contains("backstop.toml"), "{}", ended.stderr);
}

#[test]
fn a_preset_by_either_flag() {
    let test = Loop::new();
    for flag in [["--preset", "ralph"], ["--policy", "preset:ralph"]] {
        test.run([&["run"], &flag[..], &["--", "true"]].concat()).exits(126);
        assert_eq!(test.state()["facts"]["iterations"], 3, "three without progress");
    }
}

#[test]
fn labels_are_kept_and_found() {
    let test = Loop::new();
    let flags = ["--label", "team=core", "--label", "kind=nightly", "--once"];
    test.run([&["run"], &flags[..], &["--", "true"]].concat()).exits(0);
    test.run(["run", "--label", "team=other", "--once", "--", "true"]).exits(0);
    let found = test.run(["ls", "--label", "team=core", "--json"]).exits(0);
    assert_eq!(found.stdout.lines().count(), 1, "{}", found.stdout);
    let begun = test.run(["ls", "--label", "team=none", "--json"]).exits(0);
    assert_eq!(begun.stdout, "");
    assert_eq!(test.events("run_started")[0]["labels"]["team"], "other");
}

#[test]
fn a_store_of_ones_own() {
    let test = Loop::new();
    let store = test.work().join("records");
    let store = store.to_str().expect("UTF-8");
    test.run(["run", "--store", store, "--max-iterations", "1", "--", "true"]).exits(125);
    assert!(test.exists("records/backstop.db"));
    assert!(!test.state_directory().exists());
    test.run(["resume", "--store", store, "--raise", "iterations=2"]).exits(125);
    let shown = test.run(["show", "--store", store, "--json"]).exits(0).json();
    assert_eq!(shown["facts"]["iterations"], 2);
}

#[test]
fn total_units() {
    let test = Loop::new();
    test.run(run_of(&["--once", "--total-units", "8"], &["units", "3"])).exits(0);
    let state = test.state();
    assert_eq!(state["statistics"]["total_units"], 8);
    assert_eq!(state["statistics"]["units_remaining"], 5);
    let form = test.run(["show", "--form", "pipeline"]).exits(0).json();
    assert_eq!(form["statistics"]["total_frames"], 8);
}

#[test]
fn a_child_is_told_who_and_where_it_is() {
    let test = Loop::new();
    let names =
        ["env", "BACKSTOP_RUN_ID", "BACKSTOP_ITERATION", "BACKSTOP_SOCKET", "BACKSTOP_RESUME_FROM"];
    let ended = test.run(run_of(&["--once"], &names)).exits(0);
    let run = test.state()["run_id"].as_str().expect("a name").to_owned();
    assert!(ended.stdout.contains(&format!("BACKSTOP_RUN_ID={run}\n")), "{}", ended.stdout);
    assert!(ended.stdout.contains("BACKSTOP_ITERATION=1\n"));
    assert!(ended.stdout.contains("BACKSTOP_SOCKET=/"));
    assert!(!ended.stdout.contains("BACKSTOP_RESUME_FROM"));
}

#[test]
fn standard_input_that_never_ends_is_waited_for_as_long_as_the_run_may_take() {
    let test = Loop::new().script("agent.sh", "echo go > went");
    let (reader, _writer) = std::io::pipe().expect("a pipe");
    let run = ["run", "--once", "--max-duration", "1500ms", "--", "./agent.sh"];
    let ended = test.launch(test.command(run).stdin(reader)).ends().exits(124);
    let said = ["reading standard input", "has not ended within", "/dev/null"];
    assert!(said.iter().all(|words| ended.stderr.contains(words)), "{}", ended.stderr);
    assert!(!test.exists("went"));
}

#[test]
fn who_reads_standard_input_can_be_told_to_end() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let test = Loop::new().script("agent.sh", "echo go > went");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let running = test.launch(test.command(["run", "--", "./agent.sh"]).stdin(reader));
        // What is written is read at once, and the signals are held back before that.
        (&writer).write_all(b"a prompt").expect("can be written");
        wait_for("it to read", || rustix::io::ioctl_fionread(&writer).is_ok_and(|left| left == 0));
        running.signal(signal);
        let ended = running.ends().exits(code);
        assert!(ended.stderr.contains("nothing was started"), "{}", ended.stderr);
        assert!(!test.exists("went"));
    }
}
