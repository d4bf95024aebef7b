use std::future::pending;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use backstop_runner::side_command::{Invocation, SideCommand, SideOutcome};

use crate::support::{is_gone, on_a_runtime, tree, wait_until};

fn shell(text: &str, cwd: &Path) -> SideCommand {
    SideCommand::new(Invocation::Shell(text.to_owned()), cwd)
}

fn program(words: &[&str], cwd: &Path) -> SideCommand {
    SideCommand::new(Invocation::Program(words.iter().map(Into::into).collect()), cwd)
}

/// A limit that is over when a command has long been up, even on a busy machine.
const ONCE_UP: Duration = Duration::from_secs(3);

fn run(command: &SideCommand) -> SideOutcome {
    on_a_runtime(async { command.run(&tree(), pending()).await })
}

#[test]
fn output_and_exit_are_told_apart_by_stream() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(&shell("echo out; echo err >&2; exit 3", folder.path()));
    assert_eq!(outcome.stdout, b"out\n");
    assert_eq!(outcome.stderr, b"err\n");
    assert_eq!(outcome.exit.and_then(|exit| exit.code), Some(3));
    assert!(!outcome.is_success() && !outcome.truncated);
}

#[test]
fn merged_streams_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = shell("echo 1; echo 2 >&2; echo 3", folder.path());
    command.merge_streams = true;
    let outcome = run(&command);
    assert_eq!(outcome.stdout, b"1\n2\n3\n");
    assert!(outcome.is_success());
}

#[test]
fn it_runs_in_its_directory_with_its_variables_and_reads_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = shell("pwd -P; echo \"$COLOUR$HOME\"; cat", folder.path());
    command.env = vec![("COLOUR".into(), Some("red".into())), ("HOME".into(), None)];
    let outcome = run(&command);
    let here = folder.path().canonicalize().unwrap();
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), format!("{}\nred\n", here.display()));
}

#[test]
fn a_missing_program_is_an_outcome_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(&program(&["/no/such/program"], folder.path()));
    assert_eq!(outcome.not_started.as_deref(), Some("`/no/such/program` was not found"));
    assert_eq!(outcome.exit, None);
}

#[test]
fn a_file_that_may_not_be_executed_is_an_outcome_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("check.sh");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o644)).unwrap();
    let outcome = run(&program(&[script.to_str().unwrap()], folder.path()));
    assert!(outcome.not_started.is_some_and(|why| why.contains("chmod +x")));
}

#[test]
fn a_missing_directory_is_named_and_not_the_program() {
    let outcome = run(&program(&["/bin/true"], Path::new("/no/such/folder")));
    assert!(outcome.not_started.is_some_and(|why| why.contains("`/no/such/folder`")));
}

#[test]
fn a_flood_is_cut_and_does_not_block_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let mut command =
        shell("echo first; head -c 50000000 /dev/zero; echo; echo last", folder.path());
    command.output_cap = 4096;
    let outcome = run(&command);
    assert!(outcome.is_success() && outcome.truncated);
    assert!(outcome.stdout.starts_with(b"first\n") && outcome.stdout.ends_with(b"\nlast\n"));
    assert!(outcome.stdout.len() < 5000);
}

#[test]
fn a_time_out_ends_the_group_politely() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = shell(
        "trap 'echo polite; exit 7' TERM; echo up; while :; do sleep 0.01; done",
        folder.path(),
    );
    command.timeout = ONCE_UP;
    let outcome = run(&command);
    assert!(outcome.timed_out && !outcome.is_success());
    assert_eq!(outcome.exit.and_then(|exit| exit.code), Some(7));
    assert_eq!(outcome.stdout, b"up\npolite\n");
}

#[test]
fn one_that_ignores_the_signal_is_killed_with_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let mut command =
        shell("trap '' TERM; sleep 100 & echo $! >pid; while :; do sleep 1; done", folder.path());
    command.timeout = ONCE_UP;
    let outcome = run(&command);
    assert!(outcome.timed_out);
    assert_eq!(outcome.exit.and_then(|exit| exit.signal), Some(9));
    let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    wait_until("the grandchild is gone", || is_gone(pid.trim()));
}

#[test]
fn one_who_holds_the_pipe_open_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let started = std::time::Instant::now();
    let outcome = run(&shell("setsid sleep 30 & echo said", folder.path()));
    assert_eq!(outcome.stdout, b"said\n");
    assert!(outcome.is_success() && started.elapsed() < Duration::from_secs(25));
}

#[test]
fn cancelling_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let up = folder.path().join("up");
    let command = shell("echo >up; exec sleep 100", folder.path());
    let outcome = on_a_runtime(async {
        let seen = async {
            while !up.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        command.run(&tree(), seen).await
    });
    assert!(outcome.cancelled && !outcome.timed_out);
    assert_eq!(outcome.exit.and_then(|exit| exit.signal), Some(15));
}

#[test]
fn given_up_half_way_nothing_of_it_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let command = shell("sleep 100 & echo $! >pid.new; mv pid.new pid; wait", folder.path());
    let pid_file = folder.path().join("pid");
    on_a_runtime(async {
        let tree = tree();
        tokio::select! {
            _ = command.run(&tree, pending()) => panic!("it sleeps"),
            () = async {
                while !pid_file.exists() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            } => {}
        }
    });
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    wait_until("the grandchild is gone", || is_gone(pid.trim()));
}
