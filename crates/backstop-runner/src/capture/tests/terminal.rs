//! The live block on a real pseudo-terminal, seen through an emulator.

use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetwinsize, tcsetwinsize};

use super::*;

/// A terminal that somebody looks at.
struct Terminal {
    /// The side that programs write to.
    line: OwnedFd,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    raw: Vec<u8>,
    emulator: vt100::Parser,
}

impl Terminal {
    fn new(rows: u16, columns: u16) -> Self {
        let (master, line) = pair();
        resize(&line, rows, columns);
        let emulator = vt100::Parser::new(nonzero(rows), nonzero(columns), 0);
        let seen = Arc::new(Mutex::new(Seen { raw: Vec::new(), emulator }));
        let viewer = Arc::clone(&seen);
        thread::spawn(move || {
            let mut master = File::from(master);
            let mut buffer = [0; 4_096];
            // Fails when the other side is closed.
            while let Ok(count) = master.read(&mut buffer) {
                let mut seen = viewer.lock().unwrap();
                seen.raw.extend_from_slice(&buffer[..count]);
                seen.emulator.process(&buffer[..count]);
            }
        });
        Self { line, seen }
    }

    fn copy(&self) -> OwnedFd {
        self.line.try_clone().unwrap()
    }

    fn scene(&self) -> Scene {
        let (sender, events) = channel(8);
        let folder = tempfile::tempdir().unwrap();
        let sinks =
            Sinks { stdout: Some(self.copy()), stderr: Some(self.copy()), own: Some(self.copy()) };
        let setup = Setup {
            sinks,
            wanted: Wanted::default(),
            output_folder: folder.path().join("output"),

            redactor: Redactor::new([], []),
            live: LiveTerminal::of(self.line.as_fd()),
            colour: false,
        };
        assert!(setup.live.is_some());
        let pump = Some(Pump::start(setup, sender).unwrap());
        Scene { folder, pump, events }
    }

    fn rows(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let columns = seen.emulator.screen().size().1.get();
        seen.emulator.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect()
    }

    /// Waits until the rows are so.
    fn shows(&self, what: &str, is_so: impl Fn(&[String]) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(&self.rows()) {
            assert!(Instant::now() < deadline, "never: {what}\n{:#?}", self.rows());
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Both sides of a pseudo-terminal.
fn pair() -> (OwnedFd, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    (master, rustix::fs::open(name, flags, Mode::empty()).unwrap())
}

fn nonzero(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

fn resize(line: &OwnedFd, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ..tcgetwinsize(line).unwrap() };
    tcsetwinsize(line, size).unwrap();
}

fn block(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn the_block_stays_below_what_scrolls_and_goes_at_the_end() {
    let terminal = Terminal::new(10, 40);
    let mut scene = terminal.scene();
    scene.pump().show(block(&["limits ▏██   ▏"]));
    scene.pump().print("-- iteration 1\n".to_owned());
    let (mut out, mut err) = scene.begin(1);
    for number in 0..200 {
        writeln!(out, "line {number}").unwrap();
    }
    terminal.shows("the last lines, then the block", |rows| {
        rows[7] == "line 199" && rows[8].is_empty() && rows[9] == "limits ▏██   ▏"
    });
    // A line that is not complete stays where it is while the block changes.
    out.write_all("half a 大".as_bytes()).unwrap();
    terminal.shows("half a line", |rows| rows[8] == "half a 大");
    scene.pump().show(block(&["another", "of two lines"]));
    terminal.shows("a higher block", |rows| {
        rows[7] == "half a 大" && rows[8] == "another" && rows[9] == "of two lines"
    });
    out.write_all(b" and the rest\n").unwrap();
    terminal.shows("the whole line", |rows| rows.contains(&"half a 大 and the rest".to_owned()));
    scene.pump().show(block(&["small again"]));
    terminal.shows("a lower block", |rows| rows[9] == "small again" && rows[8].is_empty());
    err.write_all(b"last words\n").unwrap();
    drop((out, err));
    scene.pump().finish(None);
    scene.finished();
    scene.stop();
    // Everything scrolls again, and nothing is left of the block.
    let mut line = File::from(terminal.copy());
    line.write_all(b"$ prompt").unwrap();
    terminal.shows("a free terminal", |rows| {
        let text = rows.join("\n");
        text.trim_end().ends_with("last words\n$ prompt") && !text.contains("small again")
    });
    line.write_all(&b"\nx".repeat(20)).unwrap();
    terminal.shows("all rows", |rows| rows.iter().all(|row| row == "x"));

    let raw = String::from_utf8(terminal.seen.lock().unwrap().raw.clone()).unwrap();
    let mut rest = raw.as_str();
    for number in 0..200 {
        let line = format!("line {number}\r\n");
        rest = &rest[rest.find(&line).expect("in order and whole") + line.len()..];
    }
}

#[test]
fn a_child_that_rules_the_screen_does_not_keep_the_block_away() {
    let terminal = Terminal::new(12, 30);
    let mut scene = terminal.scene();
    scene.pump().show(block(&["the block"]));
    let (mut out, err) = scene.begin(1);
    for sequence in ["\x1bc", "\x1b[2J\x1b[H", "\x1b[r", "\x1b[2;4r", "\x1b[?1049h\x1b[?1049l"] {
        out.write_all(sequence.as_bytes()).unwrap();
        for number in 0..30 {
            writeln!(out, "{number}").unwrap();
            thread::yield_now();
        }
        terminal.shows("the block again", |rows| rows[11] == "the block");
        // Once it is there again, lines scroll above it. What is read before it is drawn again
        // still scrolls as the child wanted.
        let began = Instant::now();
        let is_right = |rows: &[String]| {
            rows[9] == "again 29" && rows[10].is_empty() && rows[11] == "the block"
        };
        while !is_right(&terminal.rows()) {
            assert!(began.elapsed() < PATIENCE, "{:#?}", terminal.rows());
            for number in 0..30 {
                writeln!(out, "again {number}").unwrap();
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
    drop((out, err));
    scene.pump().finish(None);
    scene.finished();
    scene.stop();
}

#[test]
fn a_block_is_not_drawn_into_a_sequence() {
    let terminal = Terminal::new(12, 30);
    let mut scene = terminal.scene();
    let (mut out, err) = scene.begin(1);
    out.write_all(b"one\n\x1b[3").unwrap();
    terminal.shows("a line", |rows| rows[0] == "one");
    scene.pump().show(block(&["the block"]));
    scene.pump().resized();
    out.write_all(b"1mred\x1b[0m\n").unwrap();
    terminal.shows("both", |rows| rows[1] == "red" && rows[11] == "the block");
    drop((out, err));
    scene.stop();
    let raw = terminal.seen.lock().unwrap().raw.clone();
    assert!(memchr::memmem::find(&raw, b"\x1b[31mred").is_some());
}

#[test]
fn another_size_moves_the_block() {
    let terminal = Terminal::new(10, 30);
    let mut scene = terminal.scene();
    scene.pump().show(block(&["the block"]));
    let (mut out, err) = scene.begin(1);
    writeln!(out, "text").unwrap();
    terminal.shows("the block", |rows| rows[0] == "text" && rows[9] == "the block");
    for rows in [16, 8] {
        terminal.seen.lock().unwrap().emulator.set_size(nonzero(rows), nonzero(30));
        resize(&terminal.line, rows, 30);
        scene.pump().resized();
        let last = usize::from(rows) - 1;
        terminal.shows("one block at the bottom", |rows| {
            rows[last] == "the block" && rows.iter().filter(|row| *row == "the block").count() == 1
        });
        assert_eq!(terminal.rows()[0], "text");
    }
    // Too small for a block.
    terminal.seen.lock().unwrap().emulator.set_size(nonzero(4), nonzero(30));
    resize(&terminal.line, 4, 30);
    scene.pump().resized();
    terminal.shows("no block", |rows| !rows.contains(&"the block".to_owned()));
    drop((out, err));
    scene.stop();
}

#[test]
fn the_screen_can_be_left_for_a_while() {
    let terminal = Terminal::new(10, 30);
    let mut scene = terminal.scene();
    scene.pump().show(block(&["the block"]));
    terminal.shows("the block", |rows| rows[9] == "the block");
    scene.pump().leave_screen().blocking_recv().unwrap();
    scene.pump().show(block(&["unseen"]));
    scene.pump().print("a\n".to_owned());
    terminal.shows("no block", |rows| rows[0] == "a" && rows[9].is_empty());
    scene.pump().enter_screen();
    terminal.shows("the block again", |rows| rows[9] == "unseen");
    // A pump that is dropped without a word puts the terminal right too.
    drop(scene.pump.take());
    terminal.shows("no block", |rows| rows[9].is_empty());
    let raw = terminal.seen.lock().unwrap().raw.clone();
    assert!(memchr::memmem::rfind(&raw, b"\x1b[r") > memchr::memmem::rfind(&raw, b"\x1b[1;9r"));
}

#[test]
fn a_terminal_that_hangs_up_does_not_stop_the_child() {
    let (master, line) = pair();
    resize(&line, 24, 80);
    let seen = Arc::new(Mutex::new(Seen { raw: Vec::new(), emulator: vt100::Parser::default() }));
    let terminal = Terminal { line, seen };
    let mut scene = terminal.scene();
    scene.pump().show(block(&["the block"]));
    let (mut out, err) = scene.begin(1);
    drop(master);
    for _ in 0..100 {
        out.write_all(&[b'x'; 10_000]).unwrap();
    }
    scene.pump().print("our own words\n".to_owned());
    drop((out, err));
    scene.pump().finish(None);
    assert_eq!(scene.finished().1.bytes, 1_000_000);
    scene.stop();
}
