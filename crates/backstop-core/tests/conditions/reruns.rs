//! Jobs that are run again.

use super::{Case, MET, NOT};

pub(super) const RERUNS: &[Case] = &[
    Case {
        when: r#"{ type = "failure_class", any_of = ["lint error", " Syntax ERROR "] }"#,
        says: "when the failure's class contains ' Syntax ERROR ' or 'lint error'",
        priority: 68,
        reason: "non_retriable",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"failure_class": "flaky"}"#, NOT, 0.0, None),
            (r#"{"failure_class": "lint"}"#, NOT, 0.0, None),
            (r#"{"failure_class": "  A LINT Error in main "}"#, MET, 1.0, None),
            (r#"{"failure_class": "syntax error"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "failure_class", any_of = [] }"#,
        says: "never (no failure class is named)",
        priority: 68,
        reason: "non_retriable",
        looks: &[(r#"{"failure_class": "lint error"}"#, NOT, 0.0, None)],
    },
    Case {
        when: r#"{ type = "job_attempts", count = 2 }"#,
        says: "after 2 re-runs of this job",
        priority: 67,
        reason: "max_attempts",
        looks: &[
            (r#"{"job_attempts": 1}"#, NOT, 0.5, None),
            (r#"{"job_attempts": 2}"#, MET, 1.0, Some((2.0, 2.0))),
            (r#"{"job_attempts": 3}"#, MET, 1.0, Some((3.0, 2.0))),
        ],
    },
    Case {
        when: r#"{ type = "total_attempts", count = 5 }"#,
        says: "after 5 re-runs over all jobs",
        priority: 66,
        reason: "max_total_reruns",
        looks: &[
            (r#"{"total_attempts": 4}"#, NOT, 0.8, None),
            (r#"{"total_attempts": 5}"#, MET, 1.0, Some((5.0, 5.0))),
            (r#"{"total_attempts": 6}"#, MET, 1.0, Some((6.0, 5.0))),
        ],
    },
    Case {
        when: r#"{ type = "no_signal_change", cycles = 3 }"#,
        says: "when the last 3 failures look the same",
        priority: 65,
        reason: "no_signal_change",
        looks: &[
            (r#"{"failure_signals": []}"#, NOT, 0.0, None),
            (r#"{"failure_signals": ["a", "a"]}"#, NOT, 2.0 / 3.0, None),
            (r#"{"failure_signals": ["a", "a", "b"]}"#, NOT, 1.0 / 3.0, None),
            (r#"{"failure_signals": ["b", "a", "a", "a"]}"#, MET, 1.0, Some((3.0, 3.0))),
            (r#"{"failure_signals": ["a", "a", "a", "a"]}"#, MET, 1.0, Some((4.0, 3.0))),
        ],
    },
    // The one that is met while there is something left to wait.
    Case {
        when: r#"{ type = "cooldown", duration = "5m" }"#,
        says: "for 5m after a change",
        priority: 64,
        reason: "cooldown_active",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"last_changed_at": "2026-05-04T10:00:00Z"}"#, MET, 1.0, Some((0.0, 3e5))),
            (r#"{"last_changed_at": "2026-05-04T09:56:00Z"}"#, MET, 0.2, Some((2.4e5, 3e5))),
            (r#"{"last_changed_at": "2026-05-04T09:55:00.003Z"}"#, MET, 0.000_01, None),
            (r#"{"last_changed_at": "2026-05-04T09:55:00Z"}"#, NOT, 0.0, None),
            (r#"{"last_changed_at": "2026-05-04T09:54:59Z"}"#, NOT, 0.0, None),
            (r#"{"last_changed_at": "2026-05-04T11:00:00Z"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "unresolved", duration = "1h" }"#,
        says: "when a failure is unresolved for 1h",
        priority: 63,
        reason: "wait_timeout",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"first_failure_at": "2026-05-04T09:30:00Z"}"#, NOT, 0.5, None),
            (r#"{"first_failure_at": "2026-05-04T09:00:00.036Z"}"#, NOT, 0.999_99, None),
            (r#"{"first_failure_at": "2026-05-04T09:00:00Z"}"#, MET, 1.0, Some((3.6e6, 3.6e6))),
            (r#"{"first_failure_at": "2026-05-04T08:00:00Z"}"#, MET, 1.0, Some((7.2e6, 3.6e6))),
        ],
    },
];
