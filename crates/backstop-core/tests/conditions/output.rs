//! What the command prints.

use super::{Case, MET, NOT};

pub(super) const OUTPUT: &[Case] = &[
    Case {
        when: r#"{ type = "output_pattern", pattern = "DONE" }"#,
        says: "when output contains 'DONE'",
        priority: 50,
        reason: "condition_met",
        looks: &[
            (r#"{}"#, NOT, 0.0, None),
            (r#"{"recent_output": "all done"}"#, NOT, 0.0, None),
            (r#"{"recent_output": "a\nDONE\n"}"#, MET, 1.0, None),
            (r#"{"matched": ["DONE"]}"#, MET, 1.0, None),
            (r#"{"matched": ["D"]}"#, NOT, 0.0, None),
        ],
    },
    Case {
        when: r#"{ type = "output_pattern", pattern = "D.NE$", is_regex = true, in = "result" }"#,
        says: "when the agent's result matches 'D.NE$'",
        priority: 50,
        reason: "condition_met",
        looks: &[
            (r#"{"recent_output": "D.NE$ and more"}"#, NOT, 0.0, None),
            (r#"{"recent_output": "it is DUNE"}"#, MET, 1.0, None),
        ],
    },
    Case {
        when: r#"{ type = "output_pattern", pattern = "x", in = "assistant", since = "run" }"#,
        says: "when what the agent says contains 'x'",
        priority: 50,
        reason: "condition_met",
        looks: &[(r#"{"recent_output": "x"}"#, MET, 1.0, None)],
    },
    Case {
        when: r#"{ type = "expr", cel = "iterations > 3 && units.approved == 0" }"#,
        says: "when 'iterations > 3 && units.approved == 0' holds",
        priority: 30,
        reason: "condition_met",
        looks: &[
            (r#"{"iterations": 3}"#, NOT, 0.0, None),
            (r#"{"iterations": 4}"#, MET, 1.0, None),
            (r#"{"iterations": 4, "units": {"approved": 1}}"#, NOT, 0.0, None),
        ],
    },
];
