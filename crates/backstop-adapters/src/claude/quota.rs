//! How full the plan's usage windows are.

use backstop_core::event::Quota;
use backstop_core::time::Timestamp;

use super::wire::{Number, RateLimit};
use crate::fault::unix_time;
use crate::{Fault, FaultKind, Heard, Listener};

/// Tells the windows of one record. A rejected request is a fault, unless it goes on as paid extra.
pub(super) fn tell(limit: &RateLimit<'_>, listener: &mut dyn Listener) -> Option<Fault> {
    let rejected = &*limit.status == "rejected";
    let resets_at = time(limit.resets_at);
    if let Some(windows) = &limit.windows.0 {
        for (name, window) in windows {
            let Some(window) = window.0 else { continue };
            if let Some(used) = window.utilization.amount() {
                hear(name, used, time(window.resets_at), listener);
            }
        }
    }
    let used = limit.utilization.amount().or(rejected.then_some(1.0));
    if let Some(used) = used.filter(|_| !limit.window.is_empty()) {
        hear(&limit.window, used, resets_at, listener);
    }
    let paid = limit.using_overage.0 || limit.overage_status.starts_with("allowed");
    if !rejected || paid {
        return None;
    }
    if &*limit.error_code == "credits_required" {
        return Some(Fault::new(FaultKind::Credits, "usage limit reached, and no credits"));
    }
    let message = format!("usage limit reached ({})", window_name(&limit.window));
    Some(Fault { retry_at: resets_at, ..Fault::new(FaultKind::RateLimited, message) })
}

fn hear(window: &str, used: f64, resets_at: Option<Timestamp>, listener: &mut dyn Listener) {
    let window = window_name(window).to_owned();
    listener.hear(Heard::Event(Quota { window, used: used.min(1.0), resets_at }.into()));
}

fn window_name(window: &str) -> &str {
    match window {
        "five_hour" => "5h",
        "seven_day" => "weekly",
        "seven_day_opus" => "weekly_opus",
        "seven_day_sonnet" => "weekly_sonnet",
        other => other,
    }
}

fn time(seconds: Number) -> Option<Timestamp> {
    unix_time(i64::try_from(seconds.count()).ok().filter(|seconds| *seconds > 0)?)
}
