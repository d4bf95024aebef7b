//! The documents inside of a TAP document, each told by a point around it.
//!
//! That point decides, as the specification advises, and is the case. But it may not hide that what
//! it stands for has failed: harnesses may count that as a failure, and here nothing is a success
//! that was not one all the way down.

use super::{Plan, Point};
use crate::report::Status;

/// The documents that are open, the outermost first.
#[derive(Default)]
pub(super) struct Subtests {
    open: Vec<Document>,
    /// How far a block that explains a point is indented, while it lasts.
    explained_at: Option<usize>,
}

#[derive(Default)]
struct Document {
    points: u64,
    planned: Option<u64>,
    /// What went wrong first.
    problem: Option<String>,
    /// The latest point, for a document that follows it in braces.
    latest: Option<bool>,
}

impl Subtests {
    /// Reads a line that is indented.
    pub fn line(&mut self, text: &str) {
        let inner = text.trim_start_matches(' ');
        let indent = text.len() - inner.len();
        if let Some(explained_at) = self.explained_at {
            if indent >= explained_at && inner != "..." {
                return;
            }
            self.explained_at = None;
        }
        if indent % STEP == STEP / 2 && inner == "---" {
            self.explained_at = Some(indent);
            return;
        }
        let depth = indent / STEP;
        if !indent.is_multiple_of(STEP) || depth == 0 || depth > DEEPEST {
            return;
        }
        if let Some(point) = Point::read(inner) {
            let hidden = self.close_below(depth);
            let document = self.document(depth);
            document.points = document.points.saturating_add(1);
            document.latest = Some(point.is_plainly_ok());
            if point.status() == Status::Failed {
                let problem = match point.name {
                    "" => format!("test {} failed in it", document.points),
                    name => format!("`{name}` failed in it"),
                };
                document.note(problem);
            } else if let Some(hidden) = hidden.filter(|_| point.is_plainly_ok()) {
                document.note(hidden);
            }
        } else if let Some(plan) = Plan::read(inner) {
            let planned = plan.last.saturating_add(1).saturating_sub(plan.first);
            self.document(depth).planned = Some(if plan.is_skipped { 0 } else { planned });
        } else if inner == "}" {
            let hidden = self.close_below(depth);
            let document = self.document(depth);
            if let Some(hidden) = hidden.filter(|_| document.latest == Some(true)) {
                document.note(hidden);
            }
        }
    }

    /// A point or a brace of the outermost document has come: what went wrong in the document that
    /// it ends, if it ends one.
    pub fn close(&mut self) -> Option<String> {
        self.explained_at = None;
        self.close_below(0)
    }

    fn close_below(&mut self, depth: usize) -> Option<String> {
        let mut closed = self.open.drain(depth.min(self.open.len())..);
        closed.next().and_then(Document::verdict)
    }

    fn document(&mut self, depth: usize) -> &mut Document {
        if self.open.len() < depth {
            self.open.resize_with(depth, Document::default);
        }
        &mut self.open[depth - 1]
    }
}

impl Document {
    fn note(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }

    fn verdict(self) -> Option<String> {
        let points = self.points;
        self.problem.or_else(|| {
            let planned = self.planned.filter(|planned| *planned != points)?;
            Some(format!("{planned} tests were planned in it, {points} ran"))
        })
    }
}

/// By how much a document inside of another is indented.
const STEP: usize = 4;
/// What is nested deeper is no document of anybody's.
const DEEPEST: usize = 32;
