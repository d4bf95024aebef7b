//! CEL expressions over a run's facts: compiled once when a policy is loaded, then asked many times.
//!
//! The `cel` crate supplies the grammar, the parser and the syntax tree. The tree is checked and
//! lowered to a small tree of our own, and that one is evaluated here rather than by the crate:
//! its interpreter has no bound on time or memory, answers "no" where types do not fit, refuses
//! `cost_usd * 2`, and compiles a pattern on each match. An expression decides whether a run stops,
//! so what cannot be told must be *unknown*, and the answer must always come.

mod arithmetic;
mod evaluate;
mod fact;
mod failure;
mod lower;
mod names;
mod node;
mod parse;
mod scan;
mod value;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub use fact::{FactSource, FactValue};
pub use names::FACT_NAMES;

use node::Node;

/// A compiled expression. Cheap to clone; equal to another if the source is the same.
#[derive(Clone)]
pub struct Expression {
    compiled: Arc<Compiled>,
}

impl Expression {
    /// Parses and checks `source`, and refuses what can never work or could take too long.
    pub fn compile(source: &str) -> Result<Self, ExpressionError> {
        scan::check(source)?;
        let parsed = parse::parse(source)?;
        let (root, variables) = lower::lower(source, &parsed)?;
        Ok(Self { compiled: Arc::new(Compiled { source: source.to_owned(), root, variables }) })
    }

    /// The text that was compiled.
    pub fn source(&self) -> &str {
        &self.compiled.source
    }

    /// The facts that the expression reads, each once, in the order of their first mention.
    pub fn variables(&self) -> &[&'static str] {
        &self.compiled.variables
    }

    /// Whether the answer can change by the passing of time alone.
    pub fn reads_time(&self) -> bool {
        self.variables().iter().any(|name| names::TIME_FACTS.contains(name))
    }

    /// The answer, or why there is none, in one line. `Err` means *unknown*, never "no".
    pub fn evaluate(&self, facts: &dyn FactSource) -> Result<bool, String> {
        evaluate::evaluate(&self.compiled.root, &self.compiled.variables, facts)
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.source() == other.source()
    }
}

impl Eq for Expression {}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Expression").field(&self.source()).finish()
    }
}

/// Why a source is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// What is wrong: lower case, no full stop, the user's words in backticks.
    pub message: String,
    /// Byte offsets inside the source; always on character boundaries.
    pub span: Option<Range<usize>>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ExpressionError {
    fn new(message: impl Into<String>, span: impl Into<Option<Range<usize>>>) -> Self {
        Self { message: message.into(), span: span.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn nearest(self, nearest: Option<&str>) -> Self {
        match nearest {
            Some(name) => self.hint(format!("did you mean `{name}`?")),
            None => self,
        }
    }
}

struct Compiled {
    source: String,
    root: Node,
    variables: Vec<&'static str>,
}
