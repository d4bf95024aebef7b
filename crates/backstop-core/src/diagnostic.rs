//! What is wrong with a document, and where: errors that refuse it and lints that only warn.

use std::ops::Range;

/// Byte offsets into the text of the document that a [`Diagnostic`] speaks of.
pub type Span = Range<usize>;

/// How much a [`Diagnostic`] matters. Ordered: errors first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The document is refused.
    Error,
    /// The document works, but will surprise.
    Lint,
}

/// One finding, pointing at the text that caused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// What is wrong: lower case, no full stop, the user's words in backticks.
    pub message: String,
    /// The text to underline; an empty span points at a position, `None` at the file as a whole.
    pub span: Option<Span>,
    /// What stands beside the underline: what to do, or why it is wrong.
    pub label: Option<String>,
    /// What to do, where that does not fit beside the underline.
    pub hint: Option<String>,
    /// Another place that matters, such as the first of two definitions.
    pub related: Option<(Span, String)>,
    /// The text may be a secret: its place is shown, it is not.
    pub is_concealed: bool,
}

impl Diagnostic {
    /// A finding that refuses the document.
    pub fn error(message: impl Into<String>, span: impl Into<Option<Span>>) -> Self {
        Self::new(Severity::Error, message.into(), span.into())
    }

    /// A finding that only warns.
    pub fn lint(message: impl Into<String>, span: impl Into<Option<Span>>) -> Self {
        Self::new(Severity::Lint, message.into(), span.into())
    }

    fn new(severity: Severity, message: String, span: Option<Span>) -> Self {
        Self {
            severity,
            message,
            span,
            label: None,
            hint: None,
            related: None,
            is_concealed: false,
        }
    }

    /// Sets the text beside the underline.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the advice below the excerpt.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Points at a second place.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related = Some((span, label.into()));
        self
    }

    /// Keeps the underlined text from being shown.
    #[must_use]
    pub fn concealed(mut self) -> Self {
        self.is_concealed = true;
        self
    }
}

/// The name closest to `name`, if one is close enough to have been meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate)
        })
        .filter(|(distance, candidate)| {
            // A third of the shorter word may be wrong.
            let shorter = candidate.chars().count().min(wanted.chars().count());
            *distance <= shorter.div_ceil(3)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
