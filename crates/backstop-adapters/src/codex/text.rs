//! What Codex prints for people.
//!
//! Until autumn 2025 every block began with a time in brackets, and the tokens of each request were
//! told after it. Later builds print the whole sum once, on a line of its own below `tokens used`.

use std::sync::LazyLock;

use regex::Regex;

use crate::calls::{Call, Returned};
use crate::launch::{Launch, fault_of};
use crate::totals::Tokens;
use crate::{Heard, Listener, Moment, Outcome, Shown};

/// Whether Codex introduces itself: what follows is text.
pub(super) fn is_banner(line: &str) -> bool {
    match head(line) {
        Some(head) => head.starts_with("OpenAI Codex v") || head.starts_with("tokens used: "),
        None => line.starts_with("OpenAI Codex v"),
    }
}

/// Follows the blocks of the text.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    block: Block,
    gathered: String,
    /// Blocks begin with a time, so anything else that looks like one is quoted.
    is_dated: bool,
    /// Calls have no names in the text. They return in the order in which they began.
    begun: u64,
    returned: u64,
}

/// What the lines belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Block {
    /// What Codex was told to do, what it thinks, and anything that is not known.
    #[default]
    Other,
    /// Between the rules at the very beginning: model, folder, permissions.
    Settings,
    /// What it says.
    Words,
    /// What a call returned.
    Output { exit_code: Option<i64>, failed: bool },
    /// The sum of all tokens comes next.
    Tokens,
}

impl Transcript {
    pub fn line(
        &mut self,
        line: &str,
        launch: &mut Launch,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) {
        if let Some(head) = head(line) {
            self.is_dated = true;
            self.close(launch, listener);
            self.head(head, launch, moment, listener);
            return;
        }
        match self.block {
            Block::Settings => match line.strip_prefix("model: ") {
                Some(model) => launch.model = Some(model.trim().to_owned()),
                None if line.starts_with("user") => self.block = Block::Other,
                None => {}
            },
            Block::Words | Block::Output { .. } if self.gathered.len() < MOST_GATHERED => {
                self.gathered.push_str(line);
                self.gathered.push('\n');
            }
            _ if line.starts_with("OpenAI Codex v") => {
                self.block = Block::Settings;
                launch.begin(None, Outcome::Succeeded, listener);
            }
            _ => self.tokens_line(line, launch, listener),
        }
    }

    /// A line that may be about tokens: newer builds print it to the standard error.
    pub fn tokens_line(&mut self, line: &str, launch: &mut Launch, listener: &mut dyn Listener) {
        if self.is_dated {
            return;
        }
        if line.trim_end() == "tokens used" {
            self.block = Block::Tokens;
        } else if self.block == Block::Tokens {
            self.block = Block::Other;
            spent(line, launch, listener);
        }
    }

    fn head(
        &mut self,
        head: &str,
        launch: &mut Launch,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) {
        if let Some(ended) = ENDED.captures(head) {
            let exit_code = ended.name("code").and_then(|code| code.as_str().parse().ok());
            self.block = Block::Output { exit_code, failed: ended.name("failed").is_some() };
        } else if let Some(message) = head.strip_prefix("ERROR: ") {
            launch.failed(fault_of(message, moment), listener);
        } else if let Some(tokens) = head.strip_prefix("tokens used: ") {
            spent(tokens, launch, listener);
        } else if let Some(command) = head.strip_prefix("exec ") {
            let command = command.rsplit_once(" in ").map_or(command, |(command, _)| command);
            self.begin(Call::of_text("shell", command), launch, listener);
        } else if let Some(call) = head.strip_prefix("tool ") {
            let (tool, arguments) = call.split_once('(').unwrap_or((call, ""));
            let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
            self.begin(Call::of_text(tool, arguments), launch, listener);
        } else if head.starts_with("OpenAI Codex v") {
            self.block = Block::Settings;
            launch.begin(None, Outcome::Succeeded, listener);
        } else if head.starts_with("stream error") {
            listener.hear(Heard::Shown(Shown::Notice(head)));
        } else if head.trim_end() == "codex" {
            self.block = Block::Words;
        }
    }

    fn begin(&mut self, call: Call, launch: &mut Launch, listener: &mut dyn Listener) {
        launch.calls.begin(&self.begun.to_string(), call, listener);
        self.begun += 1;
    }

    /// A block has ended: what was gathered of it is told.
    pub fn close(&mut self, launch: &mut Launch, listener: &mut dyn Listener) {
        let gathered = std::mem::take(&mut self.gathered);
        match std::mem::take(&mut self.block) {
            Block::Words => launch.said(gathered.trim(), listener),
            Block::Output { exit_code, failed } if self.returned < self.begun => {
                let returned = Returned { output: &gathered, exit_code, failed };
                launch.calls.end(&self.returned.to_string(), returned, listener);
                self.returned += 1;
            }
            _ => {}
        }
    }
}

/// The text tells one sum without kinds. It counts as input, of which nearly all of it is.
fn spent(tokens: &str, launch: &mut Launch, listener: &mut dyn Listener) {
    let digits: String = tokens.trim().chars().filter(|character| *character != ',').collect();
    if let Ok(input) = digits.parse() {
        launch.touch(listener);
        launch.used(Tokens { input, ..Tokens::default() }, None, listener);
    }
}

/// What follows the time at the beginning of a block.
fn head(line: &str) -> Option<&str> {
    HEAD.captures(line).map(|found| found.get(1).map_or("", |head| head.as_str()))
}

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\] (.*)$").expect("the pattern is valid")
});

static ENDED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r" (?:succeeded|success|exited (?<code>-?\d+)|(?<failed>failed)) in [\d.]+m?s:$")
        .expect("the pattern is valid")
});

/// Of a longer block the beginning is enough to know it again.
const MOST_GATHERED: usize = 256 * 1024;
