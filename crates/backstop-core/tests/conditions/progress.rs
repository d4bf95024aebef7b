//! Progress and the lack of it.

use super::{Case, MET, NOT};

pub(super) const PROGRESS: &[Case] = &[
    Case {
        when: r#"{ type = "test_failure_streak", count = 5 }"#,
        says: "after 5 test runs with a failure in a row",
        priority: 70,
        reason: "test_failure_streak",
        looks: &[
            (r#"{"test_failure_streak": 4}"#, NOT, 0.8, None),
            (r#"{"test_failure_streak": 5}"#, MET, 1.0, Some((5.0, 5.0))),
            (r#"{"test_failure_streak": 6}"#, MET, 1.0, Some((6.0, 5.0))),
        ],
    },
    Case {
        when: r#"{ type = "no_progress", iterations = 3 }"#,
        says: "after 3 iterations without progress",
        priority: 70,
        reason: "stalled",
        looks: &[
            (r#"{"iterations_since_progress": 2}"#, NOT, 2.0 / 3.0, None),
            (r#"{"iterations_since_progress": 3}"#, MET, 1.0, Some((3.0, 3.0))),
            (r#"{"iterations_since_progress": 4}"#, MET, 1.0, Some((4.0, 3.0))),
        ],
    },
    Case {
        when: r#"{ type = "stagnation", duration = "30m" }"#,
        says: "after 30m without progress",
        priority: 70,
        reason: "stalled",
        looks: &[
            // Without any progress the age counts from the start.
            (r#"{"active_ms": 900000}"#, NOT, 0.5, None),
            (r#"{"progress_age_ms": 1799999}"#, NOT, 1_799_999.0 / 1.8e6, None),
            (r#"{"progress_age_ms": 1800000}"#, MET, 1.0, Some((1.8e6, 1.8e6))),
            (r#"{"progress_age_ms": 1800001}"#, MET, 1.0, Some((1_800_001.0, 1.8e6))),
            (r#"{"active_ms": 9000000, "progress_age_ms": 0}"#, NOT, 0.0, None),
        ],
    },
    Case {
        when: r#"{ type = "repetition", score = 5.0 }"#,
        says: "when the agent repeats itself",
        priority: 69,
        reason: "repetition",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"repetition": {"score": 4.9}}"#, NOT, 0.0, None),
            (r#"{"repetition": {"score": 5.0}}"#, MET, 1.0, Some((5.0, 5.0))),
            (r#"{"repetition": {"score": 5.1}}"#, MET, 1.0, Some((5.1, 5.0))),
        ],
    },
    Case {
        when: r#"{ type = "repetition", sensitivity = "high" }"#,
        says: "when the agent repeats itself (high sensitivity)",
        priority: 69,
        reason: "repetition",
        looks: &[(r#"{"repetition": {"score": 0.0}}"#, NOT, 0.0, None)],
    },
];
