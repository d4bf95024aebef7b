//! A report as one page of HTML that needs nothing else: no script, no font, no picture.
//!
//! Written as XML would have it, so that a test can see that it is well-formed whatever it tells of.

use crate::report::{Mark, Report};
use crate::words::{self, Row, Says};

mod chart;
mod charts;
mod escape;

use escape::escape;

pub(crate) fn page(report: &Report) -> String {
    let run = report.run.as_str();
    let mut body = String::new();
    header(report, &mut body);
    cards(report, &mut body);
    ending(report, &mut body);
    charts::all(report, &mut body);
    limits(report, &mut body);
    rows("What was asked", "asked", &words::asked(report), &mut body);
    rows("What was done", "done", &words::done(report), &mut body);
    iterations(report, &mut body);
    decisions(report, &mut body);
    timeline(report, &mut body);
    rules(report, &mut body);
    footer(report, &mut body);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n\
         <meta name=\"color-scheme\" content=\"light dark\" />\n\
         <meta name=\"referrer\" content=\"no-referrer\" />\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\" />\n\
         <title>{} · run {run}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body class=\"{}\">\n<main>\n{body}</main>\n</body>\n</html>\n",
        report.status, report.status
    )
}

fn header(report: &Report, body: &mut String) {
    let title = match &report.ended {
        Some(ended) if report.status != "completed" => escape(&ended.title),
        Some(_) => "The work is done".to_owned(),
        None if report.status == "interrupted" => "The supervisor is gone".to_owned(),
        None => "The run goes on".to_owned(),
    };
    body.push_str(&format!(
        "<header>\n<p class=\"badge\"><span aria-hidden=\"true\">{}</span> {}</p>\n<h1>{title}</h1>\n\
         <p class=\"lead\">{}</p>\n",
        words::glyph(report.status),
        report.status,
        prose(&report.summary)
    ));
    let mut facts = vec![format!("run <code>{}</code>", report.run)];
    if let Some(ended) = &report.ended {
        facts.push(format!("<code>{}</code>", escape(&ended.reason)));
        facts.push(format!("exit {}", ended.exit_code));
        facts.push(if ended.resumable { "can go on" } else { "nothing left to do" }.to_owned());
    }
    facts.extend(report.asked.started_at.map(|at| format!("begun {}", words::date(at))));
    body.push_str(&format!("<p class=\"facts\">{}</p>\n", facts.join(" · ")));
    if !report.asked.command.is_empty() {
        let command = crate::figures::command_line(&report.asked.command);
        body.push_str(&format!("<pre class=\"command\">{}</pre>\n", escape(&command)));
    }
    body.push_str("</header>\n");
}

fn cards(report: &Report, body: &mut String) {
    body.push_str("<section class=\"cards\" aria-label=\"Figures\">\n");
    for card in words::cards(report) {
        let (of, bar) = match &card.limit {
            Some((share, of)) => (escape(of), bar(*share, card.name)),
            None => (String::new(), String::new()),
        };
        body.push_str(&format!(
            "<div class=\"card\"><p class=\"name\">{}</p><p class=\"figure\">{} <small>{of}</small></p>\
             {bar}</div>\n",
            card.name,
            escape(&card.figure)
        ));
    }
    body.push_str("</section>\n");
}

/// Why it ended, and what to do next.
fn ending(report: &Report, body: &mut String) {
    body.push_str("<div class=\"two\">\n");
    if let Some(ended) = &report.ended {
        body.push_str(&format!(
            "<section><h2>Why it ended</h2><p>{}</p></section>\n",
            prose(&ended.diagnosis)
        ));
    }
    if !report.next.commands.is_empty() {
        body.push_str("<section><h2>What to do next</h2><ul class=\"next\">\n");
        for next in &report.next.commands {
            body.push_str(&format!(
                "<li><code>{}</code> <span>{}</span></li>\n",
                escape(&next.command),
                escape(next.good_for)
            ));
        }
        body.push_str("</ul></section>\n");
    }
    body.push_str("</div>\n");
}

fn limits(report: &Report, body: &mut String) {
    let moved: Vec<_> = report.limits.iter().filter(|limit| limit.highest > 0.0).collect();
    if moved.is_empty() {
        return;
    }
    body.push_str(
        "<section><h2>Limits</h2>\n<table class=\"limits\"><thead><tr><th>reached</th>\
        <th>how far</th><th>at most</th><th>then</th></tr></thead><tbody>\n",
    );
    for limit in moved {
        body.push_str(&format!(
            "<tr{}><td>{}<br /><small>{}</small></td><td class=\"bar-cell\">{} {}</td><td>{}</td>\
             <td>{}</td></tr>\n",
            if limit.met { " class=\"met\"" } else { "" },
            escape(&limit.words),
            escape(&limit.when),
            bar(limit.progress, &limit.words),
            crate::figures::percent(limit.progress),
            crate::figures::percent(limit.highest),
            limit.verdict.as_str()
        ));
    }
    body.push_str("</tbody></table></section>\n");
}

fn rows(title: &str, class: &str, rows: &[Row], body: &mut String) {
    if rows.is_empty() {
        return;
    }
    body.push_str(&format!("<section class=\"{class}\"><h2>{title}</h2>\n<dl>\n"));
    for row in rows {
        let says = match &row.says {
            Says::Text(text) => escape(text),
            Says::Code(text) => format!("<code>{}</code>", escape(text)),
            Says::List { lead, entries, left_out } => list(lead, entries, *left_out),
        };
        body.push_str(&format!("<dt>{}</dt><dd>{says}</dd>\n", row.name));
    }
    body.push_str("</dl>\n</section>\n");
}

/// A short list as it is, a long one behind its number.
fn list(lead: &str, entries: &[String], left_out: u64) -> String {
    let items: String = entries.iter().map(|entry| format!("<li>{}</li>", escape(entry))).collect();
    let more = match left_out {
        0 => String::new(),
        count => format!("<li class=\"more\">and {count} more</li>"),
    };
    match entries.len() {
        0..=SHORT_LIST => format!("<ul>{items}{more}</ul>"),
        _ => format!("<details><summary>{lead}</summary><ul>{items}{more}</ul></details>"),
    }
}

fn iterations(report: &Report, body: &mut String) {
    let list = &report.done.iterations.list;
    if list.entries.len() < 2 {
        return;
    }
    body.push_str("<section><h2>Iterations</h2>\n<div class=\"wide\"><table><thead><tr><th>#</th>\
        <th>ended</th><th>took</th><th>tokens</th><th>cost</th><th>tests</th></tr></thead><tbody>\n");
    for (place, iteration) in list.entries.iter().enumerate() {
        if place == list.gap_after && list.left_out > 0 {
            body.push_str(&format!(
                "<tr><td>…</td><td colspan=\"5\">{} more</td></tr>\n",
                list.left_out
            ));
        }
        let class = if iteration.went_well() { "" } else { " class=\"bad\"" };
        let cells = words::iteration(iteration).map(|cell| format!("<td>{}</td>", escape(&cell)));
        body.push_str(&format!("<tr{class}>{}</tr>\n", cells.concat()));
    }
    body.push_str("</tbody></table></div></section>\n");
}

fn decisions(report: &Report, body: &mut String) {
    let decisions = &report.decisions;
    body.push_str("<div class=\"two\">\n");
    if !decisions.mattered.is_empty() {
        body.push_str("<section><h2>Decisions that mattered</h2><ul class=\"decisions\">\n");
        for decision in &decisions.mattered.entries {
            let at = decision.at.map(|at| format!("<time>{}</time> ", words::clock(at)));
            let reason =
                decision.reason.as_deref().map(|code| format!(" <code>{}</code>", escape(code)));
            body.push_str(&format!(
                "<li>{}<b>{}</b>{}<br />{}{}</li>\n",
                at.unwrap_or_default(),
                decision.verdict.as_str(),
                reason.unwrap_or_default(),
                escape(&decision.message),
                often(decision.times)
            ));
        }
        more(decisions.mattered.left_out, "more", body);
        body.push_str("</ul></section>\n");
    }
    body.push_str("<section><h2>What nearly fired</h2>");
    if decisions.nearly.is_empty() {
        body.push_str("<p class=\"quiet\">No other rule came near.</p>");
    } else {
        body.push_str("<ul class=\"decisions\">\n");
        for near in &decisions.nearly {
            let words =
                near.words.as_deref().map(|words| format!(" <small>({})</small>", escape(words)));
            body.push_str(&format!(
                "<li><b>{}</b> of the way to <b>{}</b>{}<br />{}</li>\n",
                crate::figures::percent(near.highest),
                near.verdict.as_str(),
                words.unwrap_or_default(),
                escape(&near.when)
            ));
        }
        body.push_str("</ul>");
    }
    body.push_str("</section>\n</div>\n");
}

fn timeline(report: &Report, body: &mut String) {
    if report.timeline.is_empty() {
        return;
    }
    body.push_str("<section><h2>Timeline</h2>\n<ol class=\"timeline\">\n");
    let mut day = None;
    for moment in &report.timeline.entries {
        let date = moment.at.map(words::date).map(|date| date[..10].to_owned());
        if date != day {
            let shown = date.as_deref().unwrap_or("at some time");
            body.push_str(&format!("<li class=\"day\">{shown}</li>\n"));
            day = date;
        }
        let class = match moment.mark {
            Mark::Run => "run",
            Mark::Good => "good",
            Mark::Bad => "bad",
            Mark::Attention => "attention",
            Mark::Person => "person",
            Mark::Plain => "plain",
        };
        let at = moment.at.map(words::clock).unwrap_or_default();
        body.push_str(&format!(
            "<li class=\"{class}\"><time>{at}</time> <span>{}{}</span></li>\n",
            escape(&moment.text),
            often(moment.times)
        ));
    }
    more(report.timeline.left_out, "lesser entries, left out", body);
    body.push_str("</ol>\n</section>\n");
}

fn rules(report: &Report, body: &mut String) {
    if report.asked.rules.is_empty() {
        return;
    }
    let count = report.asked.rules.len() as u64;
    let summary = crate::figures::counted(count, "rule", "rules");
    body.push_str(&format!(
        "<details class=\"rules\"><summary>{summary} in plain words</summary><ul>\n"
    ));
    for rule in report.asked.rules.iter().take(MOST_RULES) {
        body.push_str(&format!(
            "<li><b>{}</b> {} <small><code>{}</code>{}</small></li>\n",
            rule.verdict.as_str(),
            escape(&rule.when),
            escape(&rule.reason),
            if rule.shadow { " only watched" } else { "" }
        ));
    }
    more(count.saturating_sub(MOST_RULES as u64), "more", body);
    body.push_str("</ul></details>\n");
}

fn footer(report: &Report, body: &mut String) {
    body.push_str("<footer>\n");
    for note in &report.notes {
        body.push_str(&format!("<p>{}</p>\n", escape(note)));
    }
    body.push_str(&format!(
        "<p>Reported {} by backstop from {}. Times are UTC; charts leave out holds, pauses and waits.</p>\n\
         </footer>\n",
        words::date(report.reported_at),
        crate::figures::counted(report.figures.events, "event", "events")
    ));
}

fn more(left_out: u64, what: &str, body: &mut String) {
    if left_out > 0 {
        body.push_str(&format!("<li class=\"more\">and {left_out} {what}</li>\n"));
    }
}

fn often(times: u64) -> String {
    match times {
        1 => String::new(),
        times => format!(" <small>({})</small>", words::times(times)),
    }
}

/// A bar that is this full, for those who see it; the figure stands beside it for all.
fn bar(share: f64, name: &str) -> String {
    let percent = share.clamp(0.0, 1.0) * 100.0;
    let class = if share >= 1.0 {
        " full"
    } else if share >= 0.8 {
        " near"
    } else {
        ""
    };
    // More health, tests or units are better; more of a limit is not.
    let class = if ["health", "tests passing", "units approved"].contains(&name) {
        " rising"
    } else {
        class
    };
    format!(
        "<div class=\"bar{class}\" aria-hidden=\"true\"><div style=\"width:{percent:.1}%\"></div></div>"
    )
}

/// Our own sentences, in which backticks mark what is to be typed.
fn prose(text: &str) -> String {
    let parts = words::with_code(text).map(|(is_code, part)| match is_code {
        true => format!("<code>{}</code>", escape(part)),
        false => escape(part),
    });
    parts.collect()
}

const STYLE: &str = include_str!("html/style.css");
const SHORT_LIST: usize = 6;
const MOST_RULES: usize = 60;
