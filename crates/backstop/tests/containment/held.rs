//! What signals from outside do to the tree.

use super::*;

#[test]
fn the_exit_code_of_the_program_is_the_supervisors() {
    for level in ALL {
        Contained::start(level, 500, &["exit", "7"]).end().assert_clean(7);
        Contained::start(level, 500, &["die-by", "SIGKILL"]).end().assert_clean(137);
    }
}

#[test]
fn a_tree_that_ignores_sigterm_is_killed_after_the_grace() {
    for level in ALL {
        for _round in 0..rounds() {
            let contained = Contained::start(level, 50, &["ignore-term", "--children", "3"]);
            contained.wait_for_supervised(4);
            contained.send(Signal::SIGTERM);
            contained.end().assert_clean(137);
        }
    }
}

#[test]
fn a_tree_that_obeys_is_not_killed() {
    for level in ALL {
        let misbehaviour = ["slow-term", "--milliseconds", "100", "--exit", "5"];
        let mut contained = Contained::start(level, 60_000, &misbehaviour);
        let mut ready = [0; 6];
        contained.outer.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        contained.send(Signal::SIGTERM);
        contained.end().assert_clean(5);
    }
}

#[test]
fn a_stopped_tree_sees_sigterm() {
    for level in ALL {
        for _round in 0..rounds() {
            let contained = Contained::start(level, 60_000, &["stop-self"]);
            eventually("stopped", || {
                contained.supervised().iter().any(|process| process.state == 'T')
            });
            contained.send(Signal::SIGINT);
            contained.end().assert_clean(143);
        }
    }
}

#[test]
fn sessions_of_their_own_are_reached_by_signals() {
    for level in TIGHT {
        for _round in 0..rounds() {
            let contained = Contained::start(level, 60_000, &["setsid-child"]);
            eventually("a session of its own", || {
                contained.supervised().iter().filter(|process| process.group == process.pid).count()
                    == 2
            });
            contained.send(Signal::SIGHUP);
            let ended = contained.end();
            assert_eq!(ended.survivors, []);
        }
    }
}

#[test]
fn suspending_stops_the_tree_and_then_the_outer_process_until_it_is_continued() {
    for level in ALL {
        let mut contained = Contained::start(level, 60_000, &["tree", "--depth", "1"]);
        contained.roles();
        contained.wait_for_supervised(3);
        contained.send(Signal::SIGTSTP);
        let outer = contained.outer.id();
        let states = || {
            let mut states: Vec<char> =
                contained.supervised().iter().map(|process| process.state).collect();
            states.push(Process::read(outer).unwrap().state);
            states
        };
        eventually("all stopped", || states().iter().all(|state| *state == 'T'));
        contained.send(Signal::SIGCONT);
        eventually("all go on", || states().iter().all(|state| *state != 'T'));
        contained.send(Signal::SIGTERM);
        assert_eq!(contained.end().survivors, []);
    }
}

#[test]
fn signals_without_a_meaning_do_no_harm() {
    let mut contained = Contained::start("cgroup", 60_000, &["sleep", "60"]);
    contained.roles();
    for signal in [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGWINCH, Signal::SIGCONT] {
        contained.send(signal);
    }
    contained.send(Signal::SIGQUIT);
    contained.end().assert_clean(143);
}
