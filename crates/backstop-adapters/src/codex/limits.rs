//! How full the plan's windows are. Session files have told it in three shapes.

use std::time::Duration;

use backstop_core::event::Quota;
use backstop_core::time::Timestamp;
use serde_json::Value;

use crate::Moment;
use crate::fields::{count, seconds};

/// The windows that a record tells of, the shorter one first.
pub(super) fn quotas(limits: &Value, moment: &Moment) -> Vec<Quota> {
    ["primary", "secondary"]
        .into_iter()
        .filter_map(|name| match limits.get(name) {
            Some(window @ Value::Object(_)) => nested(window, moment),
            _ => flat(limits, name),
        })
        .collect()
}

/// Since autumn 2025: an object for each window. Its reset was given as a distance first.
fn nested(window: &Value, moment: &Moment) -> Option<Quota> {
    let resets_at = match window.get("resets_at").and_then(Value::as_i64) {
        Some(at) => seconds(at),
        None => window
            .get("resets_in_seconds")
            .and_then(Value::as_u64)
            .and_then(|distance| moment.after(Duration::from_secs(distance))),
    };
    quota(window.get("used_percent")?, count(window, "window_minutes"), resets_at)
}

/// In September 2025: keys with the window's name in front, and no reset.
fn flat(limits: &Value, name: &str) -> Option<Quota> {
    let used = limits.get(format!("{name}_used_percent"))?;
    quota(used, count(limits, &format!("{name}_window_minutes")), None)
}

fn quota(used_percent: &Value, minutes: u64, resets_at: Option<Timestamp>) -> Option<Quota> {
    let used = used_percent.as_f64().filter(|used| used.is_finite())?;
    Some(Quota { window: window(minutes)?, used: (used / 100.0).clamp(0.0, 1.0), resets_at })
}

/// What people call a window of so many minutes. Some builds say a minute less than they mean.
fn window(minutes: u64) -> Option<String> {
    Some(match minutes {
        0 => return None,
        299 | 300 => "5h".to_owned(),
        10_079 | 10_080 => "weekly".to_owned(),
        minutes if minutes % 60 == 0 => format!("{}h", minutes / 60),
        minutes => format!("{minutes}m"),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::testing::moment;

    #[rstest]
    #[case::flat(
        json!({"primary_used_percent": 35.0, "secondary_used_percent": 10.0,
               "primary_window_minutes": 299, "secondary_window_minutes": 10079}),
        &[("5h", 0.35, None), ("weekly", 0.10, None)]
    )]
    #[case::distances(
        json!({"primary": {"used_percent": 50.0, "window_minutes": 300, "resets_in_seconds": 60},
               "secondary": null}),
        &[("5h", 0.5, Some(1060))]
    )]
    #[case::times(
        json!({"limit_id": "codex", "primary": {"used_percent": 1.0, "window_minutes": 10080,
               "resets_at": 1_785_958_530}, "secondary": null, "spend_control_reached": false}),
        &[("weekly", 0.01, Some(1_785_958_530))]
    )]
    #[case::more_than_full(
        json!({"primary": {"used_percent": 130, "window_minutes": 60}}),
        &[("1h", 1.0, None)]
    )]
    #[case::nothing(json!({"primary": {"window_minutes": 300}, "secondary": 7}), &[])]
    fn every_shape_tells_the_same(
        #[case] limits: Value,
        #[case] expected: &[(&str, f64, Option<i64>)],
    ) {
        let now = Timestamp::from_nanos(1000 * 1_000_000_000);
        let told = quotas(&limits, &Moment { now, ..moment() });
        let expected: Vec<Quota> = expected
            .iter()
            .map(|(window, used, at)| Quota {
                window: (*window).to_owned(),
                used: *used,
                resets_at: at.map(|at| Timestamp::from_nanos(at * 1_000_000_000)),
            })
            .collect();
        assert_eq!(told, expected);
    }
}
