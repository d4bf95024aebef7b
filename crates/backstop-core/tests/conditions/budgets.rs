//! What may be spent: iterations, time, tokens, money, attempts.

use super::{Case, MET, NOT};

pub(super) const BUDGETS: &[Case] = &[
    Case {
        when: r#"{ type = "max_iterations", count = 50 }"#,
        says: "after 50 iterations",
        priority: 80,
        reason: "max_iterations",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"iterations": 49}"#, NOT, 0.98, Some((49.0, 50.0))),
            (r#"{"iterations": 50}"#, MET, 1.0, Some((50.0, 50.0))),
            (r#"{"iterations": 51}"#, MET, 1.0, Some((51.0, 50.0))),
        ],
    },
    Case {
        when: r#"{ type = "max_iterations", count = 1 }"#,
        says: "after 1 iteration",
        priority: 80,
        reason: "max_iterations",
        looks: &[(r#"{"iterations": 18446744073709551615}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "max_duration", duration = "2h 30m" }"#,
        says: "after 2h 30m of active time",
        priority: 80,
        reason: "timeout",
        looks: &[
            (r#"{"active_ms": 4500000}"#, NOT, 0.5, None),
            (r#"{"active_ms": 8999999}"#, NOT, 0.999_999_9, None),
            (r#"{"active_ms": 9000000}"#, MET, 1.0, Some((9e6, 9e6))),
            (r#"{"active_ms": 9000001}"#, MET, 1.0, Some((9_000_001.0, 9e6))),
        ],
    },
    Case {
        when: r#"{ type = "max_tokens", count = 1000 }"#,
        says: "after 1,000 tokens",
        priority: 80,
        reason: "token_limit",
        looks: &[
            (r#"{"tokens": 999}"#, NOT, 0.999, None),
            (r#"{"tokens": 1000}"#, MET, 1.0, Some((1000.0, 1000.0))),
            (r#"{"tokens": 1001}"#, MET, 1.0, Some((1001.0, 1000.0))),
            (r#"{"tokens_by": {"cache_read": 5000}}"#, NOT, 0.0, None),
            (
                r#"{"tokens_by": {"input": 400, "output": 300, "cache_write": 300}}"#,
                MET,
                1.0,
                Some((1000.0, 1000.0)),
            ),
        ],
    },
    Case {
        when: r#"{ type = "max_tokens", count = 1000, cache_reads = true }"#,
        says: "after 1,000 tokens, cache reads included",
        priority: 80,
        reason: "token_limit",
        looks: &[
            (r#"{"tokens_by": {"input": 1, "cache_read": 998}}"#, NOT, 0.999, None),
            (r#"{"tokens_by": {"input": 1, "cache_read": 999}}"#, MET, 1.0, Some((1e3, 1e3))),
        ],
    },
    Case {
        when: r#"{ type = "max_cost", usd = 20.0 }"#,
        says: "after $20.00",
        priority: 80,
        reason: "cost_limit",
        looks: &[
            (r#"{"cost_usd": 5}"#, NOT, 0.25, None),
            (r#"{"cost_usd": 19.999999999}"#, NOT, 1.0, None),
            (r#"{"cost_usd": 20}"#, MET, 1.0, Some((20.0, 20.0))),
            (r#"{"cost_usd": 20.000000001}"#, MET, 1.0, Some((20.000_000_001, 20.0))),
        ],
    },
    Case {
        when: r#"{ type = "quota", window = "5h", at_least = 0.8 }"#,
        says: "when the usage window '5h' is at least 80% full",
        priority: 80,
        reason: "rate_limited",
        looks: &[
            (r#"{"quota": {"weekly": 1.0}}"#, NOT, 0.0, None),
            (r#"{"quota": {"5h": 0.79}}"#, NOT, 0.9875, None),
            (r#"{"quota": {"5h": 0.8}}"#, MET, 1.0, Some((0.8, 0.8))),
            (r#"{"quota": {"5h": 0.81}}"#, MET, 1.0, Some((0.81, 0.8))),
        ],
    },
    Case {
        when: r#"{ type = "context_usage", at_least = 0.95 }"#,
        says: "when the context window is at least 95% full",
        priority: 74,
        reason: "context_overflow",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"context": {"used": 5, "limit": 0}}"#, NOT, 0.0, None),
            (r#"{"context": {"used": 949, "limit": 1000}}"#, NOT, 0.949 / 0.95, None),
            (r#"{"context": {"used": 950, "limit": 1000}}"#, MET, 1.0, Some((0.95, 0.95))),
            (r#"{"context": {"used": 951, "limit": 1000}}"#, MET, 1.0, Some((0.951, 0.95))),
        ],
    },
    Case {
        when: r#"{ type = "wall_clock", at = "2026-05-04T10:00:00Z" }"#,
        says: "at 2026-05-04T10:00:00Z",
        priority: 80,
        reason: "condition_met",
        looks: &[(r#"{}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "wall_clock", at = "2026-05-04T10:00:00.000000001Z" }"#,
        says: "at 2026-05-04T10:00:00.000000001Z",
        priority: 80,
        reason: "condition_met",
        looks: &[(r#"{}"#, NOT, 0.0, None)],
    },
    // A time of day is the next one after the run began, which its active time tells.
    Case {
        when: r#"{ type = "wall_clock", at = "09:59" }"#,
        says: "at 09:59",
        priority: 80,
        reason: "condition_met",
        looks: &[
            (r#"{"active_ms": 59999}"#, NOT, 0.0, None),
            (r#"{"active_ms": 60000}"#, MET, 1.0, None),
            (r#"{"active_ms": 60001}"#, MET, 1.0, None),
        ],
    },
];
