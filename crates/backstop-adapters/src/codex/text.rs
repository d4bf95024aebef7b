//! What Codex prints for people.
//!
//! Until autumn 2025 every block began with a time in brackets, and tokens were told after each
//! request: first those of the request, from 0.30 on the sum so far. Later builds have no times,
//! begin a block with a word on a line of its own, and print the whole sum once, below `tokens used`.

mod running;

use std::sync::LazyLock;

use backstop_core::time::Timestamp;
use regex::Regex;

use crate::calls::{Call, Returned};
use crate::launch::{Launch, fault_of};
use crate::totals::{Tokens, Total};
use crate::{Exit, Fault, Heard, Listener, Moment, Outcome, Shown};
use running::Running;

use super::fault::is_retry;

/// Whether Codex introduces itself: what follows is text.
pub(super) fn is_banner(line: &str) -> bool {
    match head(line) {
        Some((_, head)) => head.starts_with(BANNER) || head.starts_with("tokens used: "),
        None => line.starts_with(BANNER),
    }
}

/// Follows the blocks of the text.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    block: Block,
    gathered: String,
    style: Style,
    running: Running,
    /// The sum so far, in builds that tell it after each request.
    total: Option<Total>,
    /// An error without a time before it. A tool or the prompt may have printed it; it is Codex's
    /// if nothing follows.
    held: Option<Fault>,
    /// The latest words without a time before them. A tool may have printed them; they are the
    /// answer if nothing follows.
    answer: String,
    /// It is the standard error, and the answer stands on the standard output.
    is_beside: bool,
    /// It has told its tokens or a failure last, and nothing but words came behind.
    may_be_over: bool,
}

/// How blocks begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Style {
    /// Nothing has told it yet.
    #[default]
    Unknown,
    /// With a time, so anything else that looks like a block is quoted.
    Dated,
    /// With a word on a line of its own.
    Undated,
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
    /// A command, which may take several lines, and where it runs. Without times the same line goes
    /// on with how it ended.
    Command,
    /// A command of several lines once more, up to how it ended.
    Ending,
    /// The files that a patch changes, and how.
    Patch,
    /// What a call returned.
    Output { id: u64, exit_code: Option<i64>, failed: bool },
    /// The sum of all tokens comes next.
    Tokens,
    /// Behind the sum: the answer once more.
    Answer,
}

impl Transcript {
    /// One that stands beside the answer instead of holding it.
    pub fn beside() -> Self {
        Self { is_beside: true, ..Self::default() }
    }

    /// Whether it goes on: tools and the model print whatever they like, and the tokens come last.
    pub fn is_amid(&self) -> bool {
        !self.may_be_over
    }

    pub fn line(
        &mut self,
        line: &str,
        launch: &mut Launch,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) {
        // Builds that tell themselves on the standard error have no times: those are quoted.
        let has_times = self.style != Style::Undated && !self.is_beside;
        if let Some((at, head)) = head(line).filter(|_| has_times) {
            self.style = Style::Dated;
            self.close(launch, listener);
            // Distances in a text of last year count from its own time.
            if let Some(at) = at {
                listener.hear(Heard::At(at));
            }
            self.head(head, launch, &moment.of(at), listener);
            return;
        }
        if self.style == Style::Undated
            && self.block != Block::Settings
            && self.heading(line, launch, moment, listener)
        {
            return;
        }
        match self.block {
            Block::Settings => match line.strip_prefix("model: ") {
                Some(model) => launch.model = Some(model.trim().to_owned()),
                None if line.starts_with("user") => self.block = Block::Other,
                None => {}
            },
            Block::Ending => self.ending(line),
            Block::Command if self.style == Style::Undated => {
                self.gather(line);
                self.command(line, launch, listener);
            }
            Block::Other | Block::Answer if line.starts_with(BANNER) => {
                self.style = Style::Undated;
                self.banner(line, launch, listener);
            }
            Block::Words => {
                // The words go on behind what looked like an error, so it was among them.
                self.held = self.held.take().filter(|_| line.trim().is_empty());
                self.gather(line);
            }
            Block::Command | Block::Patch | Block::Output { .. } | Block::Answer => {
                self.gather(line);
            }
            Block::Other | Block::Tokens => self.tokens_line(line, launch, listener),
        }
    }

    /// A line that may be about tokens: newer builds print it to the standard error.
    pub fn tokens_line(&mut self, line: &str, launch: &mut Launch, listener: &mut dyn Listener) {
        if self.style == Style::Dated {
            return;
        }
        if line.trim_end() == "tokens used" {
            self.block = Block::Tokens;
        } else if self.block == Block::Tokens {
            let told = self.spent(line, launch, listener);
            self.block =
                if told && self.style == Style::Undated { Block::Answer } else { Block::Other };
        }
    }

    /// The output has ended: what was held back is told.
    pub fn finish(&mut self, exit: Option<Exit>, launch: &mut Launch, listener: &mut dyn Listener) {
        self.close(launch, listener);
        let failed = exit.is_none_or(|exit| !exit.succeeded());
        let held = self.held.take().filter(|_| failed && !self.is_beside);
        let answer = std::mem::take(&mut self.answer);
        match held {
            Some(fault) => launch.failed(fault, listener),
            None if !self.is_beside => launch.said(&answer, listener),
            None => {}
        }
    }

    fn banner(&mut self, line: &str, launch: &mut Launch, listener: &mut dyn Listener) {
        self.finish(None, launch, listener);
        self.block = Block::Settings;
        self.may_be_over = false;
        self.running = Running::default();
        self.total = tells_sums(line).then(Total::default);
        if self.is_beside {
            launch.touch(listener);
        } else {
            launch.begin(None, Outcome::Succeeded, listener);
        }
    }

    /// What follows a time.
    fn head(
        &mut self,
        head: &str,
        launch: &mut Launch,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) {
        self.may_be_over = false;
        if self.ended(head) {
        } else if let Some(message) = head.strip_prefix("ERROR: ") {
            self.may_be_over = true;
            launch.failed(fault_of(message, moment), listener);
        } else if let Some(tokens) = head.strip_prefix("tokens used: ") {
            self.spent(tokens, launch, listener);
        } else if let Some(command) = head.strip_prefix("exec ") {
            self.block = Block::Command;
            self.gather(command);
            // One whose folder is not told yet goes on in the next line.
            if in_folder(command).is_some() {
                self.close(launch, listener);
            }
        } else if let Some(call) = head.strip_prefix("tool ") {
            self.tool(call, launch, listener);
        } else if head.starts_with("apply_patch auto_approved=") {
            self.block = Block::Patch;
        } else if head.starts_with(BANNER) {
            self.banner(head, launch, listener);
        } else if head.starts_with("stream error") || is_retry(head) {
            listener.hear(Heard::Shown(Shown::Notice(head)));
        } else if head.trim_end() == "codex" {
            self.block = Block::Words;
        } else if self.running.has_first_line(head) {
            self.block = Block::Ending;
            self.gather(head);
        }
    }

    /// A line that begins a block without a time; false if it begins none.
    fn heading(
        &mut self,
        line: &str,
        launch: &mut Launch,
        moment: &Moment,
        listener: &mut dyn Listener,
    ) -> bool {
        let line = line.trim_end();
        let block = match line {
            "exec" => Block::Command,
            "codex" => Block::Words,
            "file update" => Block::Patch,
            "tokens used" => Block::Tokens,
            "thinking" | "user" => Block::Other,
            _ => {
                if let Some(message) = line.strip_prefix("ERROR: ")
                    && self.block != Block::Answer
                {
                    self.held = Some(fault_of(message, moment));
                    self.may_be_over = true;
                    if self.block == Block::Words {
                        self.gather(line);
                    }
                } else if TOOL.is_match(line) {
                    self.close(launch, listener);
                    self.went_on(listener);
                    self.tool(&line["tool ".len()..], launch, listener);
                } else if self.running.is_ended_by(line) {
                    self.close(launch, listener);
                    self.ended(line);
                } else {
                    return false;
                }
                return true;
            }
        };
        self.close(launch, listener);
        if block != Block::Tokens {
            self.may_be_over = false;
            self.went_on(listener);
        }
        self.block = block;
        true
    }

    /// Codex works on, so what was held back were neither its last words nor its failure.
    fn went_on(&mut self, listener: &mut dyn Listener) {
        self.held = None;
        let words = std::mem::take(&mut self.answer);
        if !words.is_empty() {
            listener.hear(Heard::Shown(Shown::Text(&words)));
        }
    }

    fn tool(&mut self, call: &str, launch: &mut Launch, listener: &mut dyn Listener) {
        let (tool, arguments) = call.split_once('(').unwrap_or((call, ""));
        let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
        self.begin(call, Call::of_text(tool, arguments), launch, listener);
    }

    fn begin(&mut self, told: &str, call: Call, launch: &mut Launch, listener: &mut dyn Listener) {
        let id = self.running.begin(told);
        launch.calls.begin(&id.to_string(), call, listener);
    }

    /// Whether a call ended with these words. Its output follows.
    fn ended(&mut self, told: &str) -> bool {
        let Some(ended) = ENDED.captures(told) else { return false };
        let label = told[..ended.get(0).map_or(0, |end| end.start())].trim_end();
        let exit_code = ended.name("code").and_then(|code| code.as_str().parse().ok());
        self.block = match self.running.end(label) {
            Some(id) => Block::Output { id, exit_code, failed: ended.name("failed").is_some() },
            None => Block::Other,
        };
        true
    }

    /// Another line of how a command of several lines ended.
    fn ending(&mut self, line: &str) {
        self.gather(line);
        if ENDED.is_match(line) {
            let told = std::mem::take(&mut self.gathered);
            self.ended(told.trim_end());
        }
    }

    /// Without times, a command has been run when a line says how it ended.
    fn command(&mut self, line: &str, launch: &mut Launch, listener: &mut dyn Listener) {
        if !ENDED.is_match(line) {
            // So long is no command: it was a word of some output.
            if self.gathered.len() >= MOST_GATHERED {
                self.block = Block::Other;
            }
            return;
        }
        let told = std::mem::take(&mut self.gathered);
        let told = told.trim_end();
        self.block = Block::Other;
        let Some(end) = ENDED.find(told) else { return };
        let begun = told[..end.start()].trim_end();
        // It has ended, so the folder is whole, blanks or not.
        if let Some(command) = in_folder(begun).or_else(|| before_folder(begun)) {
            self.begin(begun, Call::of_text("shell", command), launch, listener);
            self.ended(told);
        }
    }

    fn gather(&mut self, line: &str) {
        if self.gathered.len() < MOST_GATHERED {
            self.gathered.push_str(line);
            self.gathered.push('\n');
        }
    }

    /// A block has ended: what was gathered of it is told.
    fn close(&mut self, launch: &mut Launch, listener: &mut dyn Listener) {
        let gathered = std::mem::take(&mut self.gathered);
        match std::mem::take(&mut self.block) {
            Block::Words if self.style == Style::Dated => launch.said(gathered.trim(), listener),
            Block::Words => gathered.trim().clone_into(&mut self.answer),
            Block::Answer if !gathered.trim().is_empty() => {
                gathered.trim().clone_into(&mut self.answer);
                self.held = None;
            }
            Block::Command if self.style == Style::Dated => {
                let told = gathered.trim_end();
                let command = told.rsplit_once(" in ").map_or(told, |(command, _)| command);
                self.begin(told, Call::of_text("shell", command), launch, listener);
            }
            Block::Patch if FILE_CHANGED.is_match(&gathered) => {
                let first = gathered.lines().next().unwrap_or_default();
                let call = Call::of_text("apply_patch", first).with_content(&gathered);
                self.begin("apply_patch", call, launch, listener);
            }
            Block::Output { id, exit_code, failed } => {
                let returned = Returned { output: &gathered, exit_code, failed };
                launch.calls.end(&id.to_string(), returned, listener);
            }
            _ => {}
        }
    }

    /// The text tells one sum without kinds. It counts as input, of which nearly all of it is.
    fn spent(&mut self, tokens: &str, launch: &mut Launch, listener: &mut dyn Listener) -> bool {
        let digits: String = tokens.trim().chars().filter(|character| *character != ',').collect();
        let Ok(input) = digits.parse() else { return false };
        self.may_be_over = true;
        let mut tokens = Tokens { input, ..Tokens::default() };
        if let Some(total) = &mut self.total {
            tokens = total.advance(tokens);
        }
        launch.touch(listener);
        launch.used(tokens, None, listener);
        true
    }
}

/// The time at the beginning of a block, which is universal, and what follows it.
fn head(line: &str) -> Option<(Option<Timestamp>, &str)> {
    let found = HEAD.captures(line)?;
    let part = |index| found.get(index).map_or("", |part| part.as_str());
    Some((format!("{}Z", part(1)).parse().ok(), part(2)))
}

/// Whether a build with this banner tells the sum so far after each request.
fn tells_sums(banner: &str) -> bool {
    VERSION.captures(banner).is_some_and(|version| {
        let part = |index: usize| version[index].parse::<u32>().unwrap_or(0);
        (part(1), part(2)) >= FIRST_WITH_SUMS
    })
}

/// The command in `cargo test in /home/me`, where it says so.
fn in_folder(text: &str) -> Option<&str> {
    IN_FOLDER.find(text).map(|folder| &text[..folder.start()])
}

/// The command before the last path that a text ends with.
fn before_folder(text: &str) -> Option<&str> {
    let (command, folder) = text.rsplit_once(" in ")?;
    let is_folder = folder.starts_with(['/', '~']) || folder.get(1..3) == Some(":\\");
    (is_folder && !folder.contains('\n')).then_some(command)
}

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

static HEAD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\] (.*)$"));

static ENDED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\s(?:succeeded|success|exited (?<code>-?\d+)|(?<failed>failed)) in (?:\d+m ?)?[\d.]+m?s:$",
    )
});

static VERSION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^OpenAI Codex v(\d+)\.(\d+)"));
static IN_FOLDER: LazyLock<Regex> = LazyLock::new(|| pattern(r" in (?:[/~]|[A-Za-z]:\\)\S*$"));
static TOOL: LazyLock<Regex> = LazyLock::new(|| pattern(r"^tool [\w-]+\.[\w-]+\(.*\)$"));
static FILE_CHANGED: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[AMDR] \S"));

const BANNER: &str = "OpenAI Codex v";
const FIRST_WITH_SUMS: (u32, u32) = (0, 30);
/// Of a longer block the beginning is enough to know it again.
const MOST_GATHERED: usize = 256 * 1024;
