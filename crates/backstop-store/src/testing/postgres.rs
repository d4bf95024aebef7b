//! A PostgreSQL server to throw away.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A server of our own: a directory, a socket in it, no network. It goes with this, and also if the
/// process ends in any other way.
#[derive(Debug)]
pub struct Server {
    directory: PathBuf,
    programs: PathBuf,
    process: Mutex<Option<Child>>,
    /// Watches over it: when this end of its input closes, it stops the server and removes all.
    watcher: Mutex<Option<(Child, ChildStdin)>>,
}

/// A database of its own. It goes with the server: removing it alone would take longer than most
/// tests.
#[derive(Debug)]
pub struct Database<'a> {
    server: &'a Server,
    name: String,
}

/// The server that all tests of a program share; none where PostgreSQL is not installed, which is
/// said in one line.
///
/// # Panics
/// Where it is not installed, but must be (`CI=true`), and where it does not start.
pub fn shared() -> Option<&'static Server> {
    static SHARED: OnceLock<Option<Server>> = OnceLock::new();
    SHARED.get_or_init(Server::start).as_ref()
}

impl Server {
    /// Starts a server for one test alone, which may be stopped and killed.
    ///
    /// # Panics
    /// As [`shared`] does.
    #[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            let why = "PostgreSQL is not installed (on Debian: `apt-get install postgresql`)";
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
            println!("skipped: {why}");
            return None;
        };
        Some(Self::create(programs).expect("a PostgreSQL server starts"))
    }

    fn create(programs: PathBuf) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // A socket's path is short.
        let name =
            format!("backstop-pg-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::SeqCst));
        let directory = Path::new("/tmp").join(name);
        fs::DirBuilder::new().mode(0o755).create(&directory)?;
        let server = Self {
            watcher: Mutex::new(Some(watch(&directory)?)),
            process: Mutex::new(None),
            directory,
            programs,
        };
        if is_root() {
            run(Command::new("chown").args([USER, &server.directory.display().to_string()]))?;
        }
        fs::set_permissions(&server.directory, fs::Permissions::from_mode(0o755))?;
        run(server
            .as_user("initdb")
            .args(["-U", "backstop", "-A", "trust", "-E", "UTF8"])
            .args(["--no-locale", "--no-sync", "-D", &server.data()]))?;
        server.restart()?;
        Ok(server)
    }

    /// Where its files and sockets are.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates a database.
    ///
    /// # Panics
    /// The server does not let it.
    pub fn database(&self) -> Database<'_> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::SeqCst));
        self.query("postgres", &format!("CREATE DATABASE {name}")).expect("a database");
        Database { server: self, name }
    }

    /// Starts a server that was stopped or killed, and returns when it lets clients in.
    ///
    /// # Errors
    /// It does not start.
    pub fn restart(&self) -> io::Result<()> {
        let log =
            fs::OpenOptions::new().create(true).append(true).open(self.directory.join("log"))?;
        let mut command = self.as_user("postgres");
        command.args(["-D", &self.data(), "-k", &self.directory.display().to_string()]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        let process = command.stdout(log.try_clone()?).stderr(log).spawn()?;
        *lock(&self.process) = Some(process);
        let end = Instant::now() + STARTING;
        while self.query("postgres", "SELECT 1").is_err() {
            if Instant::now() > end {
                let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                return Err(io::Error::other(format!("the server does not start: {log}")));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Stops it in order; what was committed is on disk.
    pub fn stop(&self) {
        self.end("INT");
    }

    /// Kills it, as a power cut would: what it had not written is lost.
    pub fn kill(&self) {
        self.end("KILL");
    }

    /// Refuses every write from now on, or takes them again.
    ///
    /// # Panics
    /// The server does not let it.
    pub fn set_read_only(&self, read_only: bool) {
        let value = if read_only { "on" } else { "off" };
        let statement = format!("ALTER SYSTEM SET default_transaction_read_only = {value}");
        // The statement itself would be refused when it is read-only already.
        let options = "-c default_transaction_read_only=off";
        self.query_with("postgres", &statement, options).expect("a setting");
        self.query_with("postgres", "SELECT pg_reload_conf()", options).expect("a setting");
        let shown = || self.query("postgres", "SHOW default_transaction_read_only");
        while shown().is_ok_and(|shown| shown.trim() != value) {
            std::thread::sleep(PAUSE);
        }
    }

    /// Runs a statement in a database, as somebody who is not backstop.
    ///
    /// # Errors
    /// The server's words.
    pub fn query(&self, database: &str, statement: &str) -> io::Result<String> {
        self.query_with(database, statement, "")
    }

    fn query_with(&self, database: &str, statement: &str, options: &str) -> io::Result<String> {
        let socket = self.directory.display().to_string();
        let mut command = Command::new(self.programs.join("psql"));
        command
            .env("PGOPTIONS", options)
            .args(["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-h", &socket])
            .args(["-U", "backstop", "-d", database, "-c", statement]);
        run(&mut command)
    }

    fn end(&self, signal: &str) {
        let Some(mut process) = lock(&self.process).take() else { return };
        // The leader alone: what it has started ends when it is gone.
        let pid = process.id().to_string();
        Command::new("kill").args(["-s", signal, &pid]).status().ok();
        process.wait().ok();
        if signal == "KILL" {
            self.wait_for_orphans();
        }
    }

    /// A new leader is refused while children of the old one are left.
    fn wait_for_orphans(&self) {
        let pattern = self.data();
        let end = Instant::now() + STARTING;
        let left = || {
            let found = fs::read_dir("/proc").into_iter().flatten().flatten();
            found.into_iter().any(|entry| {
                fs::read_link(entry.path().join("cwd"))
                    .is_ok_and(|cwd| cwd.display().to_string() == pattern)
            })
        };
        while left() && Instant::now() < end {
            std::thread::sleep(PAUSE);
        }
    }

    fn data(&self) -> String {
        self.directory.join("data").display().to_string()
    }

    /// A program of PostgreSQL's, which refuses to run as root. In a process group of its own, so
    /// that an interrupted test stops it through the watcher only.
    fn as_user(&self, program: &str) -> Command {
        let path = self.programs.join(program);
        let mut command = if is_root() {
            let [program, words @ ..] = as_server();
            let mut command = Command::new(program);
            command.args(words).arg(path);
            command
        } else {
            Command::new(path)
        };
        command.current_dir(&self.directory).stdin(Stdio::null()).process_group(0);
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end("QUIT");
        if let Some((mut watcher, input)) = lock(&self.watcher).take() {
            drop(input);
            watcher.wait().ok();
        }
    }
}

impl Database<'_> {
    pub fn url(&self) -> String {
        self.url_at(5_432)
    }

    /// The same by another socket in the same place.
    pub(super) fn url_at(&self, port: u16) -> String {
        let socket = self.server.directory.display().to_string().replace('/', "%2F");
        format!("postgres://backstop@{socket}:{port}/{}", self.name)
    }

    /// Runs a statement in it, as somebody who is not backstop.
    ///
    /// # Errors
    /// The server's words.
    pub fn query(&self, statement: &str) -> io::Result<String> {
        self.server.query(&self.name, statement)
    }

    /// Cuts all connections to it.
    ///
    /// # Panics
    /// The server does not let it.
    pub fn cut_connections(&self) {
        let statement = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()";
        self.query(statement).expect("the connections are cut");
    }
}

/// What starts a program as the user that root lets serve.
pub(super) fn as_server() -> [&'static str; 5] {
    ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
}

/// Where PostgreSQL's programs are: Debian keeps them out of the search path.
fn programs() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"))
        .filter(|path| path.join("initdb").exists() && path.join("postgres").exists())
        .collect();
    found.sort_by_key(|path| {
        let version = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        version.and_then(|version| version.parse::<u32>().ok()).unwrap_or(0)
    });
    found.pop().or_else(|| {
        let search = std::env::var_os("PATH")?;
        std::env::split_paths(&search).find(|path| path.join("initdb").exists())
    })
}

/// Starts a shell that waits for its input to end, which it does with this process, however that
/// ends.
fn watch(directory: &Path) -> io::Result<(Child, ChildStdin)> {
    let mut watcher = Command::new("sh")
        .args(["-c", WATCH, "watch"])
        .arg(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let input = watcher.stdin.take().ok_or_else(|| io::Error::other("no input"))?;
    Ok((watcher, input))
}

fn run(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
}

pub(super) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|data| std::os::unix::fs::MetadataExt::uid(&data) == 0)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The user that Debian's package creates.
const USER: &str = "postgres";

const WATCH: &str = r#"
    cat > /dev/null
    leader=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null)
    if [ -n "$leader" ]; then
        kill -QUIT "$leader" 2> /dev/null
        tries=0
        while kill -0 "$leader" 2> /dev/null && [ "$tries" -lt 100 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
        kill -KILL "$leader" 2> /dev/null
    fi
    rm -rf "$1"
"#;

const SETTINGS: &[&str] = &[
    "listen_addresses=",
    "fsync=on",
    "shared_buffers=64MB",
    "max_connections=400",
    "autovacuum=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "log_min_messages=warning",
    // What is acknowledged must be on disk even where the server's owner thinks otherwise.
    "synchronous_commit=off",
];

const STARTING: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
