//! The live block: the last lines of the terminal, kept out of what scrolls.
//!
//! The terminal is told to scroll only the rows above them, so that the child's bytes go there as
//! they are. What the block says is written with the cursor saved and put back.

use std::fmt::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::termios::tcgetwinsize;

use super::outlet::{Hurry, Outlet};
use super::tracker::{Damage, Tracker};
use crate::outer;

/// A terminal that a live block is shown on.
#[derive(Debug)]
pub struct LiveTerminal(OwnedFd);

impl LiveTerminal {
    /// This file, if it is a terminal that obeys; none otherwise.
    pub fn of(file: BorrowedFd<'_>) -> Option<Self> {
        let file = file.try_clone_to_owned().ok()?;
        (rustix::termios::isatty(&file) && tcgetwinsize(&file).is_ok()).then_some(Self(file))
    }

    /// How many columns it has now.
    pub fn columns(&self) -> usize {
        tcgetwinsize(&self.0).map_or(0, |size| usize::from(size.ws_col))
    }
}

/// What is shown of the block, and what should be.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: Outlet,
    tracker: Tracker,
    wanted: Vec<String>,
    /// False between leaving and entering.
    is_entered: bool,
    shown: Option<Shown>,
    drawn_at: Option<Instant>,
}

/// The rows that are taken.
#[derive(Debug)]
struct Shown {
    rows: u16,
    lines: Vec<String>,
    /// What the child did not leave of it.
    damage: Damage,
}

impl Shown {
    fn height(&self) -> u16 {
        self.lines.len() as u16
    }
}

impl Screen {
    pub fn new(terminal: LiveTerminal, hurry: Hurry) -> Self {
        Self {
            terminal: Outlet::new(Some(terminal.0), hurry),
            tracker: Tracker::default(),
            wanted: Vec::new(),
            is_entered: true,
            shown: None,
            drawn_at: None,
        }
    }

    pub fn is_on(&self, outlet: &Outlet) -> bool {
        self.terminal.file().is_some_and(|terminal| outlet.is_same_as(terminal))
    }

    /// These bytes were written to the terminal.
    pub fn follow(&mut self, bytes: &[u8]) {
        self.tracker.follow(bytes);
        let damage = self.tracker.take_damage();
        if let Some(shown) = &mut self.shown {
            shown.damage.region |= damage.region;
            shown.damage.text |= damage.text;
        }
    }

    pub fn want(&mut self, block: Vec<String>) {
        self.wanted = block;
    }

    /// How long until there is something to draw; none if there is nothing.
    pub fn due(&self) -> Option<Duration> {
        let wanted = if self.is_entered { self.wanted.as_slice() } else { &[] };
        let is_right = match &self.shown {
            None => wanted.is_empty() || self.is_too_small(wanted),
            Some(shown) => shown.lines == wanted && shown.damage == Damage::default(),
        };
        if is_right || !self.tracker.is_clear() {
            return None;
        }
        let rested = self.drawn_at.map_or(Duration::MAX, |at| at.elapsed());
        Some(REDRAW_EVERY.saturating_sub(rested))
    }

    /// Draws what is due.
    pub fn draw(&mut self) {
        if self.due().is_none_or(|left| !left.is_zero()) {
            return;
        }
        let wanted = if self.is_entered { self.wanted.clone() } else { Vec::new() };
        self.replace(wanted);
        self.drawn_at = Some(Instant::now());
    }

    /// Takes the block away and lets all rows scroll again.
    pub fn leave(&mut self) {
        self.is_entered = false;
        self.replace(Vec::new());
    }

    pub fn enter(&mut self) {
        self.is_entered = true;
        self.drawn_at = None;
    }

    /// The terminal has another size.
    pub fn resized(&mut self) {
        if self.shown.take().is_some() {
            self.terminal.write(WITHOUT_BLOCK);
        }
        self.drawn_at = None;
    }

    fn replace(&mut self, lines: Vec<String>) {
        let rows = self.rows();
        let lines = if self.is_too_small(&lines) { Vec::new() } else { lines };
        let height = lines.len() as u16;
        let mut text = String::new();
        let before = self.shown.take();
        if before.is_some() != (height > 0) {
            outer::announce_block(height > 0);
        }
        // How many rows are kept free as they should be.
        let free = before.as_ref().filter(|shown| shown.rows == rows && !shown.damage.region);
        let free = free.map_or(0, Shown::height);
        if free != height || before.as_ref().is_some_and(|shown| shown.damage.region) {
            let drawn = before.as_ref().filter(|shown| !shown.damage.text);
            erase(&mut text, rows, drawn.map_or(0, Shown::height));
            if height > free {
                make_room(&mut text, height);
            }
            set_region(&mut text, rows, height);
        }
        if height > 0 {
            // Without wrapping, a line that is too long stays on its row.
            text.push_str("\x1b7\x1b[?7l");
            for (index, line) in lines.iter().enumerate() {
                let row = rows - height + 1 + index as u16;
                let _ = write!(text, "\x1b[{row};1H\x1b[0m{line}\x1b[0m\x1b[K");
            }
            text.push_str("\x1b[?7h\x1b8");
        }
        self.terminal.write(text.as_bytes());
        self.shown = (height > 0).then(|| Shown { rows, lines, damage: Damage::default() });
    }

    fn is_too_small(&self, lines: &[String]) -> bool {
        usize::from(self.rows()) < FEWEST_ROWS.max(2 * lines.len())
    }

    fn rows(&self) -> u16 {
        let size = self.terminal.file().and_then(|terminal| tcgetwinsize(terminal.as_fd()).ok());
        size.map_or(0, |size| size.ws_row)
    }
}

/// A thread that panics leaves the terminal usable.
impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
        if self.tracker.hides_cursor() {
            self.terminal.write(b"\x1b[?25h");
        }
    }
}

/// Empties the last rows. The region goes, and the cursor stays.
fn erase(text: &mut String, rows: u16, height: u16) {
    text.push_str("\x1b7\x1b[r");
    for row in (rows + 1).saturating_sub(height)..=rows {
        let _ = write!(text, "\x1b[{row};1H\x1b[2K");
    }
    text.push_str("\x1b8");
}

/// Scrolls until so many rows are free below the cursor. A vertical tab goes down without going to
/// the line's beginning, as a line feed would.
fn make_room(text: &mut String, height: u16) {
    text.extend(std::iter::repeat_n('\x0b', height.into()));
    let _ = write!(text, "\x1b[{height}A");
}

fn set_region(text: &mut String, rows: u16, height: u16) {
    if height > 0 {
        // Setting the region moves the cursor.
        let _ = write!(text, "\x1b7\x1b[1;{}r\x1b8", rows - height);
    }
}

/// Takes a block away of which nobody knows where it is, but that it is below the cursor.
pub(crate) const WITHOUT_BLOCK: &[u8] = b"\x1b7\x1b[r\x1b8\x1b[J";

const FEWEST_ROWS: usize = 5;
const REDRAW_EVERY: Duration = Duration::from_millis(100);
