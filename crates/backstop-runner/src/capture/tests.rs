//! The pump as a whole, with real pipes and its real thread.

mod terminal;

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{Receiver, channel};

use super::log::LogReader;
use super::*;

/// A pump with the child's side of its pipes, and a file that stands for the terminal.
struct Scene {
    folder: tempfile::TempDir,
    pump: Option<Pump>,
    events: Receiver<Captured>,
}

impl Scene {
    fn new(patterns: Vec<Pattern>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let terminal = File::create(folder.path().join("terminal")).unwrap();
        let copy = || Some(OwnedFd::from(terminal.try_clone().unwrap()));
        let sinks = Sinks { stdout: copy(), stderr: copy(), own: copy() };
        Self::with(folder, sinks, patterns)
    }

    fn with(folder: tempfile::TempDir, sinks: Sinks, patterns: Vec<Pattern>) -> Self {
        let (sender, events) = channel(8);
        let setup = Setup {
            sinks,
            wanted: Wanted {
                patterns,
                markers: vec!["[PROGRESS]".to_owned()],
                ..Wanted::default()
            },
            output_folder: folder.path().join("output"),

            redactor: Redactor::new([], []),
            live: None,
            colour: false,
        };
        let pump = Some(Pump::start(setup, sender).unwrap());
        Self { folder, pump, events }
    }

    fn pump(&self) -> &Pump {
        self.pump.as_ref().unwrap()
    }

    /// An iteration, with the ends that a child would write to.
    fn begin(&self, iteration: u64) -> (PipeWriter, PipeWriter) {
        let ((stdout, out), (stderr, err)) = (io::pipe().unwrap(), io::pipe().unwrap());
        self.pump().begin(iteration, stdout.into(), stderr.into());
        (out, err)
    }

    /// The next event, with a deadline against hanging.
    fn event(&mut self) -> Captured {
        next_event(&mut self.events)
    }

    /// Everything up to the iteration's end.
    fn finished(&mut self) -> (Vec<Captured>, Summary) {
        let mut events = Vec::new();
        loop {
            match self.event() {
                Captured::Finished(summary) => return (events, summary),
                other => events.push(other),
            }
        }
    }

    fn stop(&mut self) -> Vec<u8> {
        assert!(self.pump.take().unwrap().stop(PATIENCE));
        std::fs::read(self.folder.path().join("terminal")).unwrap_or_default()
    }

    fn log(&self, iteration: u64) -> Vec<u8> {
        read_log(&self.folder.path().join("output"), iteration)
    }
}

fn read_log(folder: &Path, iteration: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    LogReader::new(folder).open(iteration).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn next_event(events: &mut Receiver<Captured>) -> Captured {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Ok(event) = events.try_recv() {
            return event;
        }
        assert!(Instant::now() < deadline, "no event came");
        thread::sleep(Duration::from_millis(1));
    }
}

fn literal(text: &str) -> Pattern {
    Pattern {
        key: text.to_owned(),
        text: text.to_owned(),
        is_regex: false,
        since_run: false,
        unless_agent: false,
    }
}

fn regex(text: &str) -> Pattern {
    Pattern { is_regex: true, ..literal(text) }
}

/// Long enough for a machine that does ten other things.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn output_is_shown_kept_and_searched() {
    let mut scene = Scene::new(vec![literal("ALL DONE"), regex(r"(?m)^error: \w+$")]);
    let (mut out, mut err) = scene.begin(1);
    out.write_all(b"one\x00\xff\n::backstop {\"type\":\"unit\"}\nALL DO").unwrap();
    let Captured::Directive { stream: "stdout", json } = next_event(&mut scene.events) else {
        panic!("a directive comes first")
    };
    assert_eq!(json, b"{\"type\":\"unit\"}");
    out.write_all(b"NE now\n[PROGRESS] half").unwrap();
    err.write_all(b"error: broken\n\n").unwrap();
    drop((out, err));
    scene.pump().finish(None);
    let (events, summary) = scene.finished();
    let mut found: Vec<_> = events
        .iter()
        .map(|event| match event {
            Captured::Matched { key, stream, excerpt, .. } => format!("{key}|{stream}|{excerpt}"),
            Captured::Marker { word } => word.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [r"(?m)^error: \w+$|stderr|error: broken", "ALL DONE|stdout|ALL DONE now", "[PROGRESS]"]
    );
    let expected = Summary {
        iteration: 1,
        bytes: 76,
        left_out: 0,
        leaked: false,
        last_error_line: "error: broken".to_owned(),
        last_line: "[PROGRESS] half".to_owned(),
        agent: None,
        words: String::new(),
        only_records: false,
    };
    assert_eq!(summary, expected);
    assert_eq!(scene.log(1).len(), 76);
    let mut shown = scene.stop();
    shown.sort_unstable();
    let mut kept = scene.log(1);
    kept.sort_unstable();
    assert_eq!(shown, kept);
}

#[test]
fn a_pattern_answers_once_per_iteration_or_run() {
    let whole_run = Pattern { since_run: true, key: "run".to_owned(), ..literal("DONE") };
    let mut scene = Scene::new(vec![literal("DONE"), whole_run]);
    for (iteration, expected) in [(1, 2), (2, 1), (3, 1)] {
        let (mut out, mut err) = scene.begin(iteration);
        out.write_all(b"DONE DONE\nDONE\n").unwrap();
        err.write_all(b"DONE\n").unwrap();
        drop((out, err));
        scene.pump().finish(None);
        let (events, _) = scene.finished();
        assert_eq!(events.len(), expected, "{events:?}");
    }
}

#[test]
fn our_lines_begin_on_a_line_of_their_own_behind_the_output() {
    let mut scene = Scene::new(Vec::new());
    scene.pump().print("-- one\n".to_owned());
    let (mut out, err) = scene.begin(1);
    out.write_all(b"no end of line").unwrap();
    scene.pump().finish(None);
    scene.finished();
    scene.pump().print("-- two\n".to_owned());
    scene.pump().print("-- three\n".to_owned());
    drop((out, err));
    let shown = scene.stop();
    assert_eq!(String::from_utf8(shown).unwrap(), "-- one\nno end of line\n-- two\n-- three\n");
}

#[test]
fn who_holds_a_pipe_after_the_end_is_not_waited_for() {
    let mut scene = Scene::new(Vec::new());
    let (mut out, err) = scene.begin(1);
    out.write_all(b"last words").unwrap();
    // Somebody writes for ever, and is stopped by the closed pipe only.
    let holder = thread::spawn(move || while out.write_all(b"more and more\n").is_ok() {});
    scene.pump().finish(None);
    let (_, summary) = scene.finished();
    assert!(summary.leaked);
    holder.join().unwrap();
    drop(err);
    let shown = scene.stop();
    assert!(shown.starts_with(b"last words"));
    assert_eq!(shown.len() as u64, summary.bytes);
}

#[test]
fn streams_that_are_closed_early_are_no_end() {
    let mut scene = Scene::new(vec![regex("last$")]);
    let (out, mut err) = scene.begin(1);
    drop(out);
    err.write_all(b"the last").unwrap();
    drop(err);
    // Its stream has ended, so the end is certain, but the iteration has not.
    assert!(matches!(scene.event(), Captured::Matched { stream: "stderr", .. }));
    scene.pump().finish(None);
    let (events, summary) = scene.finished();
    assert!(events.is_empty() && !summary.leaked);
    assert_eq!(summary.last_error_line, "the last");
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_child() {
    let (reader, writer) = io::pipe().unwrap();
    let sinks = Sinks { stdout: Some(writer.into()), ..Sinks::nowhere() };
    let mut scene = Scene::with(tempfile::tempdir().unwrap(), sinks, Vec::new());
    let (mut out, err) = scene.begin(1);
    out.write_all(b"somebody reads\n").unwrap();
    let mut first = [0; 15];
    (&reader).read_exact(&mut first).unwrap();
    drop(reader);
    for _ in 0..100 {
        out.write_all(&[b'x'; 10_000]).unwrap();
    }
    drop((out, err));
    scene.pump().finish(None);
    let (_, summary) = scene.finished();
    assert_eq!(summary.bytes, 1_000_015);
    assert_eq!(scene.log(1).len(), 1_000_015);
}

#[test]
fn a_slow_terminal_gets_everything_in_order() {
    let (reader, writer) = io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    let sinks = Sinks { stdout: Some(writer.into()), ..Sinks::nowhere() };
    let mut scene = Scene::with(tempfile::tempdir().unwrap(), sinks, Vec::new());
    let (mut out, err) = scene.begin(1);
    let bytes: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_le_bytes).collect();
    let expected = bytes.clone();
    let child = thread::spawn(move || {
        for chunk in bytes.chunks(12_345) {
            out.write_all(chunk).unwrap();
        }
    });
    let terminal = thread::spawn(move || slowly(reader));
    child.join().unwrap();
    drop(err);
    scene.pump().finish(None);
    scene.finished();
    scene.stop();
    assert!(terminal.join().unwrap() == expected);
    assert!(scene.log(1) == expected);
}

fn slowly(mut reader: PipeReader) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 40_000];
    loop {
        thread::yield_now();
        match reader.read(&mut buffer).unwrap() {
            0 => return bytes,
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

#[test]
fn a_stopped_terminal_holds_nobody_but_the_child() {
    let (reader, writer) = io::pipe().unwrap();
    let sinks = Sinks { stdout: Some(writer.into()), ..Sinks::nowhere() };
    let mut scene = Scene::with(tempfile::tempdir().unwrap(), sinks, vec![literal("DONE")]);
    let (mut out, err) = scene.begin(1);
    let child = thread::spawn(move || {
        out.write_all(b"DONE\n").unwrap();
        // Refused when the iteration has ended.
        let _ = out.write_all(&vec![b'x'; 4 << 20]);
    });
    // Nobody reads, and still there is an answer, and none of these waits.
    assert!(matches!(scene.event(), Captured::Matched { .. }));
    while scene.pump().quiet_for() > Duration::ZERO {
        thread::yield_now();
    }
    scene.pump().print("later\n".to_owned());
    scene.pump().show(vec!["block".to_owned()]);
    scene.pump().finish(None);
    assert!(!scene.pump.take().unwrap().stop(Duration::from_millis(10)));
    assert!(!child.is_finished());
    drop(reader);
    child.join().unwrap();
    drop(err);
}

#[test]
fn a_dispatcher_that_lags_behind_holds_the_child() {
    let mut scene = Scene::new(Vec::new());
    let (mut out, err) = scene.begin(1);
    let child = thread::spawn(move || {
        for number in 0..5_000 {
            writeln!(out, "::backstop {number}").unwrap();
        }
    });
    for expected in 0..5_000 {
        let Captured::Directive { json, .. } = scene.event() else { panic!("out of order") };
        assert_eq!(json, expected.to_string().into_bytes());
    }
    child.join().unwrap();
    drop(err);
}

#[test]
fn a_log_that_cannot_be_written_is_reported_once() {
    let mut scene = Scene::new(Vec::new());
    std::fs::write(scene.folder.path().join("output"), "in the way").unwrap();
    for iteration in 1..=2 {
        let (mut out, err) = scene.begin(iteration);
        out.write_all(b"text\n").unwrap();
        drop((out, err));
        scene.pump().finish(None);
        let (events, summary) = scene.finished();
        assert_eq!((summary.bytes, summary.left_out), (5, 5));
        let failures = events.iter().filter(|event| matches!(event, Captured::LogFailed(_)));
        assert_eq!(failures.count(), usize::from(iteration == 1));
    }
    assert_eq!(scene.stop(), b"text\ntext\n");
}

#[test]
fn a_bad_expression_is_refused_at_the_start() {
    let setup = Setup {
        sinks: Sinks::nowhere(),
        wanted: Wanted { patterns: vec![regex("(")], ..Wanted::default() },
        output_folder: "nowhere".into(),

        redactor: Redactor::new([], []),
        live: None,
        colour: false,
    };
    let error = Pump::start(setup, channel(1).0).unwrap_err();
    assert!(error.to_string().contains("`(`"));
}
