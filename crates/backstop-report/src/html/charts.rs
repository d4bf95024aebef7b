//! The charts of a run: what it used, how its tests and its health went, how near its limits came.

use super::chart::{Chart, Line};
use crate::figures::{dollars, percent, rounded};
use crate::report::{OverTime, Point, Report};

/// Every chart for which there are figures.
pub(super) fn all(report: &Report, body: &mut String) {
    let series = &report.series;
    let charts = [tokens(series), cost(series), tests(series), health(series), limits(series)];
    let drawn: Vec<_> = charts.iter().flatten().map(Chart::draw).collect();
    if drawn.is_empty() {
        return;
    }
    body.push_str("<section aria-label=\"Charts\" class=\"charts\">\n");
    body.push_str(&drawn.concat());
    body.push_str("</section>\n");
}

fn tokens(series: &OverTime) -> Option<Chart<'static>> {
    let last = series.points.last().filter(|point| point.tokens > 0)?;
    let figures = figures(series, |point| Some(whole(point.tokens)));
    Some(Chart {
        limit: series.token_limit,
        filled: true,
        ..over_time(
            series,
            "tokens",
            "Tokens",
            rounded(last.tokens),
            vec![Line { name: "tokens".to_owned(), colour: "c1", figures, holds: true }],
            count,
        )
    })
}

fn cost(series: &OverTime) -> Option<Chart<'static>> {
    let last = series.points.last()?.cost_usd?;
    let lines = vec![Line {
        name: "cost".to_owned(),
        colour: "c2",
        figures: figures(series, |point| point.cost_usd),
        holds: true,
    }];
    let chart = over_time(series, "cost", "Cost", dollars(last), lines, dollars);
    Some(Chart { limit: series.cost_limit, filled: true, ..chart })
}

fn tests(series: &OverTime) -> Option<Chart<'static>> {
    let last = series.tests.last()?;
    let tests = || series.tests.iter();
    let passed = tests().map(|point| Some(whole(point.counts.passed))).collect();
    let failed = tests().map(|point| Some(whole(point.counts.failed))).collect();
    Some(Chart {
        id: "tests",
        title: "Tests",
        caption: format!("{} passed, {} failed", last.counts.passed, last.counts.failed),
        lines: vec![
            Line { name: "passed".to_owned(), colour: "good", figures: passed, holds: true },
            Line { name: "failed".to_owned(), colour: "bad", figures: failed, holds: true },
        ],
        times: tests().map(|point| point.active_ms).collect(),
        end: end(series),
        limit: None,
        top: None,
        form: count,
        filled: true,
    })
}

fn health(series: &OverTime) -> Option<Chart<'static>> {
    let last = series.points.last()?.health;
    let lines = vec![Line {
        name: "health".to_owned(),
        colour: "good",
        figures: figures(series, |point| Some(point.health)),
        holds: true,
    }];
    let chart = over_time(series, "health", "Health", percent(last), lines, percent);
    Some(Chart { limit: series.health_limit, top: Some(1.0), ..chart })
}

/// How near the limits came, the nearest few.
fn limits(series: &OverTime) -> Option<Chart<'static>> {
    let highest = |place: usize| {
        let progress = series.points.iter().filter_map(|point| point.progress.get(place));
        progress.copied().fold(0.0, f64::max)
    };
    let mut nearest: Vec<_> =
        (0..series.limits.len()).map(|place| (place, highest(place))).collect();
    nearest.retain(|(_, highest)| *highest > 0.0);
    nearest.sort_by(|one, other| other.1.total_cmp(&one.1));
    nearest.truncate(COLOURS.len());
    let (_, most) = nearest.first()?;
    let lines = nearest.iter().zip(COLOURS).map(|((place, _), colour)| Line {
        name: series.limits[*place].replace('_', " "),
        colour,
        figures: figures(series, |point| point.progress.get(*place).copied()),
        holds: !["max_duration", "stagnation"].contains(&&*series.limits[*place]),
    });
    let caption = format!("{} of the way at most", percent(*most));
    let chart =
        over_time(series, "limits", "Towards each limit", caption, lines.collect(), percent);
    Some(Chart { top: Some(1.0), ..chart })
}

fn over_time(
    series: &OverTime,
    id: &'static str,
    title: &'static str,
    caption: String,
    lines: Vec<Line>,
    form: fn(f64) -> String,
) -> Chart<'static> {
    let times = series.points.iter().map(|point| point.active_ms).collect();
    let end = end(series);
    Chart { id, title, caption, lines, times, end, limit: None, top: None, form, filled: false }
}

/// Active time at the end of the run.
fn end(series: &OverTime) -> u64 {
    let last = series.points.last().map_or(0, |point| point.active_ms);
    last.max(series.tests.last().map_or(0, |point| point.active_ms))
}

fn figures(series: &OverTime, figure: impl Fn(&Point) -> Option<f64>) -> Vec<Option<f64>> {
    series.points.iter().map(figure).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a picture needs no more than three digits")]
fn whole(count: u64) -> f64 {
    count as f64
}

fn count(figure: f64) -> String {
    crate::figures::count(figure)
}

const COLOURS: [&str; 5] = ["c1", "c2", "c3", "c4", "c5"];
