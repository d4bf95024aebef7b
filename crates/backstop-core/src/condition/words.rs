//! Figures as people read them.

use std::fmt::{Display, from_fn};
use std::time::Duration;

/// As much of a text of others as a sentence has room for.
pub(crate) fn first_line(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or("");
    &line[..line.floor_char_boundary(LONGEST_LINE)]
}

const LONGEST_LINE: usize = 200;

/// A rate as a percentage with at most two decimals: `30%`, `37.5%`.
pub(crate) fn percent(rate: f64) -> impl Display {
    from_fn(move |formatter| match hundredths(rate * 100.0) {
        Some(hundredths) => {
            let (whole, rest) = (hundredths / 100, hundredths % 100);
            match (rest, rest % 10) {
                (0, _) => write!(formatter, "{whole}%"),
                (_, 0) => write!(formatter, "{whole}.{}%", rest / 10),
                _ => write!(formatter, "{whole}.{rest:02}%"),
            }
        }
        None => {
            let rounded = format!("{:.2}", rate * 100.0);
            write!(formatter, "{}%", rounded.trim_end_matches('0').trim_end_matches('.'))
        }
    })
}

/// The nearest number of hundredths, where that can be told without the exact digits, which take
/// much longer: not near the middle between two, nor for what is negative, huge or no number.
fn hundredths(number: f64) -> Option<u32> {
    let scaled = number * 100.0;
    let is_clear = (0.0..1e9).contains(&scaled) && (scaled.fract() - 0.5).abs() > 1e-3;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between 0 and a billion"
    )]
    is_clear.then(|| scaled.round() as u32)
}

/// `1 iteration`, `50 iterations`; large numbers in groups of three.
pub(crate) fn counted<'a>(count: u64, one: &'a str, many: &'a str) -> impl Display + 'a {
    let named = if count == 1 { one } else { many };
    from_fn(move |formatter| write!(formatter, "{} {named}", grouped(count)))
}

/// A number in groups of three digits: `1,000,000`.
pub(crate) fn grouped(number: u64) -> impl Display {
    from_fn(move |formatter| {
        let mut unit = 1;
        while number / unit >= 1_000 {
            unit *= 1_000;
        }
        write!(formatter, "{}", number / unit)?;
        while unit > 1 {
            unit /= 1_000;
            write!(formatter, ",{:03}", number / unit % 1_000)?;
        }
        Ok(())
    })
}

pub(crate) fn dollars(amount: f64) -> impl Display {
    from_fn(move |formatter| {
        // Amounts below a cent would all read $0.00.
        if amount > 0.0 && amount < 0.01 {
            return write!(formatter, "${amount:.4}");
        }
        match hundredths(amount) {
            Some(cents) => write!(formatter, "${}.{:02}", cents / 100, cents % 100),
            None => write!(formatter, "${amount:.2}"),
        }
    })
}

/// A duration to the second; one below that, to the millisecond.
pub(crate) fn duration(duration: Duration) -> impl Display {
    humantime::format_duration(if duration < Duration::from_secs(1) {
        Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    } else {
        Duration::from_secs(duration.as_secs())
    })
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
        assert_eq!(percent(0.375).to_string(), "37.5%");
        assert_eq!(percent(0.3).to_string(), "30%");
        assert_eq!(percent(1.0 / 3.0).to_string(), "33.33%");
        assert_eq!(percent(0.0).to_string(), "0%");
        assert_eq!(percent(1.0).to_string(), "100%");
        assert_eq!(percent(-0.25).to_string(), "-25%");
        assert_eq!(percent(f64::NAN).to_string(), "NaN%");
        assert_eq!(counted(1, "unit", "units").to_string(), "1 unit");
        assert_eq!(counted(1_234_567, "token", "tokens").to_string(), "1,234,567 tokens");
        assert_eq!(grouped(1_000_007).to_string(), "1,000,007");
        assert_eq!(grouped(999).to_string(), "999");
        assert_eq!(grouped(u64::MAX).to_string(), "18,446,744,073,709,551,615");
        assert_eq!(dollars(20.0).to_string(), "$20.00");
        assert_eq!(dollars(1.005).to_string(), "$1.00", "which is a little less than it seems");
        assert_eq!(dollars(0.0031).to_string(), "$0.0031");
        assert_eq!(duration(Duration::from_millis(90_500)).to_string(), "1m 30s");
        assert_eq!(duration(Duration::from_millis(250)).to_string(), "250ms");
        assert_eq!(quoted("DONE"), "'DONE'");
        assert_eq!(quoted(&"é".repeat(60)).chars().count(), 33);
    }

    proptest::proptest! {
        #[test]
        fn hundredths_are_those_of_the_exact_digits(number in 0.0..2e7_f64) {
            if let Some(hundredths) = hundredths(number) {
                let digits = format!("{}.{:02}", hundredths / 100, hundredths % 100);
                proptest::prop_assert_eq!(digits, format!("{number:.2}"));
            }
        }
    }
}
