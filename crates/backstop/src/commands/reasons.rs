//! `backstop reasons`: the registry, for people and scripts.

use std::io::Write as _;

use backstop_core::reason::{self, Family, Reason, Values};
use owo_colors::OwoColorize as _;

use crate::args::ReasonsArguments;
use crate::error::Error;
use crate::exit_code;
use crate::report::{columns, hanging, wrapped};
use crate::terminal::Terminal;

pub fn run(arguments: &ReasonsArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let chosen = chosen(arguments)?;
    if arguments.json {
        let list: Vec<_> = chosen.iter().map(|reason| as_json(reason)).collect();
        let text = serde_json::to_string_pretty(&list).map_err(std::io::Error::from)?;
        writeln!(terminal.out, "{text}")?;
    } else if arguments.markdown {
        write!(terminal.out, "{}", markdown(&chosen, arguments))?;
    } else if arguments.code.is_some() {
        for reason in chosen {
            write!(terminal.out, "{}", page(reason))?;
        }
    } else {
        write!(terminal.out, "{}", listing(&chosen))?;
    }
    Ok(exit_code::OK)
}

fn chosen(arguments: &ReasonsArguments) -> Result<Vec<&'static Reason>, Error> {
    let named = match &arguments.code {
        Some(code) => vec![named(code)?],
        None => reason::all().iter().collect(),
    };
    let fits = |reason: &&Reason| {
        arguments.family.is_none_or(|family| reason.family == family)
            && (!arguments.auto_resumable || reason.auto_resumable)
    };
    Ok(named.into_iter().filter(fits).collect())
}

fn named(code: &str) -> Result<&'static Reason, Error> {
    code.parse::<reason::ReasonCode>().map(reason::ReasonCode::reason).map_err(|error| {
        Error::Usage(format!("{error}\n\nhint: `backstop reasons` lists them all"))
    })
}

fn as_json(reason: &Reason) -> serde_json::Value {
    serde_json::json!({
        "code": reason.code,
        "title": reason.title,
        "family": reason.family,
        "exit_code": reason.exit_code,
        "diagnosis": reason.diagnosis_with(&Values::new()),
        "auto_resumable": reason.auto_resumable,
        "aliases": reason.aliases,
        "next_step": reason.next_step,
    })
}

fn markdown(chosen: &[&Reason], arguments: &ReasonsArguments) -> String {
    match (&arguments.code, chosen) {
        (Some(_), [only]) => only.page.to_owned(),
        _ if arguments.family.is_none() && !arguments.auto_resumable => reason::markdown_table(),
        _ => {
            let row = |reason: &&Reason| {
                format!("| `{}` | {} | {} |\n", reason.code, reason.exit_code, reason.title)
            };
            let rows: String = chosen.iter().map(row).collect();
            format!("| code | exit code | title |\n|---|---|---|\n{rows}")
        }
    }
}

fn listing(chosen: &[&Reason]) -> String {
    let mut text = String::new();
    for family in Family::ALL {
        let mut members = chosen.iter().filter(|reason| reason.family == family).peekable();
        if members.peek().is_some() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("{}\n", family.as_str().replace('_', " ").bold()));
        }
        for reason in members {
            let resumes = if reason.auto_resumable { " (resumes by itself)" } else { "" };
            let code = columns(reason.code, 22);
            text.push_str(&format!(
                "  {:>3}  {code} {}{resumes}\n",
                reason.exit_code, reason.title
            ));
        }
    }
    text
}

fn page(reason: &Reason) -> String {
    let aliases = match reason.aliases {
        [] => String::new(),
        aliases => format!(" · also called {}", aliases.join(", ")),
    };
    let resumes = if reason.auto_resumable { " · resumes by itself" } else { "" };
    let facts = format!(
        "{} · exit {}{resumes}{aliases}",
        reason.family.as_str().replace('_', " "),
        reason.exit_code
    );
    // The page begins with its code as a heading; here the title stands beside it.
    let body = reason.page.split_once('\n').map_or("", |(_, body)| body);
    format!("{}  {}\n{}{}", reason.code.bold(), reason.title, wrapped(&facts, ""), readable(body))
}

/// Markdown for a terminal: long lines folded, but for what stands in fences.
fn readable(markdown: &str) -> String {
    let mut text = String::new();
    let mut inside_fence = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            inside_fence = !inside_fence;
        } else if inside_fence {
            text.push_str(&format!("  {line}\n"));
        } else if let Some(heading) = line.strip_prefix("## ") {
            text.push_str(&format!("{}\n", heading.bold()));
        } else if let Some(item) = line.strip_prefix("- ") {
            text.push_str(&hanging("- ", item));
        } else {
            text.push_str(&wrapped(line, ""));
        }
    }
    text
}
