//! The fence around the core: it is told the time and the state of the world, it never asks.
//!
//! Clippy is the fence itself. These checks see that nobody takes it down, and catch by name what
//! its list of calls does not spell out.

use super::Finding;
use super::tokens::{Text, Token, is_path_separator, sources};
use super::tree::Tree;

/// The core's clippy.toml bans each family of calls.
pub fn configuration(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(CONFIGURATION) else {
        return vec![Finding::new(CONFIGURATION, 1, "does not exist: the core has no fence")];
    };
    let Ok(configuration) = text.parse::<toml::Table>() else {
        return vec![Finding::new(CONFIGURATION, 1, "is not valid TOML")];
    };
    let banned: Vec<&str> = ["disallowed-methods", "disallowed-types"]
        .iter()
        .filter_map(|list| configuration.get(*list)?.as_array())
        .flatten()
        .filter_map(|entry| entry.as_str().or_else(|| entry.get("path")?.as_str()))
        .collect();
    FAMILIES
        .iter()
        .filter(|(_, prefix)| !banned.iter().any(|path| path.starts_with(prefix)))
        .map(|(family, prefix)| {
            let what = format!("the fence has a gap: bans nothing of {family} (`{prefix}…`)");
            Finding::new(CONFIGURATION, 1, what)
        })
        .collect()
}

/// The core's sources name nothing that reaches out of the core.
pub fn calls(tree: &Tree) -> Vec<Finding> {
    // What cannot be read as Rust is reported by the check of all sources.
    let (sources, _) = sources(tree);
    let mut findings = Vec::new();
    for (path, tokens) in sources.iter().filter(|(path, _)| path.starts_with(CORE)) {
        for at in 0..tokens.len() {
            let reached = reached(tokens, at).into_iter();
            for (token, name) in reached.filter(|(token, name)| forbidden(name, token.in_test)) {
                let what = format!("`{name}` in the core: hand the answer in as a value");
                findings.push(Finding::new(path, token.line, what));
            }
        }
    }
    findings
}

/// The names that matter to the fence and begin at this token, each with its own token.
fn reached(tokens: &[Token], at: usize) -> Vec<(&Token, String)> {
    let token = &tokens[at];
    let Some(word) = token.word() else {
        return Vec::new();
    };
    let path_follows = is_path_separator(tokens, at + 1);
    match word {
        "std" if path_follows => members(tokens, at + 3)
            .into_iter()
            .filter_map(|member| Some((member, format!("std::{}", member.word()?))))
            .collect(),
        "Instant" if path_follows => members(tokens, at + 3)
            .into_iter()
            .filter_map(|member| Some((member, format!("Instant::{}", member.word()?))))
            .collect(),
        "SystemTime" => vec![(token, word.to_owned())],
        _ if CRATES.contains(&word) && is_crate_name(tokens, at, path_follows) => {
            vec![(token, word.to_owned())]
        }
        _ => Vec::new(),
    }
}

/// The first words after `::`: the one word, or those of each entry of a `{…}`.
fn members(tokens: &[Token], at: usize) -> Vec<&Token> {
    let Some(first) = tokens.get(at) else {
        return Vec::new();
    };
    if first.text != Text::Open('{') {
        return vec![first];
    }
    let mut members = Vec::new();
    let mut depth = 0;
    let mut expected = true;
    for token in &tokens[at..] {
        match token.text {
            Text::Open(_) => depth += 1,
            Text::Close(_) => depth -= 1,
            Text::Mark(',') if depth == 1 => expected = true,
            Text::Word(_) if depth == 1 && expected => {
                members.push(token);
                expected = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    members
}

/// Whether the word here names a crate: the root of a path, or all of a `use`.
fn is_crate_name(tokens: &[Token], at: usize, path_follows: bool) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else {
        return path_follows;
    };
    let imported = before.is_word("use") || before.is_word("crate");
    // `::log::info!` is the crate as well, but `self::log::…` is not.
    let is_member = at >= 3 && is_path_separator(tokens, at - 2) && tokens[at - 3].word().is_some();
    imported || (path_follows && !is_member && !before.is_mark('.'))
}

fn forbidden(name: &str, in_test: bool) -> bool {
    // Clippy covers the tests, where a thread may be excused with a reason; a file never.
    name == "std::fs" || (!in_test && (CRATES.contains(&name) || NAMES.contains(&name)))
}

const CORE: &str = "crates/backstop-core/src/";
const CONFIGURATION: &str = "crates/backstop-core/clippy.toml";

const FAMILIES: [(&str, &str); 7] = [
    ("the clock", "std::time::SystemTime::now"),
    ("the clock", "std::time::Instant::now"),
    ("the environment", "std::env::"),
    ("files", "std::fs::"),
    ("processes", "std::process::"),
    ("threads", "std::thread::"),
    ("the network", "std::net::"),
];
const CRATES: [&str; 4] = ["tokio", "tracing", "log", "rand"];
const NAMES: [&str; 7] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::thread",
    "SystemTime",
    "Instant::now",
];

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "crates/backstop-core/src/facts.rs";

    fn found(text: &str) -> Vec<String> {
        calls(&Tree::of([(FILE, text)]))
            .iter()
            .map(|finding| finding.what.split('`').nth(1).unwrap().to_owned())
            .collect()
    }

    #[test]
    fn each_way_out_is_found() {
        for (text, name) in [
            ("use std::fs;", "std::fs"),
            ("use std::{fmt, env};", "std::env"),
            ("use std::{collections::{BTreeMap, fs}, process::exit};", "std::process"),
            ("fn a() { ::std::net::lookup() }", "std::net"),
            ("fn a() { assert!(std::thread::panicking()) }", "std::thread"),
            ("use std::time::SystemTime;", "SystemTime"),
            ("fn a() { Instant::now() }", "Instant::now"),
            ("use tokio::task;", "tokio"),
            ("fn a() { tracing::info!(b) }", "tracing"),
            ("fn a() { ::log::info!(b) }", "log"),
            ("use log;", "log"),
            ("extern crate rand;", "rand"),
            ("#[cfg(not(test))] use rand::random;", "rand"),
        ] {
            assert_eq!(found(text), [name], "{text}");
        }
    }

    #[test]
    fn what_stays_inside_is_left_alone() {
        for text in [
            "use std::{fmt, time::Duration};",
            "// std::fs and tokio::task\nconst A: &str = \"std::env::var\";",
            "fn a(log: f64) { log.rand(); x.log(2.0); self::log::b(); crate::rand::c() }",
            "#[cfg(test)] mod tests { fn a() { std::thread::scope(b); std::env::var(c) } }",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
        assert_eq!(calls(&Tree::of([("crates/backstop/src/main.rs", "use std::fs;")])), []);
    }

    #[test]
    fn files_are_out_of_reach_of_the_tests_too() {
        assert_eq!(found("#[cfg(test)] mod tests { use std::{fs, thread}; }"), ["std::fs"]);
    }

    #[test]
    fn a_fence_without_one_of_its_families_has_a_gap() {
        let whole = |without: &str| {
            let entries: String = FAMILIES
                .iter()
                .filter(|(_, prefix)| *prefix != without)
                .map(|(_, prefix)| format!("  {{ path = \"{prefix}x\", reason = \"y\" }},\n"))
                .collect();
            format!("disallowed-methods = [\n{entries}]\n")
        };
        assert_eq!(configuration(&Tree::of([(CONFIGURATION, &whole(""))])), []);
        for (family, prefix) in FAMILIES {
            let findings = configuration(&Tree::of([(CONFIGURATION, &whole(prefix))]));
            assert_eq!(findings.len(), 1, "{prefix}");
            assert!(findings[0].what.contains(family), "{}", findings[0]);
        }
    }

    #[test]
    fn no_fence_at_all_is_found() {
        assert_eq!(configuration(&Tree::default()).len(), 1);
        assert_eq!(configuration(&Tree::of([(CONFIGURATION, "not toml")])).len(), 1);
        assert_eq!(configuration(&Tree::of([(CONFIGURATION, "")])).len(), FAMILIES.len());
    }
}
