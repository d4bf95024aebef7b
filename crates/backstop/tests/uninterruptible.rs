//! A process that the kernel does not let go, not even for SIGKILL: it writes to a file system that is
//! frozen.

mod support;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use support::looping::{Loop, wait_for};

/// A file system that takes no writes until it thaws.
struct Frozen {
    folder: PathBuf,
}

impl Frozen {
    /// None where this machine does not let us have one.
    fn new(test: &Loop) -> Option<Self> {
        let place = test.work().parent()?.to_owned();
        let (image, folder) = (place.join("frozen.image"), place.join("frozen"));
        std::fs::File::create(&image).ok()?.set_len(8 << 20).ok()?;
        std::fs::create_dir(&folder).ok()?;
        let is_mounted = call("mkfs.ext4", &["-q", image.to_str()?])
            && call("mount", &["-o", "loop", image.to_str()?, folder.to_str()?]);
        let this = Self { folder };
        (is_mounted && call("fsfreeze", &["-f", this.name()])).then_some(this)
    }

    fn name(&self) -> &str {
        self.folder.to_str().expect("a name in UTF-8")
    }

    fn thaw(&self) -> bool {
        call("fsfreeze", &["-u", self.name()])
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.thaw();
        call("umount", &["-l", self.name()]);
    }
}

/// Tools of the system are not always in the path of tests.
fn call(program: &str, words: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(words).env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn it_is_named_and_no_second_loop_runs_beside_it() {
    let test = Loop::new();
    let Some(frozen) = Frozen::new(&test) else {
        println!("skipped: no file system can be mounted and frozen here");
        return;
    };
    let script = format!("echo $$ > pid; echo 1 > {}/file; echo over", frozen.name());
    let test = test.script("agent.sh", &script);
    // Thawed before anybody waits for the end of what belongs to the test.
    let frozen = frozen;
    let flags = ["run", "--max-iterations", "2", "--grace", "100ms", "--", "./agent.sh"];
    let running = test.start(flags);
    wait_for("the process", || !test.read("pid").is_empty());
    let number = test.read("pid").trim().to_owned();
    wait_for("its long sleep", || state(&number) == Some('D'));
    running.signal(Signal::TERM);
    let ended = running.ends().exits(143);
    assert!(ended.stderr.contains("can't be ended"), "{}", ended.stderr);
    assert_eq!(state(&number), Some('D'), "it was ended after all");
    let refused = test.run(["resume"]).exits(74);
    assert!(refused.stderr.contains("not even by SIGKILL"), "{}", refused.stderr);
    assert!(refused.stderr.contains(&number), "{}", refused.stderr);
    assert!(test.events("resumed").is_empty());
    assert!(frozen.thaw());
    wait_for("its end", || state(&number).is_none_or(|state| state == 'Z'));
    test.run(["resume"]).exits(125);
    assert_eq!(test.state()["facts"]["iterations"], 2);
}

fn state(pid: &str) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}
