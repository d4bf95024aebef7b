//! Where a watched run is shown.

use std::io::{self, IsTerminal as _, Write as _};

use crate::error::Error;

/// Standard output with a block below what is printed, where it is a terminal.
pub(super) struct Screen {
    is_terminal: bool,
    /// A line that has no end yet: shown when it has one, so that the block stays below it.
    open: String,
    block: Vec<String>,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { is_terminal: io::stdout().is_terminal(), open: String::new(), block: Vec::new() }
    }

    /// How wide the block may be; none if there is to be none.
    pub(super) fn columns(&self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        // The last column is left free: some terminals wrap when it is filled.
        self.is_terminal
            .then(|| usize::from(size.ws_col).saturating_sub(1))
            .filter(|columns| *columns >= 40)
    }

    pub(super) fn print(&mut self, text: &str) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        if !self.is_terminal {
            out.write_all(text.as_bytes())?;
            return Ok(out.flush()?);
        }
        self.open.push_str(text);
        if self.open.len() > LONGEST_LINE {
            self.open.push('\n');
        }
        if let Some(end) = self.open.rfind('\n') {
            let block = std::mem::take(&mut self.block);
            out.write_all(erase(&block).as_bytes())?;
            out.write_all(&self.open.as_bytes()[..=end])?;
            self.open.drain(..=end);
            out.write_all(shown(&block).as_bytes())?;
            self.block = block;
            out.flush()?;
        }
        Ok(())
    }

    pub(super) fn draw(&mut self, block: Vec<String>) -> Result<(), Error> {
        if block != self.block {
            let mut out = io::stdout().lock();
            out.write_all(erase(&self.block).as_bytes())?;
            out.write_all(shown(&block).as_bytes())?;
            out.flush()?;
            self.block = block;
        }
        Ok(())
    }

    pub(super) fn clear(&mut self) -> Result<(), Error> {
        self.draw(Vec::new())?;
        if !self.open.is_empty() {
            self.print("\n")?;
        }
        Ok(())
    }
}

fn shown(block: &[String]) -> String {
    block.iter().map(|line| format!("{line}\n")).collect()
}

/// Back to the line where the block begins, and everything from there on away.
fn erase(block: &[String]) -> String {
    match block.len() {
        0 => String::new(),
        lines => format!("\x1b[{lines}F\x1b[J"),
    }
}

/// A line that has no end is broken here.
const LONGEST_LINE: usize = 64 * 1024;
