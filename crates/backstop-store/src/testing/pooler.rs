//! A pooler between clients and a PostgreSQL server, which lends its connections by transaction.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::postgres::{Database, Server, as_server, is_root};

/// A pgbouncer of our own, with its socket beside the server's. It goes with this, and also if the
/// process ends in any other way.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    log: PathBuf,
    /// Waits for the end of its input, and ends the pooler then.
    watcher: Option<(Child, ChildStdin)>,
}

/// What a pooler does with parameters of a connection that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    Refused,
    Dropped,
}

impl Pooler {
    /// Starts a pooler before a server; none where pgbouncer is not installed, which is said in one
    /// line.
    ///
    /// # Panics
    /// Where it is not installed, but must be (`CI=true`), and where it does not start.
    #[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
    pub fn start(server: &Server, unknown: Unknown) -> Option<Self> {
        let Some(program) = program() else {
            let why = "pgbouncer is not installed (on Debian: `apt-get install pgbouncer`)";
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
            println!("skipped: {why}");
            return None;
        };
        Some(Self::create(&program, server, unknown).expect("a pooler starts"))
    }

    /// The URL of a database by this way.
    pub fn url(&self, database: &Database<'_>) -> String {
        database.url_at(self.port)
    }

    /// What it has logged until now.
    ///
    /// # Errors
    /// The log can't be read.
    pub fn log(&self) -> io::Result<String> {
        fs::read_to_string(&self.log)
    }

    fn create(program: &Path, server: &Server, unknown: Unknown) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Only the name of a socket: no network is used.
        let port = 6_000 + u16::try_from(NEXT.fetch_add(1, Ordering::SeqCst)).unwrap_or_default();
        let directory = server.directory().display().to_string();
        let ignored = match unknown {
            Unknown::Refused => "",
            Unknown::Dropped => "ignore_startup_parameters = options",
        };
        let users = server.directory().join(format!("pooler-{port}.users"));
        readable(&users, "\"backstop\" \"\"\n")?;
        let settings = server.directory().join(format!("pooler-{port}.ini"));
        let text = format!(
            "[databases]\n* = host={directory}\n[pgbouncer]\npool_mode = transaction\n\
             listen_addr =\nlisten_port = {port}\nunix_socket_dir = {directory}\n\
             auth_type = trust\nauth_file = {}\nlogfile = {directory}/pooler-{port}.log\n\
             max_client_conn = 1000\ndefault_pool_size = 3\nserver_idle_timeout = 5\n{ignored}\n",
            users.display()
        );
        readable(&settings, &text)?;
        let mut started = Command::new("sh");
        started.args(["-c", WATCH, "watch"]);
        // It refuses to run as root.
        if is_root() {
            started.args(as_server());
        }
        let mut watcher = started
            .args([program, &settings])
            .current_dir(server.directory())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let input = watcher.stdin.take().ok_or_else(|| io::Error::other("no input"))?;
        let log = server.directory().join(format!("pooler-{port}.log"));
        let pooler = Self { port, log, watcher: Some((watcher, input)) };
        let socket = server.directory().join(format!(".s.PGSQL.{port}"));
        let end = Instant::now() + STARTING;
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            if Instant::now() > end {
                return Err(io::Error::other("the pooler does not let anybody in"));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(pooler)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        if let Some((mut watcher, input)) = self.watcher.take() {
            drop(input);
            watcher.wait().ok();
        }
    }
}

fn readable(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

/// Debian keeps it out of most users' search path.
fn program() -> Option<PathBuf> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&search).chain([PathBuf::from("/usr/sbin")]);
    places.map(|place| place.join("pgbouncer")).find(|path| path.exists())
}

/// Its versions differ in which signal they obey at once; this one all of them do.
const WATCH: &str = r#"
    "$@" < /dev/null &
    cat > /dev/null
    kill -KILL "$!" 2> /dev/null
    wait
"#;

const STARTING: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
