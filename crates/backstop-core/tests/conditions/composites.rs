//! Conditions made of others.

use super::{Case, MET, NOT};

pub(super) const COMPOSITES: &[Case] = &[
    Case {
        when: r#"{ type = "all", conditions = [
            { type = "max_iterations", count = 4 }, { type = "max_attempts", count = 10 }] }"#,
        says: "when ALL: [after 4 iterations AND after 10 attempts over all units]",
        priority: 20,
        reason: "condition_met",
        looks: &[
            (r#"{"iterations": 2}"#, NOT, 0.25, None),
            (r#"{"iterations": 9, "attempts": 5}"#, NOT, 0.75, None),
            (r#"{"iterations": 4, "attempts": 10}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "any", conditions = [
            { type = "all_tests_pass" }, { type = "max_attempts", count = 10 },
            { type = "max_iterations", count = 4 }] }"#,
        says: "when ANY: [when all tests pass OR after 10 attempts over all units OR after 4 iterations]",
        priority: 20,
        reason: "max_iterations",
        looks: &[
            (r#"{"iterations": 2, "attempts": 2}"#, NOT, 0.5, None),
            (r#"{"iterations": 4, "attempts": 9}"#, MET, 1.0, Some((4.0, 4.0))),
        ],
    },
    Case {
        when: r#"{ type = "not", condition = { type = "max_iterations", count = 4 } }"#,
        says: "when NOT: [after 4 iterations]",
        priority: 10,
        reason: "condition_met",
        looks: &[
            (r#"{"iterations": 3}"#, MET, 1.0, None),
            (r#"{"iterations": 4}"#, NOT, 0.0, None),
        ],
    },
    Case {
        when: r#"{ type = "never" }"#,
        says: "never",
        priority: 0,
        reason: "condition_met",
        looks: &[(r#"{"iterations": 99}"#, NOT, 0.0, None)],
    },
];
