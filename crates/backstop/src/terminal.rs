//! Where output goes: data to standard output, everything else to standard error, with colour only
//! where somebody can see it.

use std::io::{self, IsTerminal as _, Write};

use anstream::AutoStream;

use crate::error::Error;
use crate::shown_commands::complete;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    Always,
    Never,
}

/// The two outputs of a command.
#[derive(Debug)]
pub struct Terminal {
    pub out: AutoStream<io::Stdout>,
    pub err: AutoStream<io::Stderr>,
    colour: Colour,
}

impl Terminal {
    pub fn new(colour: Colour) -> Self {
        let choice = match colour {
            Colour::Auto => anstream::ColorChoice::Auto,
            Colour::Always => anstream::ColorChoice::Always,
            Colour::Never => anstream::ColorChoice::Never,
        };
        Self {
            out: AutoStream::new(io::stdout(), choice),
            err: AutoStream::new(io::stderr(), choice),
            colour,
        }
    }

    /// Whether standard output shows colour.
    pub fn colours(&self) -> bool {
        match self.colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => io::stdout().is_terminal() && may_be_coloured(),
        }
    }

    /// Whether standard error shows colour.
    pub fn colours_errors(&self) -> bool {
        match self.colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => io::stderr().is_terminal() && may_be_coloured(),
        }
    }

    /// How wide standard output is; 80 columns where nobody knows.
    pub fn columns(&self) -> usize {
        let size = rustix::termios::tcgetwinsize(io::stdout());
        size.map_or(0, |size| usize::from(size.ws_col)).max(crate::report::WIDTH)
    }

    /// Writes what is left and answers with the command's exit code.
    ///
    /// A reader that went away does not change it: a `stop` that nobody read is still a `stop`.
    pub fn finish(&mut self, code: u8) -> Result<u8, Error> {
        match self.out.flush() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(code),
        }
    }

    /// Says something beside the data; a closed standard error is nobody's fault.
    pub fn remark(&mut self, text: &str) {
        let _ = writeln!(self.err, "{}", complete(text));
    }
}

/// Whether neither the user nor the terminal objects to colour. `NO_COLOR` counts unless empty.
fn may_be_coloured() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && !is_dumb()
}

/// Whether the terminal says that it obeys no control sequence.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}
