//! A loop that is supervised for real: the binary, its processes, its state directory.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use tempfile::TempDir;

use super::Ended;

/// A working directory and a state directory of a test's own.
pub struct Loop {
    folder: TempDir,
    /// Every process of the test carries it in its environment.
    mark: String,
    environment: Vec<(String, String)>,
}

impl Loop {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = TempDir::new().expect("a temporary folder");
        for name in ["work", "state", "run"] {
            fs::create_dir(folder.path().join(name)).expect("can be created");
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{count}", std::process::id());
        Self { folder, mark, environment: Vec::new() }
    }

    /// Writes a file into the working directory.
    #[must_use]
    pub fn file(self, name: &str, content: &str) -> Self {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("can be created");
        fs::write(path, content).expect("can be written");
        self
    }

    /// Writes a shell script into the working directory.
    #[must_use]
    pub fn script(self, name: &str, body: &str) -> Self {
        let test = self.file(name, &format!("#!/bin/bash\n{body}\n"));
        let path = test.work().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
            .expect("can be made executable");
        test
    }

    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub fn state_directory(&self) -> PathBuf {
        self.folder.path().join("state/backstop")
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap_or_default()
    }

    pub fn exists(&self, name: &str) -> bool {
        self.work().join(name).exists()
    }

    /// The binary with these arguments, in the working directory.
    pub fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        self.command_in(&self.work(), arguments)
    }

    pub fn command_in<S: AsRef<std::ffi::OsStr>>(
        &self,
        directory: &Path,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backstop"));
        command.args(arguments).current_dir(directory).env_clear().stdin(Stdio::null());
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("XDG_RUNTIME_DIR", self.folder.path().join("run"))
            .env("TZ", "UTC")
            .env("NO_COLOR", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("TEST_MARK", &self.mark)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the binary to its end.
    #[track_caller]
    pub fn run<S: AsRef<std::ffi::OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ended {
        self.start(arguments).ends()
    }

    /// Runs the binary to its end, with something piped in.
    #[track_caller]
    pub fn feed<S: AsRef<std::ffi::OsStr>>(
        &self,
        stdin: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Ended {
        let path = self.folder.path().join("piped");
        fs::write(&path, stdin).expect("can be written");
        let mut command = Command::new("/bin/cat");
        let cat = command.arg(path).stdout(Stdio::piped()).spawn();
        let piped = cat.expect("cat runs").stdout.expect("a pipe");
        self.launch(self.command(arguments).stdin(piped)).ends()
    }

    /// Starts the binary and leaves it running.
    pub fn start<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Running {
        self.launch(&mut self.command(arguments))
    }

    /// Starts the binary and lets nobody read what it says.
    pub fn start_unheard<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Running {
        let mut command = self.command(arguments);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Running { child: Some(child.expect("the binary can be started")) }
    }

    /// Starts the binary and has what it says written to a file beside the agent.
    pub fn start_into<S: AsRef<std::ffi::OsStr>>(
        &self,
        file: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Running {
        let said = fs::File::create(self.work().join(file)).expect("can be written");
        let mut command = self.command(arguments);
        let child = command.stdout(Stdio::null()).stderr(said).spawn();
        Running { child: Some(child.expect("the binary can be started")) }
    }

    /// Starts a command with its output to be read at its end.
    pub fn launch(&self, command: &mut Command) -> Running {
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be started");
        Running { child: Some(child) }
    }

    /// `state.json` of the newest run, with the facts.
    #[track_caller]
    pub fn state(&self) -> Json {
        let ended = self.run(["show", "latest", "--json"]).exits(0);
        serde_json::from_str(&ended.stdout).expect("state is JSON")
    }

    /// The journal of the newest run.
    #[track_caller]
    pub fn journal(&self) -> Vec<Json> {
        let ended = self.run(["show", "latest", "--events"]).exits(0);
        let lines = ended.stdout.lines();
        lines.map(|line| serde_json::from_str(line).expect("an event is JSON")).collect()
    }

    /// The events of one type in the journal of the newest run.
    #[track_caller]
    pub fn events(&self, kind: &str) -> Vec<Json> {
        self.journal().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// Whether the newest run, if there is one yet, has such an event in its journal.
    pub fn has(&self, kind: &str) -> bool {
        let journal = self.run(["show", "latest", "--events"]);
        journal.code == Some(0) && journal.stdout.contains(&format!(r#""type":"{kind}""#))
    }

    /// Every living process of this test but supervisors.
    pub fn processes(&self) -> Vec<u32> {
        self.marked().into_iter().filter(|pid| !is_supervisor(*pid)).collect()
    }

    /// Every living process of this test.
    pub fn marked(&self) -> Vec<u32> {
        let wanted = format!("TEST_MARK={}", self.mark);
        let folders = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
        folders
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid: &u32| {
                let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environment.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes())
            })
            .collect()
    }

    /// The living processes of this test that run a program of this name.
    pub fn processes_named(&self, name: &str) -> Vec<u32> {
        let is_named = |pid: &u32| {
            let told = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            told.trim_end() == name
        };
        self.processes().into_iter().filter(is_named).collect()
    }

    /// Kills these processes as a power cut would: none of them sees another die.
    pub fn cut_off(pids: &[u32]) {
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in pids.iter().filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?)) {
                // It may have ended by itself meanwhile.
                let _gone = kill_process(pid, signal);
            }
        }
    }

    /// No process of this test but supervisors lives now.
    #[track_caller]
    pub fn leaves_nothing(&self) {
        let living = self.processes();
        let names = living.iter().map(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")));
        assert!(living.is_empty(), "{:?}", names.collect::<Vec<_>>());
    }

    /// Waits until no process of this test but supervisors is left.
    #[track_caller]
    pub fn is_empty(&self) {
        wait_for("all processes to be gone", || self.processes().is_empty());
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // A test that failed must not leave anything running.
        for pid in self.marked() {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// A call that has not ended yet.
pub struct Running {
    child: Option<Child>,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// Closes the other ends of its output, as a terminal that is closed does.
    pub fn hang_up(&mut self) {
        let child = self.child.as_mut().expect("it runs");
        drop((child.stdout.take(), child.stderr.take()));
    }

    pub fn is_running(&mut self) -> bool {
        let child = self.child.as_mut().expect("it runs");
        child.try_wait().expect("it can be asked").is_none()
    }

    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Whether it has ended; what it says may still be unread.
    pub fn has_ended(&self) -> bool {
        // A look that leaves it to be waited for.
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        let state = stat.rsplit(") ").next().and_then(|fields| fields.chars().next());
        state.is_none_or(|state| state == 'Z')
    }

    /// Waits for its end, within reason.
    #[track_caller]
    pub fn ends(mut self) -> Ended {
        let child = self.child.take().expect("it runs");
        let pid = child.id();
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(child.wait_with_output()));
        match ended.recv_timeout(PATIENCE) {
            Ok(output) => Ended::new(&output.expect("it can be waited for")),
            Err(_) => {
                send(pid, Signal::KILL);
                panic!("it does not end");
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, signal).expect("it can be signalled");
}

/// Waits until something holds, within reason.
#[track_caller]
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// When an event happened.
#[track_caller]
pub fn at(event: &Json) -> jiff::Timestamp {
    event["at"].as_str().expect("a time").parse().expect("a time")
}

/// The time that the run had worked by then, in milliseconds.
#[track_caller]
pub fn active_ms(event: &Json) -> i128 {
    event["active_ms"].as_u64().expect("active time").into()
}

fn is_supervisor(pid: u32) -> bool {
    fs::read_link(format!("/proc/{pid}/exe"))
        .is_ok_and(|path| path == Path::new(env!("CARGO_BIN_EXE_backstop")))
}

/// Far longer than anything takes, so that only what hangs runs into it.
const PATIENCE: Duration = Duration::from_secs(60);
