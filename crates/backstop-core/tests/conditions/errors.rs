//! Errors and bad exits.

use super::{Case, MET, NOT};

pub(super) const ERRORS: &[Case] = &[
    Case {
        when: r#"{ type = "on_error" }"#,
        says: "when an error occurs",
        priority: 100,
        reason: "error",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"error_now": true}"#, MET, 1.0, None),
            (r#"{"last_error": {"message": "boom"}}"#, MET, 1.0, None),
            (r#"{"last_error": {"message": "boom"}, "error_now": false}"#, NOT, 0.0, None),
        ],
    },
    Case {
        when: r#"{ type = "on_error", pattern = "quota" }"#,
        says: "when an error contains 'quota'",
        priority: 100,
        reason: "error",
        looks: &[
            (r#"{"last_error": {"message": "disk quota exceeded"}}"#, MET, 1.0, None),
            (r#"{"last_error": {"message": "disk Quota exceeded"}}"#, NOT, 0.0, None),
            (r#"{"error_now": true}"#, NOT, 0.0, None),
        ],
    },
    Case {
        when: r#"{ type = "exit_code", any_of = [3, 1, 3] }"#,
        says: "when the command exits with 1 or 3",
        priority: 87,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"exit_code": 2}"#, NOT, 0.0, None),
            (r#"{"exit_code": 3}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "exit_code", any_of = [] }"#,
        says: "never (no exit code is named)",
        priority: 87,
        reason: "condition_met",
        looks: &[(r#"{"exit_code": 0}"#, NOT, 0.0, None)],
    },
    Case {
        when: r#"{ type = "consecutive_errors", count = 3 }"#,
        says: "after 3 errors in a row",
        priority: 78,
        reason: "error",
        looks: &[
            (r#"{"consecutive_errors": 2}"#, NOT, 2.0 / 3.0, None),
            (r#"{"consecutive_errors": 3}"#, MET, 1.0, Some((3.0, 3.0))),
            (r#"{"consecutive_errors": 4}"#, MET, 1.0, Some((4.0, 3.0))),
        ],
    },
    Case {
        when: r#"{ type = "consecutive_errors", count = 3, category = "transient" }"#,
        says: "after 3 errors in a row, the latest transient",
        priority: 78,
        reason: "error",
        looks: &[
            (r#"{"consecutive_errors": 3}"#, NOT, 1.0, None),
            (
                r#"{"consecutive_errors": 3, "last_error": {"category": "recoverable"}}"#,
                NOT,
                1.0,
                None,
            ),
            (
                r#"{"consecutive_errors": 2, "last_error": {"category": "transient"}}"#,
                NOT,
                2.0 / 3.0,
                None,
            ),
            (
                r#"{"consecutive_errors": 3, "last_error": {"category": "transient"}}"#,
                MET,
                1.0,
                Some((3.0, 3.0)),
            ),
        ],
    },
    Case {
        when: r#"{ type = "consecutive_errors", count = 2, category = "critical" }"#,
        says: "after 2 errors in a row, the latest critical",
        priority: 78,
        reason: "critical_failure",
        looks: &[
            (
                r#"{"consecutive_errors": 1, "last_error": {"category": "critical"}}"#,
                NOT,
                0.5,
                None,
            ),
            (
                r#"{"consecutive_errors": 2, "last_error": {"category": "critical"}}"#,
                MET,
                1.0,
                Some((2.0, 2.0)),
            ),
        ],
    },
    Case {
        when: r#"{ type = "error_rate", at_least = 0.2 }"#,
        says: "when at least 20% of 1 task or more end in error",
        priority: 73,
        reason: "error_rate",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"ended": 100, "errored": 19}"#, NOT, 0.95, None),
            (r#"{"ended": 100, "errored": 20}"#, MET, 1.0, Some((0.2, 0.2))),
            (r#"{"ended": 100, "errored": 21}"#, MET, 1.0, Some((0.21, 0.2))),
            (r#"{"error_rate": 0.2}"#, MET, 1.0, Some((0.2, 0.2))),
            // Units decide where they are known.
            (
                r#"{"units": {"approved": 8, "failed": 1, "rejected": 1}}"#,
                MET,
                1.0,
                Some((0.2, 0.2)),
            ),
        ],
    },
    Case {
        when: r#"{ type = "error_rate", at_least = 0.2, min_tasks = 5 }"#,
        says: "when at least 20% of 5 tasks or more end in error",
        priority: 73,
        reason: "error_rate",
        looks: &[
            (r#"{"ended": 4, "errored": 4}"#, NOT, 1.0, None),
            (r#"{"ended": 5, "errored": 1}"#, MET, 1.0, Some((0.2, 0.2))),
        ],
    },
];
