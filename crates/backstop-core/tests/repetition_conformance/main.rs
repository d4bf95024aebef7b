//! What the detector must catch and what it must leave alone, one named case each.
//!
//! The first group ports the cases that other tools test; the others come from incidents and from
//! how agents work. `stuck` is the normal threshold, `nudged` the one for warnings.

mod noise_and_work;
#[path = "../told_run/mod.rs"]
mod told_run;

use backstop_core::repetition::{Reading, Sensitivity, Signal, StepKind, Thresholds, judge};
use rstest::rstest;
use told_run::{Run, word};

fn ls(run: Run, _: usize) -> Run {
    run.act("ls", "a.rs b.rs")
}

mod ported {
    use super::*;

    #[test]
    fn history_too_short() {
        assert_eq!(Run::new().stuck(), None);
        assert_eq!(Run::new().act("ls", "a").stuck(), None);
    }

    #[rstest]
    #[case(3, None)]
    #[case(4, Some(Signal::RepeatPair))]
    #[case(5, Some(Signal::RepeatPair))]
    fn same_action_same_result(#[case] times: usize, #[case] expected: Option<Signal>) {
        assert_eq!(Run::new().times(times, ls).stuck(), expected);
    }

    #[test]
    fn null_steps_are_ignored() {
        let run = Run::new().times(4, |run, index| ls(run, index).null());
        assert_eq!(run.stuck(), Some(Signal::RepeatPair));
        assert_eq!(Run::new().times(20, |run, _| run.null()).nudged(), None);
    }

    #[test]
    fn user_message_in_the_middle_headless() {
        let run = Run::new().times(2, ls).told("go on").times(2, ls);
        assert_eq!(run.stuck(), Some(Signal::RepeatPair));
    }

    #[test]
    fn user_message_in_the_middle_interactive() {
        assert_eq!(Run::new().times(3, ls).person_speaks().times(3, ls).stuck(), None);
    }

    #[test]
    fn interactive_reset_then_four_more() {
        let run = Run::new().times(4, ls);
        assert_eq!(run.stuck(), Some(Signal::RepeatPair));
        let run = run.person_speaks();
        assert_eq!(run.stuck(), None);
        assert_eq!(run.times(4, ls).stuck(), Some(Signal::RepeatPair));
    }

    // Two of the ported cases pull against each other. The same action with different *errors* is
    // one whose steps are flagged as failed; the syntax errors below are ordinary output, of steps
    // that themselves succeeded, in which a changing line number means that something changed.

    #[test]
    fn same_action_with_different_error_texts() {
        let fail = |run: Run, index| run.fail("make", &format!("{} is missing", word(index)));
        assert_eq!(Run::new().times(3, fail).stuck(), None);
        assert_eq!(Run::new().times(4, fail).stuck(), Some(Signal::RepeatError));
    }

    #[test]
    fn same_error_with_different_actions() {
        let fail = |run: Run, index: usize| {
            run.fail(&format!("cat {}", word(index)), &format!("error: disk {index} is full"))
        };
        assert_eq!(Run::new().times(3, fail).stuck(), None);
        assert_eq!(Run::new().times(4, fail).stuck(), Some(Signal::RepeatError));
    }

    fn syntax_error(line: usize, message: &str) -> String {
        format!("  Cell In[1], line {line}\n    print(\"hello\n          ^\nSyntaxError: {message}")
    }

    #[rstest]
    #[case::unterminated_same(4, false, "unterminated string literal", Some(Signal::RepeatPair))]
    #[case::unterminated_changing(4, true, "unterminated string literal", None)]
    #[case::three_only(3, false, "unterminated string literal", None)]
    #[case::two_only(2, false, "unterminated string literal", None)]
    #[case::incomplete_same(4, false, "incomplete input", Some(Signal::RepeatPair))]
    #[case::incomplete_changing(4, true, "incomplete input", None)]
    fn syntax_error_shown(
        #[case] times: usize,
        #[case] changing: bool,
        #[case] message: &str,
        #[case] expected: Option<Signal>,
    ) {
        let run = Run::new().times(times, |run, index| {
            run.act("python cell", &syntax_error(if changing { index } else { 1 }, message))
        });
        assert_eq!(run.stuck(), expected);
    }

    #[test]
    fn error_not_on_the_last_line_with_changing_line_numbers() {
        let run = Run::new().times(4, |run, index| {
            run.act("python cell", &format!("{}\ndone", syntax_error(index, "invalid syntax")))
        });
        assert_eq!(run.stuck(), None);
    }

    #[rstest]
    #[case(2, None)]
    #[case(3, Some(Signal::Cycle))]
    fn two_steps_alternating(#[case] times: usize, #[case] expected: Option<Signal>) {
        let run = Run::new().times(times, |run, _| run.act("ls", "a").act("cat a", "text"));
        assert_eq!(run.stuck(), expected);
    }

    #[test]
    fn mixed_commands() {
        let run = Run::new()
            .act("ls", "a")
            .act("cat a", "text")
            .act("ls", "a")
            .act("pwd", "/home")
            .act("cat a", "text")
            .act("echo hi", "hi");
        assert_eq!(run.stuck(), None);
    }

    #[rstest]
    #[case(2, None)]
    #[case(3, Some(Signal::Monologue))]
    fn monologue(#[case] times: usize, #[case] expected: Option<Signal>) {
        let same = Run::new().times(times, |run, _| run.say("I will look into it"));
        assert_eq!(same.stuck(), expected);
        let different = Run::new().times(times, |run, index| run.say(word(index)));
        assert_eq!(different.stuck(), expected);
    }

    #[test]
    fn at_low_sensitivity_a_monologue_of_different_messages_may_be_longer() {
        let different = Run::new().times(4, |run, index| run.say(word(index)));
        assert_eq!(different.judged(Sensitivity::Low), None);
        let same = Run::new().times(4, |run, _| run.say("hm"));
        assert_eq!(same.judged(Sensitivity::Low), Some(Signal::Monologue));
    }

    #[test]
    fn monologue_skips_condensations_and_nudges() {
        let run = Run::new().say("a").condense().say("b").told("please act").say("c");
        assert_eq!(run.stuck(), Some(Signal::Monologue));
    }

    #[test]
    fn an_answer_to_each_prompt_is_no_monologue_unless_it_is_always_the_same() {
        let answers = Run::new().times(9, |run, index| run.launch().say(word(index)));
        assert_eq!(answers.stuck(), None);
        let same = Run::new().times(3, |run, _| run.launch().say("I will look into it"));
        assert_eq!(same.stuck(), Some(Signal::Monologue));
    }

    #[test]
    fn monologue_broken_by_an_observation() {
        assert_eq!(Run::new().say("a").say("a").act("ls", "a").say("a").stuck(), None);
    }

    #[test]
    fn empty_answers() {
        let run = Run::new().say_nothing().told("you said nothing").say_nothing();
        assert_eq!(run.stuck(), None);
        assert_eq!(run.told("again").say(" \n").stuck(), Some(Signal::Empty));
        let run = Run::new().say_nothing().say_nothing().act("ls", "a").say_nothing();
        assert_eq!(run.stuck(), None);
    }

    #[test]
    fn one_phrase_over_and_over() {
        // A quoted log may be one: a single answer only warns.
        let once = Run::new().act("ls", "a").chant("Let me try that again. ");
        assert_eq!(once.stuck(), None);
        assert_eq!(once.judged(Sensitivity::High), Some(Signal::ContentChant));
        let run = once.chant("Let me try that again. ");
        assert_eq!(run.stuck(), Some(Signal::ContentChant));
        assert_eq!(run.judged(Sensitivity::Low), None);
        // It has got over it.
        assert_eq!(run.act("ls b", "b").stuck(), None);
        let thrice = Run::new().times(3, |run, _| run.chant("again"));
        assert_eq!(thrice.judged(Sensitivity::Low), Some(Signal::ContentChant));
    }

    #[rstest]
    #[case(9, None)]
    #[case(10, Some(Signal::CompactionLoop))]
    fn condensations(#[case] times: usize, #[case] expected: Option<Signal>) {
        assert_eq!(Run::new().times(times, |run, _| run.condense()).stuck(), expected);
    }

    #[test]
    fn condensations_with_other_events_between() {
        let run = Run::new().times(30, |run, index| run.condense().act(word(index), "fine"));
        assert_eq!(run.stuck(), None);
    }

    #[test]
    fn condensations_with_user_messages_between_headless() {
        let run = Run::new().times(10, |run, _| run.condense().told("go on"));
        assert_eq!(run.stuck(), Some(Signal::CompactionLoop));
    }

    #[test]
    fn condensations_with_only_failures_between() {
        let run = Run::new().times(10, |run, index| run.condense().fail(word(index), word(index)));
        assert_eq!(run.stuck(), Some(Signal::CompactionLoop));
    }

    #[test]
    fn repetition_before_the_last_twenty_steps_is_over() {
        let run = Run::new().times(4, ls).times(20, |run, index| run.act(word(index), word(index)));
        assert_eq!((run.nudged(), run.stuck()), (None, None));
    }

    #[test]
    fn thresholds_above_any_window_still_fire() {
        let thresholds = Thresholds { repeat_pair: 100, ..Thresholds::default() };
        let run = Run::new().times(99, ls);
        assert_ne!(judge(&run.reading(), &thresholds), Some(Signal::RepeatPair));
        let run = run.times(1, ls);
        assert_eq!(judge(&run.reading(), &thresholds), Some(Signal::RepeatPair));
    }

    #[test]
    fn nudge_at_three_stuck_at_four() {
        let run = Run::new().fail("make", "a").fail("make", "b");
        assert_eq!((run.nudged(), run.stuck()), (None, None));
        let run = run.fail("make", "c");
        assert_eq!((run.nudged(), run.stuck()), (Some(Signal::RepeatError), None));
        let run = run.told("this failed three times").fail("make", "d");
        assert_eq!(run.stuck(), Some(Signal::RepeatError));
    }

    #[test]
    fn recovers_after_the_nudge() {
        let run = Run::new().times(3, |run, index| run.fail("make", word(index)));
        let run = run.told("nudge").act("cat Makefile", "all:");
        assert_eq!((run.nudged(), run.stuck()), (None, None));
    }

    #[test]
    fn no_second_nudge_while_frozen() {
        let run = Run::new().times(3, |run, index| run.fail("make", word(index)));
        let before = run.reading();
        let after = run.told("nudge").told("nudge").reading();
        assert_eq!(after, Reading { steps: before.steps + 2, ..before });
    }

    #[test]
    fn different_actions() {
        let run = Run::new().times(26, |run, index| run.act(word(index), word(index + 1)));
        assert_eq!((run.nudged(), run.stuck()), (None, None));
    }
}

mod incidents {
    use super::*;

    #[test]
    fn poll_every_five_minutes_for_a_quarter_of_an_hour() {
        let run = Run::new().times(4, |run, _| run.after_ms(299_000).act("check", "pending"));
        assert_eq!(run.reading().polling.elapsed_ms, 900_000);
        assert_eq!(run.stuck(), None);
    }

    #[test]
    fn identical_polls_fire_by_time() {
        let run = Run::new().times(30, |run, _| run.after_ms(59_000).act("check", "pending"));
        assert_eq!(run.stuck(), None);
        let run = run.after_ms(59_000).act("check", "pending");
        assert_eq!(run.stuck(), Some(Signal::Poll));
        assert_eq!(
            run.sentence(),
            "`check` gave the same result 31 times over 30m and $0.00 (steps 1–31)"
        );
        assert_eq!(run.act("check", "done").stuck(), None);
    }

    /// 1,535 in two hours is one in 4.7 s: a streak, or, a little slower, a wait that is too dear.
    #[test]
    fn fifteen_hundred_identical_polls_in_two_hours() {
        let poll = |pause: u64| {
            move |run: Run, _: usize| {
                run.after_ms(pause - 1000).costing(150.0 / 1535.0).act("poll", "running")
            }
        };
        assert_eq!(Run::new().times(1535, poll(4690)).stuck(), Some(Signal::RepeatPair));
        let slower = Run::new().times(51, poll(5000));
        assert_eq!(slower.stuck(), None);
        let slower = slower.times(2, poll(5000));
        assert_eq!(slower.stuck(), Some(Signal::Poll));
        let slower = slower.times(1535 - 53, poll(5000));
        assert_eq!(slower.reading().polling.count, 1535);
        assert_eq!(slower.stuck(), Some(Signal::Poll));
    }

    #[test]
    fn ten_thousand_calls_of_the_same_tool() {
        let run = Run::new().times(10_943, |run, index| {
            run.after_ms(316).act("approve {}", &format!("call {index}"))
        });
        assert_eq!(run.reading().action_streak, 10_943);
        assert_eq!(run.stuck(), Some(Signal::RepeatAction));
        let blind = Run::new().times(5, |run, _| run.act_blind("approve"));
        assert_eq!(blind.stuck(), Some(Signal::RepeatAction));
    }

    #[test]
    fn click_with_changing_page_ids() {
        let click = |run: Run, index| run.act("click #next", &format!("page a1b2c3d{index}"));
        assert_eq!(Run::new().times(4, click).stuck(), Some(Signal::RepeatPair));
        let click = |run: Run, index| run.act("click #next", &format!("page {index}"));
        assert_eq!(Run::new().times(5, click).stuck(), Some(Signal::RepeatAction));
    }
}

mod evidence {
    use super::*;

    #[test]
    fn says_what_repeated_and_when() {
        let run = Run::new()
            .times(4, |run, index| run.act(word(index), word(index)))
            .times(4, |run, _| run.act("cargo build", "error"));
        let evidence = run.detector.evidence();
        assert_eq!(
            evidence.sentence,
            "`cargo build` gave the same result 4 times in a row (steps 5–8)"
        );
        assert_eq!(evidence.signal, Some(Signal::RepeatPair));
        assert_eq!((evidence.first_step, evidence.steps), (5, vec![5, 6, 7, 8]));
        assert_eq!(evidence.excerpt, "cargo build");
    }

    #[test]
    fn one_sentence_for_each_signal() {
        let known = ["a", "b", "c", "d", "a", "c", "b", "d", "c"];
        let table = [
            (Run::new(), "nothing repeats"),
            (Run::new().chant("again"), "the agent said `again` over and over (step 1)"),
            (
                Run::new().times(5, |run, index| run.act("scroll", word(index))),
                "`scroll` was done 5 times in a row (steps 1–5)",
            ),
            (
                Run::new().times(4, |run, index| run.fail("make", word(index))),
                "`make` failed 4 times in a row (steps 1–4)",
            ),
            (
                Run::new().times(4, |run, index| run.fail(word(index), "denied")),
                "the same error came 4 times in a row (steps 1–4), the last from `delta`",
            ),
            (
                Run::new().times(4, |run, _| run.error("disk full")),
                "the error `disk full` was reported 4 times in a row",
            ),
            (
                Run::new().times(3, |run, _| run.act("ls", "a").act("pwd", "/")),
                "the same 2 steps came 3 times (steps 1–6), the last `pwd`",
            ),
            (
                Run::new().say("x").say("hm").say("hm"),
                "3 messages without any action, the last 2 of them the same (steps 1–3)",
            ),
            (
                Run::new().times(3, |run, _| run.launch().say("hm")),
                "the agent gave the same message 3 times in a row (steps 1–3)",
            ),
            (
                Run::new().times(3, |run, _| run.say_nothing()),
                "the agent answered with nothing 3 times in a row (steps 1–3)",
            ),
            (
                Run::new().times(10, |run, _| run.condense().told("x")),
                "the context was condensed 10 times with no successful action between (first at \
                 step 1, last at step 19)",
            ),
            (
                Run::new().times(9, |run, index| run.act(known[index], known[index])),
                "steps keep repeating earlier ones, score 3.75 (steps 5–9), the last `c`",
            ),
        ];
        for (run, expected) in table {
            assert_eq!(run.sentence(), expected);
        }
    }
}

#[rstest]
#[case("message", StepKind::Message)]
#[case("empty", StepKind::Empty)]
#[case("chant", StepKind::Chant)]
#[case("compaction", StepKind::Compaction)]
#[case("condensation", StepKind::Compaction)]
#[case("user", StepKind::User)]
#[case("bash", StepKind::Action)]
fn kinds_by_name(#[case] name: &str, #[case] expected: StepKind) {
    assert_eq!(StepKind::from(name), expected);
}
