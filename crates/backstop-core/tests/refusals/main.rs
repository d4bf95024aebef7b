//! What is refused when a policy is loaded, and what is only remarked on: every message.

mod conditions;
mod files;
mod lints;
mod names;
mod values;

use std::fmt::Write as _;

use backstop_core::diagnostic::Diagnostic;
use backstop_core::document::{Syntax, line_column};
use backstop_core::policy::Policy;

/// The findings as text: place, underlined text, message, label, hint, other place.
fn shown(text: &str, findings: &[Diagnostic]) -> String {
    let mut all = String::new();
    for finding in findings {
        if let Some(span) = &finding.span {
            let (line, column) = line_column(text, span.start);
            write!(all, "{line}:{column} ⟦{}⟧ ", &text[span.clone()]).expect("a string takes all");
        }
        all.push_str(&finding.message);
        let label = finding.label.iter().map(|label| (" · ", label.as_str()));
        let hint = finding.hint.iter().map(|hint| (" → ", hint.as_str()));
        for (mark, words) in label.chain(hint) {
            all.push_str(mark);
            all.push_str(words);
        }
        if let Some((span, words)) = &finding.related {
            let (line, column) = line_column(text, span.start);
            write!(all, " ({line}:{column} {words})").expect("a string takes all");
        }
        all.push('\n');
    }
    all
}

fn refused_as(text: &str, syntax: Syntax) -> String {
    let errors = Policy::load(text.as_bytes(), syntax).expect_err(text);
    shown(text, &errors)
}

fn refused(text: &str) -> String {
    refused_as(text, Syntax::Toml)
}

/// Each condition refused by itself, one after the other.
fn refused_conditions(conditions: &[&str]) -> String {
    conditions.iter().map(|when| refused(&rule(when))).collect()
}

fn rule(when: &str) -> String {
    format!("[[rule]]\nthen = \"stop\"\nwhen = {{ {when} }}\n")
}

fn remarked(text: &str) -> String {
    let text = format!("{text}[limits]\nunlimited = true\n");
    let loaded = Policy::load(text.as_bytes(), Syntax::Toml)
        .unwrap_or_else(|errors| panic!("{}", shown(&text, &errors)));
    shown(&text, &loaded.lints())
}
