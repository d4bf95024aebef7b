//! What is left when the main process has ended.

use super::*;

#[test]
fn abandoned_children_end_with_the_main_process() {
    for level in ALL {
        for _round in 0..rounds() {
            let tree = ["tree", "--depth", "3", "--width", "2", "--abandon"];
            Contained::start(level, 5_000, &tree).end().assert_clean(0);
        }
    }
}

#[test]
fn daemons_end_with_the_main_process() {
    for level in TIGHT {
        for _round in 0..rounds() {
            Contained::start(level, 5_000, &["daemonize"]).end().assert_clean(0);
            let stubborn = Contained::start(level, 20, &["daemonize", "--ignore-term"]).end();
            stubborn.assert_clean(0);
        }
    }
}

#[test]
fn a_hopper_is_overtaken() {
    for level in TIGHT {
        for _round in 0..rounds() {
            for hopper in [&["forkhop", "--setsid"][..], &["forkhop"]] {
                let started = Instant::now();
                Contained::start(level, 20, hopper).end().assert_clean(0);
                // It hops for a minute if nobody ends it.
                assert!(started.elapsed() < Duration::from_secs(30));
            }
        }
    }
}

#[test]
fn a_process_that_holds_the_pipe_is_ended_and_not_waited_for() {
    for level in ALL {
        Contained::start(level, 5_000, &["hold-pipe"]).end().assert_clean(0);
    }
}

#[test]
fn a_control_group_is_removed_when_the_run_ends() {
    let mut contained = Contained::start("cgroup", 100, &["sleep", "60"]);
    let roles = contained.roles();
    if roles.level == "cgroup" {
        assert!(exists(roles.cgroup.as_ref()));
    }
    contained.send(Signal::SIGTERM);
    contained.end().assert_clean(143);
    assert!(!exists(roles.cgroup.as_ref()));
}

#[test]
fn the_level_that_is_available_is_reached() {
    let available = backstop_runner::tree::containment_available();
    let mut contained = Contained::start("cgroup", 100, &["exit", "0"]);
    assert_eq!(contained.roles().level, available.as_str());
    contained.end().assert_clean(0);
    for (limit, reached) in [("group", "process group"), ("sub-reaper", "sub-reaper")] {
        let mut contained = Contained::start(limit, 100, &["exit", "0"]);
        assert_eq!(contained.roles().level, reached);
        contained.end().assert_clean(0);
    }
}

#[test]
fn orphans_that_have_ended_are_collected_while_the_main_process_runs() {
    for level in TIGHT {
        let mut contained = Contained::start(level, 100, &["zombies", "200"]);
        let inner = contained.roles().inner;
        let zombies = || {
            process::children(inner)
                .into_iter()
                .filter_map(Process::read)
                .filter(Process::has_ended)
                .count()
        };
        eventually("orphans have come", || zombies() > 0);
        eventually("all are collected", || zombies() == 0);
        contained.send(Signal::SIGTERM);
        assert_eq!(contained.end().survivors, []);
    }
}

#[test]
fn processor_time_is_the_trees_and_counts_those_that_have_ended() {
    let used = |level: &str, misbehaviour: &[&str]| -> u64 {
        let ended = Contained::start(level, 100, misbehaviour).end();
        ended.assert_clean(0);
        ended.stderr.trim_end().rsplit(' ').next().unwrap().parse().unwrap()
    };
    for level in ALL {
        let busy = used(level, &["eat-cpu", "0.4"]);
        let idle = used(level, &["sleep", "0.4"]);
        assert!(busy > 2 * idle, "{level}: busy {busy} ms, idle {idle} ms");
    }
}

#[test]
fn a_control_group_that_nobody_removed_is_removed_by_the_next_supervisor() {
    let mut first = Contained::start("cgroup", 100, &["sleep", "60"]);
    let roles = first.roles();
    let Some(group) = roles.cgroup.clone() else { return };
    send(roles.inner, Signal::SIGSTOP);
    first.send(Signal::SIGKILL);
    for process in first.living() {
        send(process.pid, Signal::SIGKILL);
    }
    eventually("all are dead", || first.living().is_empty());
    first.end();
    // Who is dying still counts as there, and such a group can't be removed.
    let events = Path::new(&group).join("cgroup.events");
    eventually("nobody is in it", || match fs::read_to_string(&events) {
        Ok(text) => text.contains("populated 0"),
        // The supervisor of another test was the next.
        Err(_) => !exists(Some(&group)),
    });
    // It does so beside its start, so it has to live for a moment.
    let next = Contained::start("cgroup", 100, &["sleep", "60"]);
    eventually("the group is removed", || !exists(Some(&group)));
    next.send(Signal::SIGTERM);
    assert_eq!(next.end().survivors, []);
}
