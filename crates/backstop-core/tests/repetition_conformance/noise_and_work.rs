//! Repetition among what only looks like it, and work that goes on.

use super::*;

#[test]
fn rephrased_thought() {
    let run = Run::new().times(4, |run, index| ls(run.say(word(index)), index));
    assert_eq!(run.stuck(), Some(Signal::RepeatPair));
}

#[test]
fn timestamped_output() {
    let run = Run::new().times(4, |run, index| {
        run.act("make", &format!("2026-01-15T10:00:0{index}Z built in 1.{index}s"))
    });
    assert_eq!(run.stuck(), Some(Signal::RepeatPair));
}

#[test]
fn pid_noise() {
    let serve = |run: Run, index| run.act("serve", &format!("started, pid 81{index}"));
    assert_eq!(Run::new().times(4, serve).stuck(), Some(Signal::RepeatPair));
}

#[test]
fn reordered_arguments() {
    let arguments = [r#"{"path": "a", "line": 1}"#, r#"{"line":1,"path":"a"}"#];
    let run = Run::new().times(4, |run, index| run.act(arguments[index % 2], "text"));
    assert_eq!(run.stuck(), Some(Signal::RepeatPair));
}

#[rstest]
fn cycles_of_each_period(#[values(2, 3, 4, 5, 6, 7, 8)] period: usize) {
    // Results are unknown, so that the score stays out of it.
    let steps =
        |count: usize| Run::new().times(count, |run, index| run.act_blind(word(index % period)));
    assert_eq!(steps(3 * period - 1).reading().cycle.periods, 2);
    assert_eq!(steps(3 * period).stuck(), Some(Signal::Cycle));
}

#[test]
fn endless_scrolling() {
    let scroll = |run: Run, index| run.act("scroll down", word(index));
    assert_eq!(Run::new().times(4, scroll).stuck(), None);
    assert_eq!(Run::new().times(5, scroll).stuck(), Some(Signal::RepeatAction));
}

#[test]
fn changed_result_resets_the_pair() {
    let reading = Run::new().times(3, ls).act("ls", "c.rs").reading();
    assert_eq!((reading.pair_streak, reading.action_streak), (1, 4));
}

#[test]
fn polling_with_changing_output() {
    let run = Run::new().times(500, |run, index| {
        run.after_ms(30_000).costing(0.1).act("gh run view", &format!("{index} of 500 jobs"))
    });
    assert_eq!((run.nudged(), run.stuck()), (None, None));
}

/// Where no step has a time, the command says that it waits.
#[test]
fn polling_with_changing_output_by_a_command_that_sleeps() {
    let poll = |run: Run, index: usize| {
        run.act("sleep 60; gh run view 1", &format!("step {index} is running"))
    };
    let run = Run::new().times(40, poll);
    assert_eq!((run.nudged(), run.reading().score), (None, 0.0));
    // One that brings nothing new repeats itself, and so does one that fails.
    let same = Run::new().times(4, |run, _| run.act("sleep 60; gh run view 1", "running"));
    assert_eq!(same.stuck(), Some(Signal::RepeatPair));
    let failing = Run::new().times(4, |run, index| run.fail("sleep 5; make", word(index)));
    assert_eq!(failing.stuck(), Some(Signal::RepeatError));
}

#[test]
fn polling_with_only_a_percentage_that_moves() {
    let poll =
        |run: Run, percent: String| run.after_ms(60_000).costing(0.1).act("tail -1 log", &percent);
    for step in [0.8, -0.8] {
        let run = Run::new().times(120, |run, index| {
            poll(run, format!("progress {:.1}%", 100.0 + step * index as f64))
        });
        assert_eq!((run.nudged(), run.stuck()), (None, None));
        // It has come to a stand.
        let run = run.times(31, |run, _| poll(run, "progress 42.0%".to_owned()));
        assert_eq!(run.stuck(), Some(Signal::Poll));
    }
    let up_and_down = |run: Run, index: usize| poll(run, format!("load {}%", 40 + index % 7));
    assert_eq!(Run::new().times(60, up_and_down).stuck(), Some(Signal::Poll));
}

#[test]
fn polling_with_output_that_comes_round_again() {
    let run = Run::new().times(60, |run, index| {
        run.after_ms(30_000).act("status", ["building", "still building"][index % 2])
    });
    assert_eq!((run.nudged(), run.stuck()), (None, None));
}

#[test]
fn sixty_six_identical_parallel_calls_are_one() {
    let batch = |run: Run, turn| run.in_turn(turn).times(66, |run, _| run.act("read a", "text"));
    let run = batch(Run::new(), 1);
    assert_eq!(run.reading().pair_streak, 1);
    assert_eq!((run.nudged(), run.stuck()), (None, None));
    let run = batch(batch(run, 2), 3);
    assert_eq!(run.stuck(), None);
    assert_eq!(batch(run, 4).stuck(), Some(Signal::RepeatPair));
}

#[test]
fn parallel_calls_without_a_turn_are_one_by_their_time() {
    let mut run = Run::new();
    for _ in 0..66 {
        run.active_ms = 0;
        run = run.act("read a", "text");
    }
    assert_eq!(run.reading().pair_streak, 1);
}

#[test]
fn parallel_calls_in_groups_are_one_of_each() {
    let run = Run::new().in_turn(1).times(20, |run, index| run.act(word(index % 2), "x"));
    assert_eq!((run.nudged(), run.stuck()), (None, None));
}

#[test]
fn parallel_calls_with_different_results_are_one_action() {
    let run = Run::new().in_turn(1).times(20, |run, index| run.act("roll", word(index)));
    assert_eq!((run.nudged(), run.stuck()), (None, None));
}

#[test]
fn a_wait_repeated_in_parallel_is_one() {
    let run = Run::new().in_turn(1).act("check", "pending").after_ms(10_000).in_turn(2);
    let run = run.act("check", "pending").act("ls", "a").act("check", "pending");
    assert_eq!((run.reading().score, run.reading().polling.count), (0.0, 0));
}

#[test]
fn batch_edits_over_thirty_files() {
    let run = Run::new().times(30, |run, index| {
        run.act(&format!("edit src/file{index}.rs"), "The file has been updated")
    });
    assert_eq!((run.nudged(), run.stuck()), (None, None));
}

#[test]
fn test_rerun_after_edits() {
    let run = Run::new().times(30, |run, index| {
        run.act(&format!("edit src/lib.rs:{index}"), "ok")
            .act("cargo test", &format!("{} failed, {index} passed in 1.{index}s", 30 - index))
    });
    assert_eq!((run.nudged(), run.stuck()), (None, None));
}

#[test]
fn test_rerun_after_edits_with_the_same_failure() {
    let round = |run: Run, index: usize| {
        run.act(&format!("edit src/lib.rs:{index}"), "ok").fail("cargo test", "error: t failed")
    };
    assert_eq!(Run::new().times(5, round).stuck(), None);
    let run = Run::new().times(30, |run, index| round(run, index).progress());
    assert_eq!(run.stuck(), None);
}

#[test]
fn long_verification_after_the_last_edit() {
    let run = Run::new().act("edit a", "ok").times(60, |run, index| match index % 5 {
        0 => run.act("cargo test", "ok. 12 passed"),
        _ => run.act(&format!("cargo test case_{index}"), &format!("case_{index} passed")),
    });
    assert_eq!((run.nudged(), run.stuck()), (None, None));
}

#[test]
fn progress_begins_counts_anew() {
    assert_eq!(Run::new().times(3, ls).progress().times(3, ls).stuck(), None);
    let alternate = |run: Run, _| run.act("ls", "a").act("cat a", "text");
    let run = Run::new().times(2, alternate).progress().times(2, alternate);
    assert_eq!(run.reading().cycle.periods, 2);
}

#[test]
fn the_same_reported_error_with_work_between() {
    let round = |run: Run, index: usize| {
        run.act(word(index), word(index)).error("error: no space left on /dev/sda1")
    };
    assert_eq!(Run::new().times(3, round).stuck(), None);
    assert_eq!(Run::new().times(4, round).stuck(), Some(Signal::RepeatError));
    let other = Run::new().times(3, round).error("other").error("error: no space left");
    assert_eq!(other.reading().error_streak, 1);
    let progress = Run::new().times(3, round).progress().error("error: no space left");
    assert_eq!(progress.reading().error_streak, 1);
}

#[test]
fn a_cycle_longer_than_any_period_is_seen_in_the_long_run() {
    let run = Run::new().times(40 * 6, |run, index| {
        run.act(&format!("step {}", index % 40), &format!("result {}", index % 40))
    });
    assert_eq!(run.stuck(), Some(Signal::Novelty));
}

/// Neither a streak nor a cycle, but nothing new either.
#[test]
fn the_score_counts_only_if_it_holds_after_the_nudge() {
    let known = ["a", "b", "c", "d", "a", "c", "b", "d", "c"];
    let after = |count| {
        let run = Run::new().times(count, |run, index| run.act(known[index], known[index]));
        (run.reading().score, run.nudged().is_some(), run.stuck())
    };
    assert_eq!(after(4), (0.0, false, None));
    assert_eq!(after(5), (0.75, false, None));
    assert_eq!(after(6), (1.5, true, None));
    assert_eq!(after(7), (2.25, true, None));
    assert_eq!(after(8), (3.0, true, None));
    assert_eq!(after(9), (3.75, true, Some(Signal::Cusum)));
}
