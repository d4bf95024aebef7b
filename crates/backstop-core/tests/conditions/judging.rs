//! Judgements of the work: tests, health, drift, cycles.

use super::{Case, MET, NOT};

pub(super) const JUDGING: &[Case] = &[
    Case {
        when: r#"{ type = "health", below = 0.5 }"#,
        says: "when the health score is below 50%",
        priority: 62,
        reason: "health_critical",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"health": 0.51}"#, NOT, 0.0, None),
            (r#"{"health": 0.5}"#, NOT, 0.0, None),
            (r#"{"health": 0.49}"#, MET, 1.0, Some((0.49, 0.5))),
        ],
    },
    Case {
        when: r#"{ type = "all_tests_pass" }"#,
        says: "when all tests pass",
        priority: 60,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"tests": {"skipped": ["a"]}}"#, NOT, 0.0, None),
            (r#"{"tests": {"passed": ["a", "b", "c"], "failed": ["d"]}}"#, NOT, 0.75, None),
            (r#"{"tests": {"passed": ["a"], "skipped": ["d"]}}"#, MET, 1.0, Some((1.0, 1.0))),
            (
                r#"{"tests": {"passed": ["a"], "counts": {"passed": 9, "failed": 1}}}"#,
                NOT,
                0.9,
                None,
            ),
            (r#"{"tests": {"counts": {"passed": 9}}}"#, MET, 1.0, Some((9.0, 9.0))),
        ],
    },
    Case {
        when: r#"{ type = "specific_tests_pass", tests = ["b", "a", "b"] }"#,
        says: "when 2 named tests pass",
        priority: 60,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"tests": {"passed": ["b", "c"]}}"#, NOT, 0.5, None),
            (r#"{"tests": {"passed": ["b", "a"], "failed": ["a"]}}"#, NOT, 0.5, None),
            (r#"{"tests": {"passed": ["b", "a"], "failed": ["c"]}}"#, MET, 1.0, Some((2.0, 2.0))),
        ],
    },
    Case {
        when: r#"{ type = "tasks_done" }"#,
        says: "when all tasks are done",
        priority: 58,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"tasks": {"total": 0, "done": 0}}"#, NOT, 0.0, None),
            (r#"{"tasks": {"total": 4, "done": 3}}"#, NOT, 0.75, None),
            (r#"{"tasks": {"total": 4, "done": 4, "queued": 1}}"#, NOT, 1.0, None),
            (r#"{"tasks": {"total": 4, "done": 4}}"#, MET, 1.0, Some((4.0, 4.0))),
            (r#"{"tasks": {"total": 4, "done": 4, "improvements": 2}}"#, MET, 1.0, None),
            (
                r#"{"tasks": {"total": 4, "done": 4, "phase": "improvement", "improvements": 2}}"#,
                NOT,
                1.0,
                None,
            ),
            (r#"{"tasks": {"total": 4, "done": 4, "phase": "improvement"}}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "diminishing_returns" }"#,
        says: "after 5 cycles, when the last one improved less than 10%",
        priority: 57,
        reason: "diminishing_returns",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"cycles": 4, "improvement": 0.01}"#, NOT, 0.8, None),
            (r#"{"cycles": 5}"#, NOT, 1.0, None),
            (r#"{"cycles": 5, "improvement": 0.11}"#, NOT, 1.0, None),
            (r#"{"cycles": 5, "improvement": 0.10}"#, NOT, 1.0, None),
            (r#"{"cycles": 5, "improvement": 0.09}"#, MET, 1.0, Some((0.09, 0.1))),
            (r#"{"cycles": 6, "improvement": -2.0}"#, MET, 1.0, Some((-2.0, 0.1))),
            // With nothing left but improvements, the number of cycles does not matter.
            (
                r#"{"cycles": 2, "improvement": 0.09, "tasks":
                   {"total": 1, "done": 1, "phase": "improvement", "improvements": 1}}"#,
                MET,
                1.0,
                Some((0.09, 0.1)),
            ),
            (
                r#"{"cycles": 2, "improvement": 0.09, "tasks":
                   {"total": 1, "done": 1, "phase": "improvement"}}"#,
                NOT,
                0.4,
                None,
            ),
            (
                r#"{"cycles": 2, "improvement": 0.09, "tasks":
                   {"total": 1, "done": 1, "improvements": 1}}"#,
                NOT,
                0.4,
                None,
            ),
            (
                r#"{"cycles": 2, "improvement": 0.09, "tasks":
                   {"total": 1, "done": 1, "queued": 1, "phase": "improvement", "improvements": 1}}"#,
                NOT,
                0.4,
                None,
            ),
            (
                r#"{"cycles": 2, "improvement": 0.1, "tasks":
                   {"total": 1, "done": 1, "phase": "improvement", "improvements": 1}}"#,
                NOT,
                0.4,
                None,
            ),
        ],
    },
    Case {
        when: r#"{ type = "topic_drift", above = 0.5 }"#,
        says: "when the work drifts more than 50% from what was asked",
        priority: 55,
        reason: "topic_drift",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"drift": 0.25}"#, NOT, 0.5, None),
            (r#"{"drift": 0.5}"#, NOT, 1.0, None),
            (r#"{"drift": 0.51}"#, MET, 1.0, Some((0.51, 0.5))),
        ],
    },
];
