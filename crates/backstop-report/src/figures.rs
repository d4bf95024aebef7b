//! Figures of a run as people read them at a glance: short, and always with their limit.

use std::time::Duration;

use backstop_core::condition::{Condition, Measure};
use backstop_core::engine::Engine;
use backstop_core::policy::Rule;
use backstop_core::state::Statistics;
use backstop_core::time::Timestamp;
use backstop_core::verdict::Verdict;

use crate::text::harmless;

/// A duration with its two largest parts: `2h 5m`, `41m 10s`, `3.2s`, `12ms`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let two = |large: u64, unit: char, small: u64, below: char| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit} {small}{below}"),
    };
    match seconds {
        0 => format!("{}ms", duration.as_millis()),
        1..10 => decimal(duration.as_secs_f64(), "s"),
        10..60 => format!("{seconds}s"),
        60..HOUR => two(seconds / 60, 'm', seconds % 60, 's'),
        HOUR..DAY => two(seconds / HOUR, 'h', seconds % HOUR / 60, 'm'),
        _ => two(seconds / DAY, 'd', seconds % DAY / HOUR, 'h'),
    }
}

/// How long ago something was, with its largest part: `5m ago`.
pub fn age(then: Timestamp, now: Timestamp) -> String {
    let text = duration(Duration::from_secs(now.since(then).as_secs()));
    match text.split_once(' ') {
        Some((largest, _)) => format!("{largest} ago"),
        None if text == "0ms" => "now".to_owned(),
        None => format!("{text} ago"),
    }
}

/// A large count in three digits or so: `950`, `12.5k`, `1.9M`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn rounded(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => decimal(count as f64 / 1e3, "k"),
        999_500..999_500_000 => decimal(count as f64 / 1e6, "M"),
        _ => decimal(count as f64 / 1e9, "G"),
    }
}

/// One decimal below a hundred, none above; never one that is 0.
fn decimal(number: f64, unit: &str) -> String {
    let text = if number < 99.95 { format!("{number:.1}") } else { format!("{number:.0}") };
    format!("{}{unit}", text.trim_end_matches(".0"))
}

/// What a run has cost, as far as that is known; none where nobody told of any.
pub fn money(numbers: &Statistics) -> Option<String> {
    let known = dollars(numbers.cost_usd);
    match (numbers.cost_known, numbers.cost_usd > 0.0) {
        (true, _) => Some(known),
        (false, true) => Some(format!("at least {known}")),
        (false, false) => None,
    }
}

/// Money; whole dollars without cents, very small sums with more places.
pub fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 {
        format!("${amount:.4}")
    } else {
        let text = format!("${amount:.2}");
        text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
    }
}

/// A share as a percentage with at most one decimal.
pub fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{}%", text.trim_end_matches(".0"))
}

/// `1 iteration`, `12 iterations`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Bytes: `12 kB`, `3.4 MB`.
pub fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        _ => {
            let text = rounded(count);
            let (number, unit) = text.split_at(text.len() - 1);
            format!("{number} {unit}B")
        }
    }
}

/// A program with its arguments, as a shell would take it.
pub fn command_line(command: &[String]) -> String {
    let plain = |character: char| {
        character.is_alphanumeric() || matches!(character, '-' | '_' | '.' | '/' | '=' | ':' | ',')
    };
    let quoted = |argument: &String| match argument.chars().all(plain) && !argument.is_empty() {
        true => argument.clone(),
        false => format!("'{}'", argument.replace('\'', "'\\''")),
    };
    command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// What a rule waits for, in a few words: `100 iterations`, `all tests pass`.
pub fn wanted(condition: &Condition) -> String {
    let words = condition.describe();
    let words = ["after ", "when "]
        .iter()
        .find_map(|lead| words.strip_prefix(lead))
        .unwrap_or(&words)
        .replace(" of active time", "");
    words.strip_suffix(".00").map_or(words.clone(), str::to_owned)
}

/// Whether a rule, when it fires, ends or holds the run other than by success.
pub fn is_limit(rule: &Rule) -> bool {
    let interferes = rule.then.severity() >= Verdict::Hold.severity();
    interferes && rule.then != Verdict::Complete && !rule.shadow
}

/// The lowest limit of a kind that the run has.
pub fn limit(engine: &Engine, is_meant: fn(&Condition) -> bool) -> Option<f64> {
    let rules = engine.policy().all_rules().enumerate().filter(|(_, rule)| is_limit(rule));
    let meant = rules.filter(|(index, _)| is_meant(engine.condition(*index)));
    meant.filter_map(|(index, _)| engine.measure(index).threshold).min_by(f64::total_cmp)
}

/// A limit and how far the run is on its way to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    pub progress: f64,
    /// `41m of 8h`.
    pub words: String,
}

/// The limits that have figures, nearest first. `later`: active time since the last decision.
pub fn gauges(engine: &Engine, later: Duration) -> Vec<Gauge> {
    let rules = engine.policy().all_rules().enumerate();
    let mut gauges: Vec<_> = rules
        .filter(|(_, rule)| is_limit(rule))
        .filter_map(|(index, rule)| gauge(engine, index, rule, later))
        .collect();
    gauges.sort_by(|one, other| other.progress.total_cmp(&one.progress));
    gauges
}

fn gauge(engine: &Engine, index: usize, rule: &Rule, later: Duration) -> Option<Gauge> {
    let condition = engine.condition(index);
    let measure = moved_on(condition, engine.measure(index), later);
    let words = match (measure.value, measure.threshold) {
        (Some(value), Some(threshold)) => of_limit(condition, value, threshold),
        _ if measure.progress > 0.0 => {
            let name = harmless(rule.name()).replace(['_', '-'], " ");
            format!("{name} {}", percent(measure.progress))
        }
        _ => return None,
    };
    Some(Gauge { progress: measure.progress, words })
}

/// What a condition that moves with time would find now.
fn moved_on(condition: &Condition, measure: Measure, later: Duration) -> Measure {
    match (condition, measure.value, measure.threshold) {
        (Condition::MaxDuration(_) | Condition::Stagnation(_), Some(value), Some(threshold)) => {
            let value = value + later.as_secs_f64() * 1e3;
            Measure::figures(value >= threshold, value, threshold)
        }
        _ => measure,
    }
}

/// What a condition measures, beside its limit: `$4.12 of $20`, `2 of 3 errors`.
pub fn of_limit(condition: &Condition, value: f64, threshold: f64) -> String {
    let (form, what): (fn(f64) -> String, &str) = match condition {
        Condition::MaxDuration(_) => (period, ""),
        Condition::MaxCost(_) => (dollars, ""),
        Condition::MaxIterations(_) => (count, "iterations"),
        Condition::MaxTokens(_) => (count, "tokens"),
        Condition::MaxAttempts(_) => (count, "attempts"),
        Condition::Quota(_) => (percent, "quota"),
        Condition::ConsecutiveErrors(_) => (count, "errors"),
        Condition::ConsecutiveFails(_) => (count, "fails"),
        Condition::RejectRate(_) => (percent, "rejects"),
        Condition::RetryRate(_) => (percent, "retries"),
        Condition::ContextUsage(_) => (percent, "context"),
        Condition::ErrorRate(_) => (percent, "errors"),
        Condition::TestFailureStreak(_) => (count, "failing test runs"),
        Condition::NoProgress(_) => (count, "without progress"),
        Condition::Stagnation(_) => (period, "without progress"),
        Condition::JobAttempts(_) | Condition::TotalAttempts(_) => (count, "re-runs"),
        Condition::NoSignalChange(_) => (count, "same failures"),
        Condition::Cooldown(_) => (period, "cool-down"),
        Condition::Unresolved(_) => (period, "unresolved"),
        Condition::TopicDrift(_) => (percent, "drift"),
        Condition::Health(_) => (percent, "health"),
        Condition::DiminishingReturns(_) => (percent, "improvement"),
        _ => (plain, ""),
    };
    format!("{} of {} {what}", form(value), form(threshold)).trim_end().to_owned()
}

/// A count that came as a figure.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are not negative, and `as` holds large ones at the border"
)]
pub fn count(figure: f64) -> String {
    rounded(figure.round() as u64)
}

fn period(milliseconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(milliseconds / 1e3).unwrap_or(Duration::MAX);
    // Fractions of a second would only flicker.
    match whole.as_secs() {
        0 => "0s".to_owned(),
        seconds => duration(Duration::from_secs(seconds)),
    }
}

fn plain(figure: f64) -> String {
    decimal(figure, "")
}

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_parts_at_most() {
        let text = |milliseconds| duration(Duration::from_millis(milliseconds));
        assert_eq!(text(12), "12ms");
        assert_eq!(text(3_240), "3.2s");
        assert_eq!(text(9_000), "9s");
        assert_eq!(text(41_900), "41s");
        assert_eq!(text(250_000), "4m 10s");
        assert_eq!(text(7_500_000), "2h 5m");
        assert_eq!(text(28_800_000), "8h");
        assert_eq!(text(90_000_000), "1d 1h");
    }

    #[test]
    fn large_counts_are_short() {
        assert_eq!(rounded(999), "999");
        assert_eq!(rounded(12_480), "12.5k");
        assert_eq!(rounded(999_499), "999k");
        assert_eq!(rounded(999_500), "1M");
        assert_eq!(rounded(1_900_000), "1.9M");
        assert_eq!(rounded(u64::MAX), "18446744074G");
        assert_eq!(bytes(12), "12 B");
        assert_eq!(bytes(3_400_000), "3.4 MB");
    }

    #[test]
    fn money_and_shares_have_no_needless_places() {
        assert_eq!(dollars(20.0), "$20");
        assert_eq!(dollars(4.1), "$4.10");
        assert_eq!(dollars(0.0031), "$0.0031");
        assert_eq!(percent(0.375), "37.5%");
        assert_eq!(percent(0.3), "30%");
    }

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let command = ["sh", "-c", "echo 'a b'", ""].map(str::to_owned);
        assert_eq!(command_line(&command), r"sh -c 'echo '\''a b'\''' ''");
    }

    #[test]
    fn ages_have_one_part() {
        let now = Timestamp::from_nanos(100_000_000_000_000);
        let before = |seconds| age(now.minus(Duration::from_secs(seconds)), now);
        assert_eq!(before(0), "now");
        assert_eq!(before(59), "59s ago");
        assert_eq!(before(3_700), "1h ago");
    }
}
