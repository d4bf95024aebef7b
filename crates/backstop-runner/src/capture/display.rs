//! Everything that is shown, in order: the child's output, backstop's own lines, the live block.

use rustix::termios::tcgetwinsize;

use super::Sinks;
use super::outlet::{Hurry, Outlet};
use super::screen::{LiveTerminal, Screen};

/// Three sources, the places where they are shown, and the block below them.
#[derive(Debug)]
pub(super) struct Display {
    outlets: [Outlet; 3],
    /// For each source, the first one that is shown in the same place.
    places: [usize; 3],
    /// For each place, whether its last line still lacks an end.
    open_lines: [bool; 3],
    screen: Option<Screen>,
    /// For each source, whether it is shown on the block's terminal.
    on_screen: [bool; 3],
}

impl Display {
    pub fn new(sinks: Sinks, live: Option<LiveTerminal>, hurry: &Hurry) -> Self {
        let outlets =
            [sinks.stdout, sinks.stderr, sinks.own].map(|sink| Outlet::new(sink, hurry.clone()));
        let screen = live.map(|terminal| Screen::new(terminal, hurry.clone()));
        let place = |source: usize| {
            let file = outlets[source].file();
            let first = file.and_then(|file| outlets.iter().position(|one| one.is_same_as(file)));
            first.unwrap_or(source)
        };
        let places = [place(0), place(1), place(2)];
        let on_screen = [0, 1, 2].map(|source: usize| {
            screen.as_ref().is_some_and(|screen| screen.is_on(&outlets[source]))
        });
        Self { outlets, places, open_lines: [false; 3], screen, on_screen }
    }

    /// Shows what came from one of the child's streams.
    pub fn write(&mut self, source: usize, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.outlets[source].write(bytes);
        self.open_lines[self.places[source]] = *last != b'\n';
        if let Some(screen) = self.screen.as_mut().filter(|_| self.on_screen[source]) {
            screen.follow(bytes);
        }
    }

    /// Shows lines of our own, on a fresh line.
    pub fn print(&mut self, text: &str) {
        if self.open_lines[self.places[OWN]] && !text.is_empty() {
            self.write(OWN, b"\n");
        }
        self.write(OWN, text.as_bytes());
    }

    /// How many columns there are for what the child says; as many as usual where it is shown on no
    /// terminal.
    pub fn columns(&self) -> usize {
        let size = self.outlets[0].file().and_then(|file| tcgetwinsize(file).ok());
        size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(COLUMNS)
    }

    pub fn screen(&mut self) -> Option<&mut Screen> {
        self.screen.as_mut()
    }
}

const OWN: usize = 2;

/// Of a terminal that does not say.
pub(super) const COLUMNS: usize = 80;
