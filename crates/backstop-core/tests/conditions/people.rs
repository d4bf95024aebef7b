//! People who signal or review, guards, verifications and workers.

use super::{Case, MET, NOT};

pub(super) const PEOPLE: &[Case] = &[
    Case {
        when: r#"{ type = "guard_violated" }"#,
        says: "when a guard is violated",
        priority: 95,
        reason: "guard_violation",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"guards": ["scope"]}"#, MET, 1.0, None),
            (r#"{"guards": ["protected"]}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "guard_violated", kind = "lockfile" }"#,
        says: "when the lockfile guard is violated",
        priority: 95,
        reason: "lockfile_violation",
        looks: &[(r#"{"guards": ["lockfile"]}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "guard_violated", kind = "dirty" }"#,
        says: "when the dirty guard is violated",
        priority: 95,
        reason: "dirty_worktree",
        looks: &[(r#"{"guards": [{"kind": "dirty", "files": ["a"]}]}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "guard_violated", kind = "collision" }"#,
        says: "when the collision guard is violated",
        priority: 95,
        reason: "file_collision",
        looks: &[(r#"{"guards": ["collision"]}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "user_signal" }"#,
        says: "when a stop is asked for",
        priority: 90,
        reason: "user_stopped",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"signal": "pause"}"#, NOT, 0.0, None),
            (r#"{"signal": "resume"}"#, NOT, 0.0, None),
            (r#"{"signal": "stop"}"#, MET, 1.0, None),
            (r#"{"signal": "kill"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "worker", status = "blocked" }"#,
        says: "when the worker is blocked",
        priority: 88,
        reason: "worker_blocked",
        looks: &[(r#"{}"#, NOT, 0.0, None), (r#"{"worker": "blocked"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "worker", status = "failed" }"#,
        says: "when the worker fails for good",
        priority: 88,
        reason: "worker_failed",
        looks: &[
            (r#"{"worker": "rate_limited"}"#, NOT, 0.0, None),
            (r#"{"worker": "failed"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "worker", status = "timed_out" }"#,
        says: "when the worker times out",
        priority: 88,
        reason: "worker_timeout",
        looks: &[(r#"{"worker": "timed_out"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "worker", status = "rate_limited" }"#,
        says: "when the worker is rate limited",
        priority: 88,
        reason: "rate_limited",
        looks: &[(r#"{"worker": "rate_limited"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "verification", outcome = "passed" }"#,
        says: "when the verification has passed",
        priority: 60,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"verification": "failed"}"#, NOT, 0.0, None),
            (r#"{"verification": "passed"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "verification", outcome = "failed" }"#,
        says: "when the verification has failed",
        priority: 60,
        reason: "verification_failed",
        looks: &[(r#"{"verification": "failed"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "verification", outcome = "timed_out" }"#,
        says: "when the verification has timed out",
        priority: 60,
        reason: "verification_timeout",
        looks: &[(r#"{"verification": "timed_out"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "review", outcome = "rejected" }"#,
        says: "when the last review says rejected",
        priority: 59,
        reason: "review_rejected",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"review": {"outcome": "approved"}}"#, NOT, 0.0, None),
            (r#"{"review": {"outcome": "rejected"}}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "review", outcome = "approved" }"#,
        says: "when the last review says approved",
        priority: 59,
        reason: "condition_met",
        looks: &[(r#"{"review": {"outcome": "approved"}}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "review", outcome = "changes_requested", same_rounds = 3 }"#,
        says: "when 3 reviews in a row ask for the same (changes requested)",
        priority: 59,
        reason: "review_loop_detected",
        looks: &[
            (
                r#"{"review": {"outcome": "changes_requested", "same_rounds": 2}}"#,
                NOT,
                2.0 / 3.0,
                None,
            ),
            (r#"{"review": {"outcome": "approved", "same_rounds": 3}}"#, NOT, 1.0, None),
            (
                r#"{"review": {"outcome": "changes_requested", "same_rounds": 3}}"#,
                MET,
                1.0,
                Some((3.0, 3.0)),
            ),
        ],
    },
];
