//! What the inner process tells the outer one, a line each.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use backstop_core::id::RunId;

/// A message to the outer process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The run that is supervised now.
    Run(RunId),
    /// The control group that it is about to be in.
    ControlGroup(PathBuf),
    /// The tree is stopped.
    Suspended,
    /// Whether the terminal has a live block.
    Block(bool),
}

impl Message {
    pub fn line(&self) -> String {
        match self {
            Self::Run(run) => format!("run {run}\n"),
            Self::ControlGroup(path) => format!("cgroup {}\n", hexadecimal(path)),
            Self::Suspended => "suspended\n".to_owned(),
            Self::Block(true) => "block shown\n".to_owned(),
            Self::Block(false) => "block gone\n".to_owned(),
        }
    }

    pub fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("run", name) => name.parse().ok().map(Self::Run),
            ("cgroup", path) => from_hexadecimal(path).map(Self::ControlGroup),
            ("suspended", "") => Some(Self::Suspended),
            ("block", "shown") => Some(Self::Block(true)),
            ("block", "gone") => Some(Self::Block(false)),
            _ => None,
        }
    }
}

/// Lines out of the pieces in which they arrive.
#[derive(Debug, Default)]
pub struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// The messages that are complete with this piece.
    pub fn take_in(&mut self, piece: &[u8]) -> Vec<Message> {
        self.rest.extend_from_slice(piece);
        let mut messages = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            messages.extend(std::str::from_utf8(&line[..end]).ok().and_then(Message::parse));
        }
        messages
    }
}

/// A path may hold any byte, a line break too.
fn hexadecimal(path: &std::path::Path) -> String {
    path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hexadecimal(text: &str) -> Option<PathBuf> {
    let digits = text.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> =
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    bytes.map(|bytes| PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_being_cut_anywhere() {
        let path = PathBuf::from(std::ffi::OsString::from_vec(b"/a b\n\xff".to_vec()));
        let messages = [
            Message::Run(RunId::new(5, 6)),
            Message::ControlGroup(path),
            Message::Suspended,
            Message::Block(true),
            Message::Block(false),
        ];
        let bytes: String = messages.iter().map(Message::line).collect();
        for cut in 0..bytes.len() {
            let mut lines = Lines::default();
            let mut read = lines.take_in(&bytes.as_bytes()[..cut]);
            read.extend(lines.take_in(&bytes.as_bytes()[cut..]));
            assert_eq!(read, messages, "cut at {cut}");
        }
    }

    #[test]
    fn nonsense_is_no_message() {
        let mut lines = Lines::default();
        assert_eq!(
            lines.take_in(b"\nrun\nrun x\ncgroup zz\nsuspended now\nblock\n\xff\nother\n"),
            []
        );
    }
}
