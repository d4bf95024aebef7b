//! Showing how a run went in the GitHub Action that it runs in.
//!
//! Annotations are lines of output that the Action's runner obeys, so every character of a message
//! that could end one or begin another is escaped as GitHub documents it. The supervised command
//! can print such lines as well: they are its own, and prove nothing.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use backstop_core::policy::GithubUse;
use backstop_core::state::RunStatus;
use rustix::fs::OFlags;

use super::Message;

/// A GitHub Action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Github {
    /// The file of the step's summary.
    pub summary: Option<PathBuf>,
}

impl Github {
    /// The Action that this process runs in, if it is to be used.
    pub fn around(usage: GithubUse) -> Option<Self> {
        let is_action = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        let is_used = match usage {
            GithubUse::Auto => is_action,
            GithubUse::On => true,
            GithubUse::Off => false,
        };
        let summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
        is_used.then(|| Self { summary: summary.map(PathBuf::from) })
    }

    /// Adds to the summary what is worth a section of it. Answers with what was done.
    pub fn summarise(&self, message: &Message) -> Result<&'static str, String> {
        let Some(path) = self.summary.as_ref().filter(|_| is_an_end(message)) else {
            return Ok("annotated");
        };
        match append(path, &section(message)) {
            Ok(()) => Ok("annotated, and in the step's summary"),
            Err(error) => Err(format!("the step's summary can't be written: {error}")),
        }
    }
}

/// The line that annotates the Action.
pub fn annotation(message: &Message) -> String {
    let level = match (message.event, message.status) {
        ("test", _) | ("halted", RunStatus::Completed) => "notice",
        ("halted", _) => "error",
        _ => "warning",
    };
    let title = property(&format!("backstop: {}", message.title));
    format!("::{level} title={title}::{}\n", data(&message.message))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Whether the run goes no further.
fn is_an_end(message: &Message) -> bool {
    matches!(message.event, "halted" | "held" | "test")
}

/// The section of the summary: Markdown in which nothing of the run's own words is obeyed.
fn section(message: &Message) -> String {
    let reason = message
        .reason
        .as_ref()
        .map_or(String::new(), |code| format!(" · `{}`", code.replace('`', "'")));
    let cost = message.cost_usd.map_or("not reported".to_owned(), |cost| format!("${cost:.2}"));
    let active = backstop_core::time::in_words(Duration::from_millis(message.active_ms));
    let diagnosis =
        message.diagnosis.as_deref().map_or(String::new(), |text| format!("{}\n\n", escaped(text)));
    let commands = message.next.join("\n");
    let fence = fence(&commands);
    format!(
        "## backstop: {}{reason}\n\n{}\n\n{diagnosis}\
         | run | iterations | active | tokens | cost |\n|---|---|---|---|---|\n\
         | {} | {} | {active} | {} | {cost} |\n\n{fence}sh\n{commands}\n{fence}\n\n",
        message.status,
        escaped(&message.message),
        escaped(&message.run),
        message.iteration,
        message.tokens,
    )
}

/// A text of which Markdown and HTML obey nothing.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\r' | '\n' => escaped.push(' '),
            mark if mark.is_ascii_punctuation() && !",.'\"/;?%=".contains(mark) => {
                escaped.push('\\');
                escaped.push(mark);
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// A fence that what it encloses can't close.
fn fence(content: &str) -> String {
    let longest = content.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Adds to a file that is one, without waiting, unless the whole would be more than GitHub takes.
fn append(path: &Path, text: &str) -> io::Result<()> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().create(true).append(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.len() + text.len() as u64 > LARGEST_SUMMARY {
        return Err(io::Error::other("it would be larger than 1 MiB, which GitHub refuses"));
    }
    file.write_all(text.as_bytes())
}

const LARGEST_SUMMARY: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use backstop_core::time::Timestamp;

    use super::*;

    fn message(text: &str) -> Message {
        let test = Message::test("id".to_owned(), Path::new("/shop"), Timestamp::from_nanos(0));
        Message { event: "halted", message: text.to_owned(), ..test }
    }

    #[test]
    fn an_annotation_is_one_line_whatever_the_message_says() {
        let mut hostile = message("100% done\r\n::error::forged\n::set-output name=a::b");
        hostile.status = RunStatus::Stopped;
        hostile.title = "run, a: b::c\n::warning::x".to_owned();
        assert_eq!(
            annotation(&hostile),
            "::error title=backstop%3A run%2C a%3A b%3A%3Ac%0A%3A%3Awarning%3A%3Ax\
             ::100%25 done%0D%0A::error::forged%0A::set-output name=a::b\n"
        );
    }

    #[test]
    fn the_level_tells_how_bad_it_is() {
        for (event, status, level) in [
            ("halted", RunStatus::Completed, "notice"),
            ("halted", RunStatus::Stopped, "error"),
            ("halted", RunStatus::Failed, "error"),
            ("held", RunStatus::Held, "warning"),
            ("asked", RunStatus::Running, "warning"),
            ("warn", RunStatus::Running, "warning"),
            ("test", RunStatus::Running, "notice"),
        ] {
            let line = annotation(&Message { event, status, ..message("x") });
            assert!(line.starts_with(&format!("::{level} title=")), "{event}: {line}");
        }
    }

    #[test]
    fn a_summary_obeys_nothing_of_what_a_run_says() {
        let mut hostile = message("<img src=x> **bold** | cell\n# heading [a](b) `c` ~~d~~ @me");
        hostile.next = vec!["echo ```` && rm".to_owned()];
        let text = section(&hostile);
        assert!(
            text.contains(
                r"&lt;img src=x&gt; \*\*bold\*\* \| cell \# heading \[a\]\(b\) \`c\` \~\~d\~\~ \@me"
            ),
            "{text}"
        );
        assert!(text.contains("\n`````sh\necho ```` && rm\n`````\n"), "{text}");
    }

    #[test]
    fn ends_are_added_to_the_summary_until_it_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.md");
        let github = Github { summary: Some(path.clone()) };
        assert_eq!(github.summarise(&message("one")), Ok("annotated, and in the step's summary"));
        github.summarise(&message("two")).unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        assert_eq!(written.matches("## backstop: running\n").count(), 2, "{written}");
        let warning = Message { event: "warn", ..message("three") };
        assert_eq!(github.summarise(&warning), Ok("annotated"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), written);
        std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
        let error = github.summarise(&message("four")).unwrap_err();
        assert!(error.contains("larger than 1 MiB"), "{error}");
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20);
    }

    #[test]
    fn a_pipe_in_the_place_of_the_summary_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let github = Github { summary: Some(pipe) };
        assert!(github.summarise(&message("one")).is_err());
    }
}
