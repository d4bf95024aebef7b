//! A report in Markdown: for a terminal of 80 columns, a commit or a pull request.

use crate::report::Report;
use crate::text::harmless;
use crate::words::{self, Row, Says};

mod folding;

use folding::{fold, item};

pub(crate) fn page(report: &Report) -> String {
    let mut page = String::new();
    header(report, &mut page);
    figures(report, &mut page);
    if let Some(ended) = &report.ended {
        section("Why it ended", &mut page);
        page.push_str(&fold(&prose(&ended.diagnosis), "", ""));
    }
    next(report, &mut page);
    rows("What was asked", &words::asked(report), &mut page);
    rows("What was done", &words::done(report), &mut page);
    iterations(report, &mut page);
    decisions(report, &mut page);
    timeline(report, &mut page);
    rules(report, &mut page);
    page.push('\n');
    let made = format!("Reported {} by backstop.", words::date(report.reported_at));
    page.push_str(&fold(&made, "", ""));
    for note in &report.notes {
        page.push_str(&fold(&text(note), "", ""));
    }
    page
}

fn header(report: &Report, page: &mut String) {
    let status = format!("{} {}", words::glyph(report.status), report.status);
    let title = report.ended.as_ref().filter(|_| report.status != "completed");
    let title = title.map(|ended| format!(": {}", text(&ended.title))).unwrap_or_default();
    page.push_str(&format!("# {status}{title}\n\n"));
    page.push_str(&fold(&prose(&report.summary), "", ""));
    page.push('\n');
    let mut facts = format!("Run {}", code(report.run.as_str()));
    if let Some(ended) = &report.ended {
        let resumable = if ended.resumable { " · can go on" } else { "" };
        facts.push_str(&format!(
            " · {} · exit {}{resumable}",
            code(&ended.reason),
            ended.exit_code
        ));
    }
    page.push_str(&fold(&facts, "", ""));
}

fn figures(report: &Report, page: &mut String) {
    section("Figures", page);
    for card in words::cards(report) {
        let limit = match &card.limit {
            Some((_, of)) if !of.is_empty() => format!(" {of}"),
            _ => String::new(),
        };
        page.push_str(&item(&format!("{}: {}{}", card.name, card.figure, text(&limit))));
    }
    let others = report.limits.iter().filter(|limit| limit.highest > 0.0);
    let others: Vec<_> = others.collect();
    if !others.is_empty() {
        section("Limits", page);
        for limit in others {
            let share = crate::figures::percent(limit.progress);
            let highest = match limit.highest > limit.progress {
                true => format!(", {} at most", crate::figures::percent(limit.highest)),
                false => String::new(),
            };
            let met = if limit.met { ", reached" } else { "" };
            let line = format!(
                "{} {} ({share}{highest}{met}): {} {}",
                bar(limit.progress),
                text(&limit.words),
                limit.verdict.as_str(),
                text(&limit.when)
            );
            page.push_str(&item(&line));
        }
    }
}

fn next(report: &Report, page: &mut String) {
    if report.next.commands.is_empty() {
        return;
    }
    section("What to do next", page);
    for next in &report.next.commands {
        let good_for = match next.good_for {
            "" => String::new(),
            words => format!(": {words}"),
        };
        // A command that is folded can't be copied.
        page.push_str(&format!("- {}{good_for}\n", code(&next.command)));
    }
}

fn rows(title: &str, rows: &[Row], page: &mut String) {
    if rows.is_empty() {
        return;
    }
    section(title, page);
    for row in rows {
        match &row.says {
            Says::Text(said) => page.push_str(&item(&format!("{}: {}", row.name, text(said)))),
            Says::Code(said) => page.push_str(&item(&format!("{}: {}", row.name, code(said)))),
            Says::List { lead, entries, left_out } => {
                page.push_str(&item(&format!("{}: {lead}", row.name)));
                for entry in entries {
                    page.push_str(&fold(&text(entry), "  - ", "    "));
                }
                if *left_out > 0 {
                    page.push_str(&format!("  - and {left_out} more\n"));
                }
            }
        }
    }
}

fn iterations(report: &Report, page: &mut String) {
    let list = &report.done.iterations.list;
    if list.entries.len() < 2 {
        return;
    }
    section("Iterations", page);
    page.push_str("| # | ended | took | tokens | cost | tests |\n|--:|---|--:|--:|--:|---|\n");
    for (place, iteration) in list.entries.iter().enumerate() {
        if place == list.gap_after && list.left_out > 0 {
            page.push_str(&format!("| … | {} more | | | | |\n", list.left_out));
        }
        let row = words::iteration(iteration);
        page.push_str(&format!("| {} |\n", row.join(" | ")));
    }
}

fn decisions(report: &Report, page: &mut String) {
    let mattered = &report.decisions.mattered;
    if !mattered.is_empty() {
        section("Decisions that mattered", page);
        for decision in &mattered.entries {
            let at = decision.at.map(|at| format!("{} ", words::clock(at))).unwrap_or_default();
            let reason = decision.reason.as_deref().map(|code| format!(", {}", text(code)));
            let often = match decision.times {
                1 => String::new(),
                times => format!(" ({})", words::times(times)),
            };
            let line = format!(
                "{at}**{}**{}: {}{often}",
                decision.verdict.as_str(),
                reason.unwrap_or_default(),
                text(&decision.message)
            );
            page.push_str(&item(&line));
        }
        if mattered.left_out > 0 {
            page.push_str(&format!("- and {} more\n", mattered.left_out));
        }
    }
    if !report.decisions.nearly.is_empty() {
        section("What nearly fired", page);
        for near in &report.decisions.nearly {
            let words = near.words.as_deref().map(|words| format!(" ({})", text(words)));
            let line = format!(
                "{} of the way to {}: {}{}",
                crate::figures::percent(near.highest),
                near.verdict.as_str(),
                text(&near.when),
                words.unwrap_or_default()
            );
            page.push_str(&item(&line));
        }
    }
}

fn timeline(report: &Report, page: &mut String) {
    if report.timeline.is_empty() {
        return;
    }
    section("Timeline", page);
    let mut day = None;
    for moment in &report.timeline.entries {
        let date = moment.at.map(words::date).map(|date| date[..10].to_owned());
        if date != day {
            page.push_str(&item(&format!("**{}**", date.as_deref().unwrap_or("at some time"))));
            day = date;
        }
        let at = moment.at.map(words::clock).unwrap_or_default();
        let often = match moment.times {
            1 => String::new(),
            times => format!(" ({})", words::times(times)),
        };
        page.push_str(&item(format!("{at} {}{often}", text(&moment.text)).trim_start()));
    }
    if report.timeline.left_out > 0 {
        page.push_str(&format!("- and {} lesser entries, left out\n", report.timeline.left_out));
    }
}

fn rules(report: &Report, page: &mut String) {
    if report.asked.rules.is_empty() {
        return;
    }
    section("Rules", page);
    for rule in report.asked.rules.iter().take(MOST_RULES) {
        let shadow = if rule.shadow { ", only watched" } else { "" };
        let line = format!(
            "**{}** {} ({}{shadow})",
            rule.verdict.as_str(),
            text(&rule.when),
            text(&rule.reason)
        );
        page.push_str(&item(&line));
    }
    let more = report.asked.rules.len().saturating_sub(MOST_RULES);
    if more > 0 {
        page.push_str(&format!("- and {more} more\n"));
    }
}

fn section(title: &str, page: &mut String) {
    page.push_str(&format!("\n## {title}\n\n"));
}

/// Ten steps from empty to full.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "progress is from 0 to 1"
)]
fn bar(progress: f64) -> String {
    let full = (progress.clamp(0.0, 1.0) * 10.0).floor() as usize;
    "█".repeat(full) + &"░".repeat(10 - full)
}

/// Text of others: nothing in it is taken for Markdown.
fn text(words: &str) -> String {
    let words = harmless(words);
    let mut safe = String::with_capacity(words.len());
    let mut before = ' ';
    let mut characters = words.chars().peekable();
    while let Some(character) = characters.next() {
        let after = characters.peek().copied().unwrap_or(' ');
        let special = match character {
            '\\' | '*' | '[' | ']' | '<' | '>' | '|' | '~' | '`' => true,
            // Between letters it stands for itself.
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            '&' => after == '#' || after.is_alphabetic(),
            _ => false,
        };
        if special {
            safe.push('\\');
        }
        safe.push(character);
        before = character;
    }
    safe
}

/// Our own sentences, with others' values in them: code stays code.
fn prose(sentence: &str) -> String {
    let parts = words::with_code(sentence).map(|(is_code, part)| match is_code {
        true => code(part),
        false => text(part),
    });
    parts.collect()
}

/// Text that must be read letter by letter.
fn code(words: &str) -> String {
    let words = harmless(words);
    let (mut longest, mut run) = (0, 0);
    for character in words.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    // A backtick at the border would join the fence.
    let pad = if longest > 0 || words.trim().is_empty() { " " } else { "" };
    format!("{fence}{pad}{words}{pad}{fence}")
}

const MOST_RULES: usize = 40;
