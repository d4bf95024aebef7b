//! Units of work and what became of them.

use super::{Case, MET, NOT};

pub(super) const UNITS: &[Case] = &[
    Case {
        when: r#"{ type = "max_attempts", count = 50 }"#,
        says: "after 50 attempts over all units",
        priority: 79,
        reason: "circuit_breaker",
        looks: &[
            (r#"{"attempts": 49}"#, NOT, 0.98, None),
            (r#"{"attempts": 50}"#, MET, 1.0, Some((50.0, 50.0))),
            (r#"{"attempts": 51}"#, MET, 1.0, Some((51.0, 50.0))),
        ],
    },
    Case {
        when: r#"{ type = "consecutive_fails", count = 3 }"#,
        says: "after 3 units failed in a row",
        priority: 77,
        reason: "consecutive_fails",
        looks: &[
            (r#"{"consecutive_fails": 2}"#, NOT, 2.0 / 3.0, None),
            (r#"{"consecutive_fails": 3}"#, MET, 1.0, Some((3.0, 3.0))),
            (r#"{"consecutive_fails": 4}"#, MET, 1.0, Some((4.0, 3.0))),
        ],
    },
    Case {
        when: r#"{ type = "reject_rate", above = 0.3 }"#,
        says: "when the reject rate exceeds 30%",
        priority: 76,
        reason: "reject_rate",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"units": {"approved": 71, "rejected": 20, "failed": 9}}"#, NOT, 29.0 / 30.0, None),
            // Exclusive: full at the threshold, but not met.
            (r#"{"units": {"approved": 70, "rejected": 20, "failed": 10}}"#, NOT, 1.0, None),
            (
                r#"{"units": {"approved": 69, "rejected": 20, "failed": 11}}"#,
                MET,
                1.0,
                Some((0.31, 0.3)),
            ),
            (r#"{"reject_rate": 0.3}"#, NOT, 1.0, None),
            (r#"{"reject_rate": 0.375}"#, MET, 1.0, Some((0.375, 0.3))),
        ],
    },
    Case {
        when: r#"{ type = "reject_rate", above = 0.3, min_units = 5 }"#,
        says: "when the reject rate exceeds 30% over at least 5 units",
        priority: 76,
        reason: "reject_rate",
        looks: &[
            (r#"{"units": {"rejected": 4}}"#, NOT, 1.0, None),
            (r#"{"units": {"rejected": 5}}"#, MET, 1.0, Some((1.0, 0.3))),
        ],
    },
    Case {
        when: r#"{ type = "reject_rate", above = 1.0 }"#,
        says: "when the reject rate exceeds 100%",
        priority: 76,
        reason: "reject_rate",
        looks: &[(r#"{"reject_rate": 1.0}"#, NOT, 1.0, None)],
    },
    Case {
        when: r#"{ type = "retry_rate", above = 0.5 }"#,
        says: "when the retry rate exceeds 50%",
        priority: 75,
        reason: "retry_rate",
        looks: &[
            (r#"{"retry_rate": 0.49}"#, NOT, 0.98, None),
            (r#"{"retry_rate": 0.5}"#, NOT, 1.0, None),
            (r#"{"retry_rate": 0.51}"#, MET, 1.0, Some((0.51, 0.5))),
        ],
    },
    Case {
        when: r#"{ type = "retry_rate", above = 0.5, min_units = 2 }"#,
        says: "when the retry rate exceeds 50% over at least 2 units",
        priority: 75,
        reason: "retry_rate",
        looks: &[
            (r#"{"retry_rate": 1.0, "units": {"approved": 1}}"#, NOT, 1.0, None),
            (r#"{"retry_rate": 1.0, "units": {"approved": 2}}"#, MET, 1.0, Some((1.0, 0.5))),
        ],
    },
];
