//! The command of an agent where it is only printed, as `make` and `set -x` do before they run it.
//! What an agent is asked to say there is said by nobody.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::command::{arguments, commands};

/// Follows some output, and tells which of its lines are an agent's command.
#[derive(Debug, Default)]
pub struct PrintedCommand {
    is_amid_line: bool,
    /// The line is one, or goes on with one.
    is_inside: bool,
    words: Words,
    /// The lines behind its first one. They are none of it if its quotes are never closed.
    held: Vec<u8>,
    lines: usize,
    given_back: Vec<u8>,
}

/// Where in the words of a shell's command its output so far has come to.
#[derive(Debug, Default)]
struct Words {
    quote: Option<Quote>,
    is_escaped: bool,
    is_comment: bool,
    /// The first byte of the word that it is in.
    word: Option<u8>,
    latest: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    Single,
    Double,
    /// `$'…'`, in which a backslash escapes.
    Dollar,
}

impl PrintedCommand {
    /// How much of this output is certain to be no such command. The rest begins with a line, or
    /// is a line's.
    pub fn length_before(&self, output: &[u8]) -> usize {
        if self.is_inside {
            return 0;
        }
        let mut from = 0;
        if self.is_amid_line {
            from = memchr::memchr(b'\n', output).map_or(output.len(), |end| end + 1);
        }
        let Some(name) = NAMES.find(&output[from..]) else { return output.len() };
        let before = &output[..from + name.start()];
        memchr::memrchr(b'\n', before).map_or(from, |end| end + 1)
    }

    /// Passes over output that is none.
    pub fn pass(&mut self, output: &[u8]) {
        self.is_amid_line = output.last().map_or(self.is_amid_line, |last| *last != b'\n');
    }

    /// Whether a line, or a part of one, is or may belong to such a command.
    pub fn takes(&mut self, line: &[u8]) -> bool {
        if !self.is_amid_line && !self.is_inside {
            let start = &line[..line.len().min(LONGEST_START)];
            self.is_inside = is_command(&String::from_utf8_lossy(start));
            (self.words, self.lines) = (Words::default(), 0);
        }
        self.pass(line);
        if !self.is_inside {
            return false;
        }
        if self.lines > 0 {
            self.held.extend_from_slice(line);
        }
        let goes_on = self.words.follow(line);
        self.lines += usize::from(!self.is_amid_line);
        if !self.is_amid_line && !goes_on {
            self.is_inside = false;
            self.held.clear();
        } else if self.held.len() > LONGEST || self.lines > MOST_LINES {
            self.end();
        }
        true
    }

    /// The output has ended, or too much has come: a quote that is still open was none. Says whether
    /// one was.
    pub fn end(&mut self) -> bool {
        let was_inside = std::mem::take(&mut self.is_inside);
        if was_inside && !self.held.is_empty() {
            self.given_back = std::mem::take(&mut self.held);
            // They come again, from the beginning of a line.
            self.is_amid_line = false;
        }
        was_inside
    }

    /// Lines that were taken and turned out to be none of a command. They are to be passed again, since
    /// another one may stand in them.
    pub fn given_back(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.given_back)
    }
}

impl Words {
    /// Follows the shell's quotes, and says whether the command goes on behind the last line's end.
    fn follow(&mut self, line: &[u8]) -> bool {
        let mut is_continued = false;
        for (at, byte) in line.iter().copied().enumerate() {
            is_continued = false;
            match (self.quote, byte) {
                _ if self.is_comment => self.is_comment = byte != b'\n',
                _ if self.is_escaped => {
                    self.is_escaped = false;
                    is_continued = byte == b'\n';
                }
                (Some(Quote::Single | Quote::Dollar), b'\'') | (Some(Quote::Double), b'"') => {
                    self.quote = None;
                }
                (Some(Quote::Single), _) => {}
                (_, b'\\') => self.is_escaped = true,
                (None, b'\'') if self.latest == b'$' => self.quote = Some(Quote::Dollar),
                (None, b'\'') if self.is_apostrophe(line.get(at + 1)) => {}
                (None, b'\'') => self.quote = Some(Quote::Single),
                (None, b'"') => self.quote = Some(Quote::Double),
                (None, b'#') if self.word.is_none() => self.is_comment = true,
                _ => {}
            }
            let is_between = self.quote.is_none() && byte.is_ascii_whitespace();
            self.word = if is_between { None } else { self.word.or(Some(byte)) };
            self.latest = byte;
        }
        is_continued || self.quote.is_some()
    }

    /// Whether a mark stands in the middle of a word, as it does where people write.
    fn is_apostrophe(&self, next: Option<&u8>) -> bool {
        self.word != Some(b'-')
            && self.latest.is_ascii_alphanumeric()
            && next.is_some_and(u8::is_ascii_alphanumeric)
    }
}

/// Whether a line is a shell's command that starts an agent and tells it what to do: a sentence that
/// begins with an agent's name is none.
fn is_command(line: &str) -> bool {
    let line = line.trim_start_matches(['+', '$', '>', ' ', '\t']);
    commands(line).iter().any(|words| {
        let Some(arguments) = arguments(words) else { return false };
        let is_verb = |word: &&String| VERBS.contains(&word.as_str());
        let verbs = arguments.iter().take(MOST_VERBS).take_while(is_verb).count();
        arguments.get(verbs).is_some_and(|word| is_option(word) || is_quoted(word))
    })
}

fn is_option(word: &str) -> bool {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
    name.is_some_and(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()))
}

/// Only quotes keep blanks in one word.
fn is_quoted(word: &str) -> bool {
    word.contains(char::is_whitespace)
}

/// What agents are told to do before what it is about.
const VERBS: &[&str] = &["exec", "e", "run", "resume", "prompt", "chat"];
const MOST_VERBS: usize = 2;

/// So much of a line is looked at to see what it is.
const LONGEST_START: usize = 1024;

/// What is longer was never closed.
const LONGEST: usize = 256 << 10;
const MOST_LINES: usize = 512;

/// What a line has in it that starts an agent. The short names are in many words.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"claude|codex|gemini|opencode|aider|cursor-agent|goose|pi-coding-agent|sourcegraph/amp|amp -|amp '|amp "|pi -|pi '|pi ""#,
    )
    .expect("the pattern is valid")
});

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("claude -p 'say ALL DONE'\n")]
    #[case("+ claude -p 'say ALL DONE' --verbose\n")]
    #[case("++ codex exec 'fix it, then say ALL DONE'\n")]
    #[case("opencode run \"fix it, then say ALL DONE\"\n")]
    #[case("$ npx -y @openai/codex exec --json 'ALL DONE'\n")]
    #[case("> claude -p \"ALL DONE\"\n")]
    #[case("cd app && claude -p 'say ALL DONE' --verbose\n")]
    #[case("ANTHROPIC_MODEL=opus claude -p 'say ALL DONE'\n")]
    #[case("timeout 10m goose run -t 'ALL DONE'\n")]
    #[case("sh -c \"claude -p 'ALL DONE'\"\n")]
    #[case("pi -p 'ALL DONE'\n")]
    #[case("cat PROMPT.md | amp -x\n")]
    #[case("docker run --rm img claude -p \"say ALL DONE\"\n")]
    fn a_printed_command_is_noticed(#[case] line: &str) {
        assert_eq!(PrintedCommand::default().length_before(line.as_bytes()), 0);
        assert!(PrintedCommand::default().takes(line.as_bytes()));
    }

    #[rstest]
    #[case("claude finished -- ALL DONE\n")]
    #[case("goose loop ended - ALL DONE\n")]
    #[case("codex: ALL DONE\n")]
    #[case("Claude -p is how to ask it\n")]
    #[case("claude said \"it is well\": ALL DONE\n")]
    #[case("echo claude -p 'ALL DONE'\n")]
    #[case("the example -- ALL DONE\n")]
    fn a_sentence_is_none(#[case] line: &str) {
        assert!(!PrintedCommand::default().takes(line.as_bytes()));
    }

    #[test]
    fn it_goes_on_until_its_quotes_are_closed() {
        let lines: [(&str, bool); 9] = [
            ("building\n", false),
            ("+ claude -p 'first, don'\\''t stop\n", true),
            ("then say ALL DONE' \\\n", true),
            ("  --verb", true),
            ("ose\n", true),
            ("ALL DONE\n", false),
            ("said by claude, in the mid", false),
            ("dle: claude -p\n", false),
            ("codex exec \"ALL DONE\"\n", true),
        ];
        let mut command = PrintedCommand::default();
        for (line, is_its) in lines {
            assert_eq!(command.takes(line.as_bytes()), is_its, "{line:?}");
        }
    }

    #[test]
    fn a_quote_that_is_never_closed_gives_back_what_came_behind() {
        let mut command = PrintedCommand::default();
        assert!(command.takes(b"claude -p 'what\n"));
        assert!(command.takes(b"one\n") && command.takes(b"two"));
        assert_eq!(command.given_back(), b"");
        assert!(command.end());
        assert_eq!(command.given_back(), b"one\ntwo");
        assert!(!command.end());
        assert_eq!(command.given_back(), b"");

        let mut command = PrintedCommand::default();
        assert!(command.takes(b"claude -p 'what\n"));
        let many = "line\n".repeat(2 * MOST_LINES);
        let taken = many.split_inclusive('\n').take_while(|line| command.takes(line.as_bytes()));
        assert_eq!(taken.count(), MOST_LINES);
        assert_eq!(command.given_back(), &many.as_bytes()[..5 * MOST_LINES]);
        let mut command = PrintedCommand::default();
        assert!(command.takes(b"claude -p 'what\n"));
        assert!(command.takes(&b"x".repeat(LONGEST + 1)));
        assert_eq!(command.given_back().len(), LONGEST + 1);
    }

    #[rstest]
    #[case("claude --version isn't there\n")]
    #[case("  claude -p  print mode (don't ask)\n")]
    #[case("aider --yes   it's on\n")]
    #[case("gemini -p is what I'd use\n")]
    #[case("codex exec resume --last  # Codex's own, and the users'\n")]
    #[case("claude -p $'don\\'t'\n")]
    #[case("claude -p 'x' --append 'y' # it's\n")]
    fn an_apostrophe_opens_nothing(#[case] line: &str) {
        let mut command = PrintedCommand::default();
        assert!(command.takes(line.as_bytes()));
        assert!(!command.takes(b"ALL DONE\n"));
    }

    #[test]
    fn a_quote_right_behind_an_option_is_one() {
        let mut command = PrintedCommand::default();
        assert!(command.takes(b"claude -p'fix it\n"));
        assert!(command.takes(b"and say ALL DONE'\n"));
        assert!(!command.takes(b"ALL DONE\n"));
    }

    #[test]
    fn what_can_be_none_is_passed_over() {
        let mut command = PrintedCommand::default();
        let output = b"one\ntwo\nclaude -p x\nthree";
        assert_eq!(command.length_before(output), 8);
        assert_eq!(command.length_before(b"nothing\nof the kind"), 19);
        command.pass(b"amid a ");
        assert_eq!(command.length_before(b"claude -p x\nthree"), 17);
        assert_eq!(command.length_before(b"claude -p x\ncodex exec"), 12);
    }
}
