//! A flood of output in a process of its own, so that its memory is nobody else's.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use backstop_runner::capture::log::LogReader;
use backstop_runner::capture::{Captured, Pattern, Pump, Setup, Sinks, Wanted};

#[test]
fn memory_stays_flat_and_the_log_says_what_is_left_out() {
    const SIZE: u64 = 256 << 20;
    let folder = tempfile::tempdir().unwrap();
    let nothing = || Some(OwnedFd::from(File::options().write(true).open("/dev/null").unwrap()));
    let pattern = |text: &str, is_regex| Pattern {
        key: text.to_owned(),
        text: text.to_owned(),
        is_regex,
        since_run: false,
        unless_agent: false,
    };
    let setup = Setup {
        sinks: Sinks { stdout: nothing(), stderr: nothing(), own: nothing() },
        wanted: Wanted {
            patterns: vec![pattern("ALL DONE", false), pattern(r"(?m)^error: .*$", true)],
            markers: vec!["[PROGRESS]".to_owned()],
            ..Wanted::default()
        },
        output_folder: folder.path().join("output"),

        redactor: backstop_core::redact::Redactor::new([], []),
        live: None,
        colour: false,
    };
    let (sender, mut events) = tokio::sync::mpsc::channel(16);
    let pump = Pump::start(setup, sender).unwrap();
    // One line of the usual kind, and one that never ends.
    let script = format!(
        "yes 'test parser::tests::case ... ok' | head -c {}; head -c {} /dev/zero",
        SIZE / 2,
        SIZE / 2
    );
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    pump.begin(1, child.stdout.take().unwrap().into(), child.stderr.take().unwrap().into());
    assert!(child.wait().unwrap().success());
    pump.finish(None);
    let Some(Captured::Finished(summary)) = events.blocking_recv() else { panic!("a match") };
    assert_eq!((summary.bytes, summary.leaked), (SIZE, false));
    assert_eq!(summary.left_out, SIZE - (64 << 20));

    let mut log = Vec::new();
    let reader = LogReader::new(folder.path().join("output"));
    let mut lengths = (0u64, 0u64);
    let mut open = reader.open(1).unwrap();
    log.resize(1 << 20, 0);
    loop {
        let count = open.read(&mut log).unwrap();
        if count == 0 {
            break;
        }
        let zeros = log[..count].iter().filter(|byte| **byte == 0).count() as u64;
        lengths = (lengths.0 + count as u64 - zeros, lengths.1 + zeros);
    }
    let line = format!("\n[backstop: {} bytes left out]\n", summary.left_out);
    assert_eq!(lengths, ((8 << 20) + line.len() as u64, 56 << 20));

    // Then, with nothing to do, its thread sleeps and is not woken. It may still be on its way to
    // bed when its last work is seen.
    let (mut before, mut unchanged) = (wakings(), 0);
    assert!(before.is_some());
    for _ in 0..600 {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let now = wakings();
        (before, unchanged) = (now, if now == before { unchanged + 1 } else { 0 });
        if unchanged == 30 {
            break;
        }
    }
    assert_eq!(unchanged, 30, "it is woken again and again");

    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 32 << 10, "{kilobytes} kB");
}

/// How often the pump's thread has gone to sleep; none if it is not there.
fn wakings() -> Option<u64> {
    let mut tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let pump = tasks.find_map(|task| {
        let status = std::fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        status.starts_with("Name:\toutput\n").then_some(status)
    })?;
    let line = pump.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}
