//! What is wrong with a file, shown with the lines that it is about.

mod excerpt;

#[cfg(test)]
mod tests;

use crate::sanitise::harmless;
use annotate_snippets::renderer::{DEFAULT_LINE_NUM_STYLE, Style};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use backstop_core::diagnostic::{Diagnostic, Severity, Span};
use backstop_core::document::line_column;
use excerpt::Line;

/// The diagnostics one after the other, each with its excerpt of the file, blank lines between.
///
/// A span that does not fit the text is cut to it, and one over several lines shows its first. Of
/// very many only the first are shown: nobody reads more before mending those.
pub fn render(diagnostics: &[Diagnostic], file_name: &str, text: &str, colour: bool) -> String {
    let file_name = harmless(file_name);
    let mut reports: Vec<String> = diagnostics
        .iter()
        .take(MAX_SHOWN)
        .map(|diagnostic| report(diagnostic, &file_name, text, colour))
        .collect();
    if let Some(more) = diagnostics.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
        reports.push(format!("… and {more} more\n"));
    }
    reports.join("\n")
}

/// How many errors and warnings there are: `2 errors, 1 warning in backstop.toml`.
pub fn summary(diagnostics: &[Diagnostic], file_name: &str) -> String {
    let count = |severity| diagnostics.iter().filter(|found| found.severity == severity).count();
    let counts = [("error", count(Severity::Error)), ("warning", count(Severity::Lint))];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    let parts = if parts.is_empty() { "no errors".to_owned() } else { parts.join(", ") };
    format!("{parts} in {}", harmless(file_name))
}

fn report(diagnostic: &Diagnostic, file_name: &str, text: &str, colour: bool) -> String {
    let concealed = diagnostic.span.as_ref().filter(|_| diagnostic.is_concealed);
    let concealed = concealed.map(|span| conceal(text, span));
    let text = concealed.as_deref().unwrap_or(text);
    let (renderer, arrow_style) = if colour {
        (Renderer::styled(), DEFAULT_LINE_NUM_STYLE)
    } else {
        (Renderer::plain(), Style::new())
    };
    // Lines come cut to size.
    let renderer = renderer.term_width(usize::from(u16::MAX));
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Lint => Level::WARNING,
    };
    let group = Group::with_title(level.primary_title(harmless(&diagnostic.message)));
    let help = diagnostic.hint.as_ref().map(|hint| Level::HELP.message(harmless(hint)));
    let Some(span) = &diagnostic.span else {
        let group = group.element(Origin::path(file_name)).elements(help);
        return renderer.render(&[group]) + "\n";
    };

    let primary = Mark::new(AnnotationKind::Primary, text, span, diagnostic.label.as_deref());
    let related = diagnostic
        .related
        .as_ref()
        .map(|(span, label)| Mark::new(AnnotationKind::Context, text, span, Some(label)));
    let together = related.as_ref().is_none_or(|related| primary.is_near(related, text));
    let place = primary.place(file_name);
    let (marks, elsewhere) = match related {
        None => (vec![primary], None),
        Some(related) if together => (vec![primary, related], None),
        Some(related) => {
            let note = format!("{}: {}", related.label, related.place(file_name));
            (vec![primary], Some(Level::NOTE.message(note)))
        }
    };
    let digits = gutter(&marks) - GUTTER;
    let group = group.element(snippet(text, marks)).elements(elsewhere).elements(help);
    let mut rendered = renderer.render(&[group]);
    // Columns that the renderer counted would be those of the cut line, so the place is added here.
    let arrow = format!("\n{:digits$}{arrow_style}--> {arrow_style:#}{place}", "");
    let title_end = rendered.find('\n').unwrap_or(rendered.len());
    rendered.insert_str(title_end, &arrow);
    rendered + "\n"
}

/// The text with stars in place of a secret, byte for byte, so that places stay what they are.
fn conceal(text: &str, span: &Span) -> String {
    let span = excerpt::fit(text, span);
    let stars = text[span.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { '*' });
    format!("{}{}{}", &text[..span.start], stars.collect::<String>(), &text[span.end..])
}

/// A place to underline.
struct Mark {
    kind: AnnotationKind,
    span: Span,
    label: String,
    line: usize,
    column: usize,
}

impl Mark {
    fn new(kind: AnnotationKind, text: &str, span: &Span, label: Option<&str>) -> Self {
        let span = excerpt::fit(text, span);
        let (line, column) = line_column(text, span.start);
        Self { kind, span, label: label.map(harmless).unwrap_or_default(), line, column }
    }

    /// Whether one excerpt can show both.
    fn is_near(&self, other: &Self, text: &str) -> bool {
        if self.line == other.line {
            let gutter = GUTTER + decimal_digits(self.line);
            Line::around(text, &self.span, &self.label, gutter).shows(&other.span)
        } else {
            self.line.abs_diff(other.line) <= MAX_LINES_BETWEEN
        }
    }

    fn place(&self, file_name: &str) -> String {
        format!("{file_name}:{}:{}", self.line, self.column)
    }
}

/// The lines with the marks, and a few or folded lines between them.
fn snippet<'a>(text: &str, mut marks: Vec<Mark>) -> Snippet<'a, Annotation<'a>> {
    // Stable, so that on one line the primary mark decides what is shown.
    marks.sort_by_key(|mark| mark.line);
    let gutter = gutter(&marks);
    let first_line = marks.first().map_or(1, |mark| mark.line);
    let mut source = String::new();
    let mut annotations = Vec::new();
    let mut shown: Option<(usize, Line, usize)> = None;
    for mark in marks {
        let (line, start) = match shown.take() {
            Some((number, line, start)) if number == mark.line => (line, start),
            previous => {
                if let Some((number, line, _)) = previous {
                    fill(text, &mut source, &line, mark.line - number, gutter);
                }
                let line = Line::around(text, &mark.span, &mark.label, gutter);
                let start = source.len();
                source.push_str(&line.shown);
                (line, start)
            }
        };
        let span = line.place(&mark.span);
        let annotation = mark.kind.span(start + span.start..start + span.end);
        let label = Some(mark.label).filter(|label| !label.is_empty());
        annotations.push(annotation.label(label));
        shown = Some((mark.line, line, start));
    }
    Snippet::source(source).line_start(first_line).annotations(annotations)
}

/// Adds the lines after `line` up to the one that is `distance` lines below it.
///
/// A few of them will be shown; many will be folded, so that only their number matters.
fn fill(text: &str, source: &mut String, line: &Line, distance: usize, gutter: usize) {
    source.push('\n');
    let mut rest = text[line.end..].split('\n').skip(1);
    for _ in 1..distance {
        if distance <= MAX_LINES_SHOWN_BETWEEN {
            let between = rest.next().unwrap_or_default();
            source.push_str(&Line::around(between, &(0..0), "", gutter).shown);
        }
        source.push('\n');
    }
}

/// The columns that line number and bar take.
fn gutter(marks: &[Mark]) -> usize {
    let last_line = marks.iter().map(|mark| mark.line).max().unwrap_or(1);
    GUTTER + decimal_digits(last_line)
}

fn decimal_digits(number: usize) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The blank, bar and blank between a line number and the line.
const GUTTER: usize = 3;

const MAX_SHOWN: usize = 100;
const MAX_LINES_BETWEEN: usize = 1_000;
const MAX_LINES_SHOWN_BETWEEN: usize = 10;
