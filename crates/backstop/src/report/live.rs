//! The live block: what the run does now, and how near its nearest limits are.

use std::time::Duration;

use backstop_core::event::TestCounts;
use backstop_core::state::{RunState, RunStatus};
use backstop_runner::report::{Phase, Status};
use owo_colors::Style;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::figures::{Gauge, duration, gauges, money, painted, rounded};
use super::table::cut;
use crate::sanitise::harmless;

/// One or two lines that fit the columns.
pub fn block(status: &Status<'_>, columns: usize, colour: bool) -> Vec<String> {
    let now = status.now.active;
    let later = now.saturating_sub(status.engine.view().now.active);
    let mut lines = asked(&status.phase, columns, colour);
    lines.push(headline(status, columns, colour));
    lines.extend(bars(&gauges(status.engine, later), columns, colour));
    lines
}

/// The question, and what can be answered, or the note as far as it is typed.
fn asked(phase: &Phase, columns: usize, colour: bool) -> Vec<String> {
    let Phase::Asking { prompt, left, then } = phase else { return Vec::new() };
    let question = cut(&format!("? {}", harmless(&prompt.question)), columns);
    let offers = match prompt.note() {
        // The end of a long note is what is being typed.
        Some(note) => {
            let lead = "  note: ";
            format!("{lead}{}_", tail(&harmless(&note), columns.saturating_sub(lead.len() + 2)))
        }
        None => {
            let choices: Vec<_> = prompt.matter.choices().iter().map(|one| one.offer()).collect();
            let left = left.map(|left| format!("   {} left, then it {then}", countdown(left)));
            format!("  {}{}", choices.join("   "), left.unwrap_or_default())
        }
    };
    vec![painted(&question, Style::new().yellow().bold(), colour), cut(&offers, columns)]
}

fn tail(text: &str, columns: usize) -> String {
    let mut start = text.len();
    let mut width = 0;
    for (place, character) in text.char_indices().rev() {
        width += character.width().unwrap_or(0);
        if width > columns {
            break;
        }
        start = place;
    }
    text[start..].to_owned()
}

/// ` iteration 7 · 41m · $4.12 · 1.9M tokens · tests 214/215`; what does not fit is left out.
fn headline(status: &Status<'_>, columns: usize, colour: bool) -> String {
    let state = RunState::going_on(status.run, RunStatus::Running, status.engine);
    let numbers = &state.statistics;
    let elapsed = duration(Duration::from_secs(status.now.active.as_secs()));
    let elapsed = if elapsed == "0ms" { "0s".to_owned() } else { elapsed };
    let mut parts = vec![format!("iteration {}", status.iteration)];
    parts.extend(doing(&status.phase));
    parts.push(elapsed);
    parts.extend(money(numbers));
    parts.extend((numbers.tokens > 0).then(|| format!("{} tokens", rounded(numbers.tokens))));
    if numbers.total_units > 0 {
        let ended = numbers.total_units - numbers.units_remaining;
        parts.push(format!("units {ended}/{}", numbers.total_units));
    }
    parts.extend(status.engine.facts().test_counts().map(tests));
    let mut line = String::new();
    for part in parts {
        let gap = if line.is_empty() { " " } else { " · " };
        if line.width() + gap.width() + part.width() > columns && !line.is_empty() {
            break;
        }
        line.push_str(gap);
        line.push_str(&part);
    }
    painted(&cut(&line, columns), Style::new().bold(), colour)
}

fn tests(counts: TestCounts) -> String {
    format!("tests {}/{}", counts.passed, counts.passed.saturating_add(counts.failed))
}

/// What the run does, where it is not simply running.
fn doing(phase: &Phase) -> Option<String> {
    Some(match phase {
        Phase::Running => return None,
        Phase::Finishing { left } => format!("finishing, {} left", countdown(*left)),
        Phase::Ending { left } => format!("ending, SIGKILL in {}", countdown(*left)),
        Phase::Verifying => "verifying".to_owned(),
        Phase::Reviewing => "in review".to_owned(),
        Phase::Waiting { why, left: Some(left) } => {
            format!("waiting {} ({})", countdown(*left), harmless(why))
        }
        Phase::Waiting { why, left: None } => format!("waiting ({})", harmless(why)),
        Phase::Paused => "paused".to_owned(),
        Phase::Asking { .. } => "waiting for an answer".to_owned(),
    })
}

/// `4:31`, `1:02:03`.
pub fn countdown(left: Duration) -> String {
    // Rounded up, so that nothing is still to come at 0:00.
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Bars for as many of the nearest limits as fit, three at most.
fn bars(gauges: &[Gauge], columns: usize, colour: bool) -> Option<String> {
    // A limit that nothing has moved towards is shown only for want of others.
    let moving = gauges.iter().filter(|gauge| gauge.progress > 0.0).count();
    let shown = gauges.len().min(MOST_BARS).min(moving.max(FEWEST_BARS));
    for count in (1..=shown).rev() {
        let words: usize = gauges[..count].iter().map(|gauge| gauge.words.width()).sum();
        let gaps = count + (count - 1) * GAP.len() + count;
        let room = columns.saturating_sub(words + gaps) / count;
        if room >= SHORTEST_BAR {
            let length = room.min(LONGEST_BAR);
            let one = |gauge: &Gauge| {
                let style = match gauge.progress {
                    0.9.. => Style::new().red(),
                    0.75.. => Style::new().yellow(),
                    _ => Style::new().cyan(),
                };
                format!("{} {}", gauge.words, painted(&bar(gauge.progress, length), style, colour))
            };
            let line = gauges[..count].iter().map(one).collect::<Vec<_>>().join(GAP);
            return Some(format!(" {line}"));
        }
    }
    None
}

/// A bar to the eighth of a character. Only what is full looks full.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "progress lies between 0 and 1, and a bar has few columns"
)]
pub fn bar(progress: f64, length: usize) -> String {
    let eighths = (progress.clamp(0.0, 1.0) * (length * 8) as f64).floor() as usize;
    let (full, part) = (eighths / 8, eighths % 8);
    let mut bar = "█".repeat(full);
    if full < length {
        if part > 0 {
            bar.push(EIGHTHS[part - 1]);
        }
        bar.push_str(&"░".repeat(length - full - usize::from(part > 0)));
    }
    bar
}

const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const MOST_BARS: usize = 3;
const FEWEST_BARS: usize = 2;
const SHORTEST_BAR: usize = 5;
const LONGEST_BAR: usize = 16;
const GAP: &str = "   ";
