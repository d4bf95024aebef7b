//! Figures as people read them.

use std::time::Duration;

/// A rate as a percentage with at most two decimals: `30%`, `37.5%`.
pub(crate) fn percent(rate: f64) -> String {
    let rounded = format!("{:.2}", rate * 100.0);
    let trimmed = rounded.trim_end_matches('0').trim_end_matches('.');
    format!("{trimmed}%")
}

/// `1 iteration`, `50 iterations`; large numbers in groups of three.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A number in groups of three digits: `1,000,000`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn dollars(amount: f64) -> String {
    // Amounts below a cent would all read $0.00.
    if amount > 0.0 && amount < 0.01 { format!("${amount:.4}") } else { format!("${amount:.2}") }
}

/// A duration to the second; one below that, to the millisecond.
pub(crate) fn duration(duration: Duration) -> String {
    let whole = if duration < Duration::from_secs(1) {
        Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    } else {
        Duration::from_secs(duration.as_secs())
    };
    humantime::format_duration(whole).to_string()
}

/// A text in single quotes, cut where it would fill the line.
pub(crate) fn quoted(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST_QUOTE);
    if end < text.len() { format!("'{}…'", &text[..end]) } else { format!("'{text}'") }
}

const LONGEST_QUOTE: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(percent(0.375), "37.5%");
        assert_eq!(percent(0.3), "30%");
        assert_eq!(percent(1.0 / 3.0), "33.33%");
        assert_eq!(percent(0.0), "0%");
        assert_eq!(counted(1, "unit", "units"), "1 unit");
        assert_eq!(counted(1_234_567, "token", "tokens"), "1,234,567 tokens");
        assert_eq!(dollars(20.0), "$20.00");
        assert_eq!(dollars(0.0031), "$0.0031");
        assert_eq!(duration(Duration::from_millis(90_500)), "1m 30s");
        assert_eq!(duration(Duration::from_millis(250)), "250ms");
        assert_eq!(quoted("DONE"), "'DONE'");
        assert_eq!(quoted(&"é".repeat(60)).chars().count(), 33);
    }
}
