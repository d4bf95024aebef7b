//! The supervisor itself dies.

use backstop_runner::tree::orphans;
use backstop_store::Holder;

use super::*;

const BUSY: [&str; 5] = ["tree", "--depth", "2", "--width", "2"];

#[test]
fn when_the_inner_process_is_killed_the_outer_one_ends_everything() {
    for level in ALL {
        for round in 0..rounds() {
            let misbehaviour = if round % 2 == 0 { &BUSY[..] } else { &["daemonize", "--stay"] };
            let mut contained = Contained::start(level, 60_000, misbehaviour);
            let roles = contained.roles();
            contained.wait_for_supervised(2);
            send(roles.inner, Signal::SIGKILL);
            let ended = contained.end();
            ended.assert_clean(70);
            assert!(ended.stderr.contains(&format!("backstop resume {}", ended.run)));
            assert!(ended.stderr.contains("the supervisor died (SIGKILL)"), "{}", ended.stderr);
            assert!(!exists(roles.cgroup.as_ref()));
        }
    }
}

#[test]
fn when_the_outer_process_is_killed_the_inner_one_ends_everything() {
    for level in ALL {
        for _round in 0..rounds() {
            let mut contained = Contained::start(level, 5_000, &BUSY);
            let roles = contained.roles();
            contained.wait_for_supervised(7);
            contained.send(Signal::SIGKILL);
            eventually("everything has gone", || contained.living().is_empty());
            assert!(!exists(roles.cgroup.as_ref()));
            contained.end();
        }
    }
}

#[test]
fn what_both_leave_behind_is_found_and_ended_later() {
    for level in ALL {
        for round in 0..rounds() {
            let misbehaviour = if round % 2 == 0 { &BUSY[..] } else { &["daemonize", "--stay"] };
            let mut contained = Contained::start(level, 5_000, misbehaviour);
            let roles = contained.roles();
            contained.wait_for_supervised(2);
            // Stopped first, so that neither can act on the other's death.
            send(roles.inner, Signal::SIGSTOP);
            contained.send(Signal::SIGKILL);
            send(roles.inner, Signal::SIGKILL);
            eventually("both are dead", || {
                contained.living().len() == contained.supervised().len()
            });
            assert!(!contained.supervised().is_empty());

            let holder = dead_holder(&roles);
            let found = orphans::find(contained.run, Some(&holder));
            assert!(found.len() >= 2, "{found:?}");
            let swept = orphans::end(contained.run, Some(&holder), Duration::from_secs(5));
            assert!(swept.found.len() >= 2 && swept.unkillable.is_empty(), "{swept:?}");
            assert_eq!(contained.living(), []);
            assert_eq!(orphans::find(contained.run, Some(&holder)), []);
            assert!(!exists(roles.cgroup.as_ref()));
            contained.end();
        }
    }
}

/// Whether SIGTERM is ignored or blocked.
fn ignores_sigterm(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let masks =
        status.lines().filter(|line| line.starts_with("SigIgn") || line.starts_with("SigBlk"));
    let masks =
        masks.filter_map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok());
    masks.fold(0, |all, mask| all | mask) & (1 << (Signal::SIGTERM as u32 - 1)) != 0
}

#[test]
fn orphans_that_ignore_sigterm_are_killed() {
    for level in ALL {
        let mut contained =
            Contained::start(level, 5_000, &["daemonize", "--ignore-term", "--stay"]);
        let roles = contained.roles();
        contained.wait_for_supervised(2);
        eventually("one ignores SIGTERM", || {
            contained.supervised().iter().any(|process| ignores_sigterm(process.pid))
        });
        send(roles.inner, Signal::SIGSTOP);
        contained.send(Signal::SIGKILL);
        send(roles.inner, Signal::SIGKILL);
        let holder = dead_holder(&roles);
        eventually("both are dead", || contained.living().len() == contained.supervised().len());
        let swept = orphans::end(contained.run, Some(&holder), Duration::from_millis(50));
        assert!(swept.killed >= 1, "{swept:?}");
        assert_eq!(contained.living(), []);
        contained.end();
    }
}

#[test]
fn a_death_at_any_instant_leaves_nothing() {
    for level in ALL {
        for round in 0..rounds() * 4 {
            let contained = Contained::start(level, 60_000, &BUSY);
            thread::sleep(Duration::from_micros(u64::from(round) * 1_700));
            let outer = contained.outer.id();
            eventually("there is an inner process", || !process::children(outer).is_empty());
            for inner in process::children(outer) {
                send(inner, Signal::SIGKILL);
            }
            contained.end().assert_clean(70);
        }
    }
}

fn dead_holder(roles: &Roles) -> Holder {
    Holder {
        host: String::new(),
        boot_id: String::new(),
        pid: roles.inner,
        outer_pid: 0,
        start_ticks: 0,
        outer_start_ticks: 0,
        cgroup: roles.cgroup.clone(),
        lease_ms: None,
    }
}
