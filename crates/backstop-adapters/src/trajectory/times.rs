//! Times as trajectories write them.

use backstop_core::time::Timestamp;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

/// A time in seconds since 1970, with an offset, or on the clock of whoever wrote it.
pub(super) fn time(value: &Value, zone: &TimeZone) -> Option<Timestamp> {
    let instant = match value {
        Value::Number(seconds) => {
            let seconds = seconds.as_f64().filter(|seconds| *seconds > 0.0)?;
            let duration = SignedDuration::try_from_secs_f64(seconds).ok()?;
            jiff::Timestamp::from_duration(duration).ok()?
        }
        Value::String(text) => match text.parse() {
            Ok(instant) => instant,
            Err(_) => {
                let on_the_clock = text.parse::<DateTime>().ok()?;
                zone.to_ambiguous_timestamp(on_the_clock).compatible().ok()?
            }
        },
        _ => return None,
    };
    Some(Timestamp::from_jiff(instant))
}

#[cfg(test)]
mod tests {
    use jiff::tz::offset;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::seconds(json!(1_773_065_153.5), Some("2026-03-09T14:05:53.5Z"))]
    #[case::with_an_offset(json!("2025-07-12T18:30:41.5+00:00"), Some("2025-07-12T18:30:41.5Z"))]
    #[case::on_the_clock(json!("2025-04-30T16:32:54.25"), Some("2025-04-30T14:32:54.25Z"))]
    #[case::with_a_blank(json!("2025-04-30 16:31:22"), Some("2025-04-30T14:31:22Z"))]
    #[case::no_time(json!("soon"), None)]
    #[case::zero(json!(0), None)]
    #[case::huge(json!(1e300), None)]
    #[case::nothing(json!(null), None)]
    fn times(#[case] written: Value, #[case] expected: Option<&str>) {
        let expected = expected.map(|text| text.parse().unwrap());
        assert_eq!(time(&written, &TimeZone::fixed(offset(2))), expected);
    }
}
