//! Output of agents: nothing is told that is not there.

use std::fmt::Write as _;

use backstop_adapters::{Agent, Exit, Outcome};
use backstop_core::event::EventKind;

use super::quoting;
use super::told::{Told, seeds};

/// Streams of every agent, which are lines.
fn streams() -> Vec<(Agent, String, String)> {
    let mut streams = Vec::new();
    for agent in Agent::ALL {
        let own = seeds("agents", agent.name());
        assert!(!own.is_empty() || agent == Agent::Generic, "{agent} has no stream");
        streams.extend(own.into_iter().map(|(name, text)| (agent, name, text)));
    }
    streams.push((Agent::Generic, "words".to_owned(), "Some words.\nDone.\n".to_owned()));
    streams
}

/// The same, without what takes several lines for one record.
fn streams_of_lines() -> impl Iterator<Item = (Agent, String, String)> {
    streams().into_iter().filter(|(_, name, _)| !matches!(&**name, "gemini-session.json"))
}

#[test]
fn the_encoding_makes_no_difference() {
    for (agent, name, text) in streams() {
        let expected = Told::of(agent, text.as_bytes());
        for (unit, mark) in [
            (u16::to_le_bytes as fn(u16) -> [u8; 2], "\u{feff}"),
            (u16::to_be_bytes, "\u{feff}"),
            (u16::to_le_bytes, ""),
            (u16::to_be_bytes, ""),
        ] {
            let units = mark.encode_utf16().chain(text.encode_utf16());
            let bytes: Vec<u8> = units.flat_map(unit).collect();
            assert_eq!(Told::of(agent, &bytes), expected, "{name}");
        }
        let marked = format!("\u{feff}{text}");
        assert_eq!(Told::of(agent, marked.as_bytes()), expected, "{name}");
    }
}

/// A tool that writes sixteen bits into a stream of others, or after a line that tells nothing.
#[test]
fn an_encoding_that_changes_on_the_way_makes_no_difference() {
    for (agent, name, text) in streams_of_lines().filter(|(_, name, _)| name.ends_with(".jsonl")) {
        let expected = Told::of(agent, text.as_bytes());
        let (first, rest) = text.split_once('\n').unwrap();
        let later: Vec<u8> = rest.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let changed = [first.as_bytes(), b"\n", &later].concat();
        assert_eq!(Told::of(agent, &changed), expected, "{name}");
        let frame = format!("╭───╮\n{text}");
        let framed: Vec<u8> = frame.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(Told::of(agent, &framed), expected, "{name}");
    }
}

#[test]
fn ends_of_lines_and_colours_make_no_difference() {
    for (agent, name, text) in streams() {
        let expected = Told::of(agent, text.as_bytes());
        let windows = text.replace('\n', "\r\n");
        assert_eq!(Told::of(agent, windows.as_bytes()), expected, "{name}");
    }
    for (agent, name, text) in streams_of_lines().filter(|(_, name, _)| name != "claude-array.txt")
    {
        let expected = Told::of(agent, text.as_bytes());
        let coloured: Vec<_> = text.lines().map(|line| format!("\x1b[2m{line}\x1b[0m")).collect();
        assert_eq!(Told::of(agent, coloured.join("\n").as_bytes()), expected, "{name}");
        let titled = text.lines().map(|line| format!("\x1b]0;agent\x07\x1b[?25l{line}"));
        let titled: Vec<_> = titled.collect();
        assert_eq!(Told::of(agent, titled.join("\n").as_bytes()), expected, "{name}");
    }
}

#[test]
fn half_a_line_tells_nothing_that_neither_none_nor_all_of_it_does() {
    for (agent, name, text) in streams() {
        let mut before = Told::of(agent, b"");
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            let after = Told::of(agent, &text.as_bytes()[..end]);
            let known = [before.failures(), after.failures()].concat();
            let actions = before.count("action").max(after.count("action"));
            for cut in start..end {
                let told = Told::of(agent, &text.as_bytes()[..cut]);
                let has_no_other = told.failures().iter().all(|failure| known.contains(failure));
                assert!(has_no_other, "{name} cut at {cut}: {told:?}");
                assert!(told.count("action") <= actions, "{name} cut at {cut}: {told:?}");
                assert!(told.cost() <= before.cost().max(after.cost()), "{name} cut at {cut}");
            }
            (before, start) = (after, end);
        }
    }
}

/// Programs that log in JSON beside the agent, on the same stream.
#[test]
fn a_line_of_somebodys_log_tells_nothing() {
    for (agent, name, text) in streams_of_lines().filter(|(_, name, _)| name.ends_with(".jsonl")) {
        let expected = Told::of(agent, text.as_bytes()).failures();
        let lines: Vec<&str> = text.lines().collect();
        for place in 0..=lines.len() {
            let log = r#"{"level":50,"time":1751997600,"type":"error","msg":"cache miss"}"#;
            let with = [&lines[..place], &[log], &lines[place..]].concat().join("\n");
            assert_eq!(Told::of(agent, with.as_bytes()).failures(), expected, "{name} at {place}");
        }
    }
}

#[test]
fn without_its_terminal_record_a_stream_was_cut_off() {
    for (agent, name, text) in streams_of_lines() {
        let has_terminal_record = matches!(
            &*name,
            "claude-stream.jsonl" | "codex-exec.jsonl" | "cursor.jsonl" | "gemini-stream.jsonl"
        );
        if !has_terminal_record {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        let end = lines.iter().position(|line| is_terminal(line)).unwrap();
        for kept in 1..=end {
            let last = lines[end].get(..lines[end].len() / 2).unwrap();
            for cut in [lines[..kept].join("\n"), format!("{}\n{last}", lines[..kept].join("\n"))] {
                assert_ne!(Told::of(agent, cut.as_bytes()).outcome, Outcome::Succeeded, "{name}");
            }
        }
    }
}

fn is_terminal(line: &str) -> bool {
    ["\"result\"", "turn.completed", "turn.failed"].iter().any(|mark| line.contains(mark))
}

#[test]
fn other_programs_lines_between_make_no_difference() {
    let others = [
        "npm warn deprecated inflight@1.0.6: This module is not supported",
        "[DEBUG] rate limit reached, 429 Too Many Requests",
        "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
        "You've hit your usage limit. Try again at 3:05 PM.",
        "(node:1) Warning: ECONNRESET",
        "Killed",
        "{not json}",
        "{\"level\":\"warn\",\"message\":\"Credit balance is too low\"}",
        "\x1b[33m⚠\x1b[0m 12 passing (3ms)",
    ];
    for (agent, name, text) in streams_of_lines() {
        // Where nothing but text comes, another program's text can't be told from it.
        if !name.ends_with(".jsonl") {
            continue;
        }
        let expected = Told::of(agent, text.as_bytes());
        let lines: Vec<&str> = text.lines().collect();
        for other in others {
            // What comes before the first record is looked at to tell whose output it is.
            let mixed = lines.join(&format!("\n{other}\n"));
            assert_eq!(Told::of(agent, mixed.as_bytes()), expected, "{name}: {other}");
        }
    }
}

#[test]
fn long_lines_are_read_or_left_out() {
    let long = "x".repeat(50 << 20);
    let padding = format!("{{\"type\":\"padding\",\"x\":\"{long}\"}}\n{long}");
    for (agent, name, text) in streams_of_lines().filter(|(_, name, _)| name.ends_with(".jsonl")) {
        let expected = Told::of(agent, text.as_bytes());
        // Part of a record, a record of its own, and no record at all.
        let (first, rest) = text.split_once('\n').unwrap();
        let first = &first[..first.len() - 1];
        let padded = format!("{first},\"padding\":\"{long}\"}}\n{padding}\n{rest}");
        assert_eq!(Told::of(agent, padded.as_bytes()), expected, "{name}");
    }
}

#[test]
fn nesting_without_end_hides_nothing() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    for (agent, name, text) in streams_of_lines().filter(|(_, name, _)| name.ends_with(".jsonl")) {
        let expected = Told::of(agent, text.as_bytes());
        let (first, rest) = text.split_once('\n').unwrap();
        for deep in [&deep, &objects] {
            let inside = format!("{},\"deep\":{deep}}}\n{rest}", &first[..first.len() - 1]);
            assert_eq!(Told::of(agent, inside.as_bytes()), expected, "{name}");
            let between = format!("{first}\n{{\"type\":\"x\",\"deep\":{deep}}}\n{deep}\n{rest}");
            assert_eq!(Told::of(agent, between.as_bytes()), expected, "{name}");
        }
    }
}

#[test]
fn absurd_numbers_are_no_figures() {
    for (agent, name, text) in streams() {
        for number in ["-1", "-0.5", "1e999", "-1e999", "1e300", "18446744073709551616", "1e16"] {
            let told = Told::of(agent, with_numbers(&text, number).as_bytes());
            for event in &told.events {
                if let EventKind::Usage(usage) = event {
                    let counts = [
                        usage.input_tokens,
                        usage.output_tokens,
                        usage.cache_read_tokens,
                        usage.cache_write_tokens,
                    ];
                    assert_eq!(counts, [0; 4], "{name} with {number}: {event:?}");
                    assert!(
                        usage.cost_usd.is_none_or(|cost| (0.0..=1e9).contains(&cost)),
                        "{name} with {number}: {event:?}"
                    );
                }
                if let EventKind::Quota(quota) = event {
                    assert!((0.0..=1.0).contains(&quota.used), "{name} with {number}: {event:?}");
                }
            }
        }
    }
}

/// The text with this number in the place of each that follows a colon and a blank.
fn with_numbers(text: &str, number: &str) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(found) = rest.find(": ").filter(|_| !rest.is_empty()) {
        let (before, after) = rest.split_at(found + 2);
        let digits = after.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(after.len());
        replaced.push_str(before);
        if digits > 0 {
            write!(replaced, "{number}").unwrap();
        }
        rest = &after[digits..];
    }
    replaced + rest
}

/// A prompt or a file that holds every text of a limit and every phrase of completion there is.
#[test]
fn what_is_quoted_is_not_said() {
    for (agent, stream) in quoting::streams() {
        let told = Told::of(agent, stream.as_bytes());
        assert!(told.faults().is_empty(), "{agent}: {:?}", told.faults());
        assert_eq!(told.count("matched"), 0, "{agent}: {told:?}");
        assert_eq!(told.outcome, Outcome::Succeeded, "{agent}: {told:?}");
    }
}

/// Words of an agent that failed are searched for nothing but what its program says itself.
#[test]
fn what_a_failing_agent_quotes_is_not_why_it_failed() {
    let exit = Some(Exit { code: Some(1), signal: None });
    let text = quoting::answer(&quoting::everything());
    // aider's own lines are no different on the screen.
    for agent in Agent::ALL.into_iter().filter(|agent| *agent != Agent::Aider) {
        let told = Told::at_exit(agent, text.as_bytes(), exit);
        assert!(told.faults().is_empty(), "{agent}: {:?}", told.faults());
        assert_eq!(told.outcome, Outcome::Failed, "{agent}: {told:?}");
    }
}
