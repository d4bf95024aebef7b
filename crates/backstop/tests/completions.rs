//! `backstop completions`: a script for each shell.

use std::process::Command;

mod support;

use support::Test;

#[test]
fn each_shell_has_a_script_that_knows_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = Test::new().run(["completions", shell]).exits(0).stdout;
        for word in ["check", "policy", "explain", "reasons", "auto-resumable", "preset"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        assert!(script.ends_with('\n'), "{shell}");
    }
}

#[test]
fn the_script_for_bash_parses() {
    let script = Test::new().run(["completions", "bash"]).exits(0).stdout;
    let test = Test::new().file("script", script);
    let Ok(output) = Command::new("bash").arg("-n").arg(test.path().join("script")).output() else {
        println!("skipped: there is no bash");
        return;
    };
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
