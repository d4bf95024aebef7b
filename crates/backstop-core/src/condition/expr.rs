//! A condition in CEL over the facts.

use std::time::Duration;

use super::kind::Kind;
use super::measure::{Measure, Scene, Truth};
use super::output::value_span;
use super::words::quoted;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::Node;
use crate::expression::{Expression, ExpressionError};
use crate::facts::{View, Watch};
use crate::field::{Findings, Text, record};
use crate::reason::ReasonCode;
use crate::time::Wake;

record! {
    /// An expression over the facts is true.
    pub struct Expr {
        /// The expression, in CEL.
        required cel: Text,
        derived expression: Option<Expression>,
    }
}

impl Expr {
    fn answer(&self, scene: &Scene<'_>) -> Result<bool, String> {
        let Some(expression) = &self.expression else {
            return Err("the expression was not compiled".to_owned());
        };
        let view = View { facts: scene.facts, now: scene.now, limits: scene.limits };
        expression.evaluate(&view)
    }
}

impl Kind for Expr {
    const TYPE: &'static str = "expr";
    const EXAMPLE: &'static str =
        r#"{ type = "expr", cel = "cost_usd > 5.0 && tests.failed.size() > 0" }"#;
    const PRIORITY: i32 = 30;
    const WATCHES: Watch = Watch::ALL;
    const METER: bool = true;

    fn prepare(&mut self, node: &Node, findings: &mut Findings) {
        match Expression::compile(&self.cel.0) {
            Ok(expression) => self.expression = Some(expression),
            Err(error) => {
                let span = inside(value_span(node, "cel"), &error, &self.cel.0, findings);
                let finding = Diagnostic::error(error.message, span);
                findings.push(match error.hint {
                    Some(hint) => finding.label(hint),
                    None => finding,
                });
            }
        }
    }

    fn watches(&self) -> Watch {
        let Some(expression) = &self.expression else { return Watch::NONE };
        expression.variables().iter().fold(Watch::NONE, |all, name| all | View::watch(name))
    }

    fn describe(&self) -> String {
        format!("when {} holds", quoted(&self.cel.0))
    }

    fn measure(&self, scene: &Scene<'_>) -> Measure {
        self.answer(scene).map_or(Measure::unknown(), Measure::plain)
    }

    fn note(&self, scene: &Scene<'_>, measure: &Measure) -> String {
        let source = quoted(&self.cel.0);
        match (measure.truth, self.answer(scene)) {
            (Truth::Yes, _) => format!("{source} holds"),
            (_, Err(why)) => format!("{source} can't be told: {why}"),
            _ => format!("{source} does not hold"),
        }
    }

    fn reason(&self, _: &Scene<'_>) -> ReasonCode {
        ReasonCode::ConditionMet
    }

    fn wake(&self, scene: &Scene<'_>) -> Wake {
        match &self.expression {
            // What such an expression does with time can't be foreseen, so it is asked each second.
            Some(expression) if expression.reads_time() => {
                let second = Duration::from_secs(scene.now.active.as_secs());
                Wake::active(second.saturating_add(Duration::from_secs(1)))
            }
            _ => Wake::NEVER,
        }
    }
}

/// The place of an error inside the expression, where its text stands in the file as it is.
fn inside(literal: Span, error: &ExpressionError, source: &str, findings: &Findings) -> Span {
    let written = findings.text.get(literal.clone()).unwrap_or("");
    match (&error.span, written.find(source)) {
        (Some(span), Some(offset)) => {
            literal.start + offset + span.start..literal.start + offset + span.end
        }
        _ => literal,
    }
}
