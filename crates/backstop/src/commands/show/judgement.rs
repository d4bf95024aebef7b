//! How a run is judged: its health with all parts, its tasks, cycles, drift and review.

use backstop_core::event::{Phase, ReviewOutcome, Tasks};
use backstop_core::facts::{Facts, Health, View};
use backstop_runner::view::health;

use crate::report::{counted, hanging, percent};
use crate::sanitise::harmless;

/// A line for each thing that there is to say.
pub fn show(view: &View<'_>) -> String {
    let facts = view.facts;
    let mut text = String::from("\njudged\n");
    let mut line = |name: &str, words: &str| {
        text.push_str(&hanging(&format!("  {name:<8} "), &harmless(words)));
    };
    line("health", &health_words(&health(view)));
    if let Some(tasks) = facts.tasks() {
        line("tasks", &task_words(tasks));
    }
    let (cycles, improvement) = facts.cycles();
    if cycles > 0 {
        let gain = improvement.map(|gain| format!(", the last improved {}", percent(gain)));
        line("cycles", &format!("{cycles}{}", gain.unwrap_or_default()));
    }
    if let Some(drift) = facts.drift() {
        line("drift", &percent(drift));
    }
    if let Some(outcome) = facts.review_outcome() {
        line("review", &review_words(outcome, facts));
    }
    text
}

/// `85% = tokens left 50% x 0.30 + …`.
fn health_words(health: &Health) -> String {
    let parts = health.parts().map(|part| {
        let name = part.name.replace('_', " ");
        format!("{name} {} x {:.2}", percent(part.value), part.weight)
    });
    format!("{} = {}", percent(health.score()), parts.join(" + "))
}

fn task_words(tasks: &Tasks) -> String {
    let mut words = format!("{} of {} done, {} queued", tasks.done, tasks.total, tasks.queued);
    if let Some(open) = tasks.improvements {
        words.push_str(&format!(", {} open", counted(open, "improvement", "improvements")));
    }
    if tasks.phase == Phase::Improvement {
        words.push_str(", in the improvement phase");
    }
    words
}

fn review_words(outcome: ReviewOutcome, facts: &Facts) -> String {
    let words = match outcome {
        ReviewOutcome::Approved => "approved",
        ReviewOutcome::ChangesRequested => "changes requested",
        ReviewOutcome::Rejected => "rejected",
    };
    match facts.review_requests() {
        [] => words.to_owned(),
        requests => format!("{words}: {}", requests.join("; ")),
    }
}
