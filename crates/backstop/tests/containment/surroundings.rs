//! What a supervised process inherits, and where it runs.

use super::*;

#[test]
fn nothing_but_standard_input_output_and_error_is_inherited() {
    for level in ALL {
        let run = new_run();
        let script = format!(
            "exec 5</dev/null 7>&1 19>/dev/null; exec {} {run} 100 {MISBEHAVE} list-fds",
            env!("CARGO_BIN_EXE_contain"),
        );
        let output = Command::new("bash")
            .args(["-c", &script])
            .env("BACKSTOP_CONTAINMENT", level)
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n1\n2\n", "{level}");
    }
}

#[test]
fn it_leads_a_group_in_the_supervisors_session_without_a_terminal() {
    for level in ALL {
        let mut contained = Contained::start(level, 100, &["ids"]);
        let inner = contained.roles().inner;
        let ended = contained.end();
        ended.assert_clean(0);
        let value = |name: &str| {
            let line = ended.stdout.lines().find(|line| line.starts_with(name)).unwrap();
            line.rsplit(' ').next().unwrap().parse::<u32>().unwrap()
        };
        assert_eq!(value("group"), value("pid"));
        assert_eq!((value("parent"), value("session")), (inner, inner));

        let terminal = Contained::start(level, 100, &["isatty"]).end();
        assert!(terminal.stdout.contains("controlling false"), "{}", terminal.stdout);
    }
}

#[test]
fn its_signals_are_as_if_it_had_been_started_directly() {
    let direct = Command::new(MISBEHAVE).arg("signals").output().unwrap();
    for level in ALL {
        let ended = Contained::start(level, 100, &["signals"]).end();
        ended.assert_clean(0);
        assert_eq!(ended.stdout, String::from_utf8_lossy(&direct.stdout));
    }
}

#[test]
fn a_detached_run_goes_on_after_the_foreground_has_ended() {
    let program = [MISBEHAVE, "sleep", "60"];
    let mut contained = Contained::start_program("cgroup", 5_000, &program, |command| {
        command.env("CONTAIN_DETACHED", "1");
    });
    // The background has no pipe of ours: this ends with the foreground.
    let mut said = String::new();
    contained.outer.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(contained.outer.wait().unwrap().success());
    assert_eq!(said, format!("started {}\n", contained.run));

    // The outer process, the inner one and the program.
    let living = contained.living();
    assert_eq!(living.len(), 3, "{living:?}");
    let has_parent_here = |process: &Process| living.iter().any(|one| one.pid == process.parent);
    let outer = living.iter().find(|process| !has_parent_here(process)).unwrap();
    send(outer.pid, Signal::SIGTERM);
    eventually("the background has ended", || contained.living().is_empty());
}

#[test]
fn a_detached_run_that_can_not_start_says_so_in_the_foreground() {
    let mut contained =
        Contained::start_program("cgroup", 5_000, &["/nonexistent/program"], |command| {
            command.env("CONTAIN_DETACHED", "1");
        });
    let mut said = String::new();
    contained.outer.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(contained.outer.wait().unwrap().code(), Some(66));
    assert!(said.starts_with("failed No such file"), "{said}");
    eventually("the background has ended", || contained.living().is_empty());
}
