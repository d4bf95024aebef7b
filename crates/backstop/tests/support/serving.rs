//! `backstop serve`, and a client that sends exactly what it is told.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value as Json;

use super::looping::{Loop, send, wait_for};
use super::{BINARY, Test};

/// A service that runs.
pub struct Serving {
    child: Option<Child>,
    /// The line that it has printed.
    pub said: String,
    pub address: SocketAddr,
    log: Arc<Mutex<String>>,
}

impl Serving {
    /// Starts it at a port of this machine that is free, and waits until it says where it listens.
    #[track_caller]
    pub fn start(test: &Test, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_at("127.0.0.1:0", test, flags, variables)
    }

    #[track_caller]
    pub fn start_at(listen: &str, test: &Test, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(BINARY);
        command
            .args(["serve", "--listen", listen])
            .args(flags)
            .current_dir(test.path())
            .env_clear()
            .envs([("HOME", test.path().as_os_str()), ("TZ", "UTC".as_ref())])
            .envs(variables.iter().copied());
        Self::launch(&mut command)
    }

    /// Starts one for the store of a test's runs.
    #[track_caller]
    pub fn beside(test: &Loop) -> Self {
        Self::launch(&mut test.command(["serve", "--listen", "127.0.0.1:0"]))
    }

    #[track_caller]
    fn launch(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let log = Arc::new(Mutex::new(String::new()));
        let errors = child.stderr.take().expect("its standard error");
        std::thread::spawn({
            let log = Arc::clone(&log);
            move || {
                for line in BufReader::new(errors).lines().map_while(Result::ok) {
                    let mut log = log.lock().expect("the log");
                    log.push_str(&line);
                    log.push('\n');
                }
            }
        });
        let mut said = String::new();
        let out = child.stdout.take().expect("its standard output");
        BufReader::new(out).read_line(&mut said).expect("it says something");
        let address = said.trim().rsplit('/').next().and_then(|text| text.parse().ok());
        let Some(address) = address else {
            let _ = child.wait();
            panic!("it does not listen: {said}{}", log.lock().expect("the log"));
        };
        Self { child: Some(child), said: said.trim().to_owned(), address, log }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, &[JSON], body)
    }

    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        ask(self.address, method, path, headers, body).expect("an answer")
    }

    /// What it has logged until now.
    pub fn log(&self) -> String {
        self.log.lock().expect("the log").clone()
    }

    /// Waits until these words are in the log.
    #[track_caller]
    pub fn logs(&self, words: &str) -> String {
        wait_for(words, || self.log().contains(words));
        self.log()
    }

    pub fn signal(&self, signal: Signal) {
        send(self.child.as_ref().expect("it runs").id(), signal);
    }

    /// Waits for its end, and tells how it ended.
    #[track_caller]
    pub fn ends(mut self) -> Option<i32> {
        let mut child = self.child.take().expect("it runs");
        let mut status = None;
        wait_for("its end", || {
            status = child.try_wait().expect("it can be asked");
            status.is_some()
        });
        status.and_then(|status| status.code())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Everything before the body, in small letters.
    pub head: String,
    pub body: String,
}

impl Answer {
    #[track_caller]
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// One request on a connection of its own; none if no answer comes.
pub fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    stream.write_all(request(method, path, headers, body).as_bytes()).ok()?;
    read_answer(&mut stream)
}

/// The text of a request. A host that is given stands in for the usual one.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        text.push_str("host: localhost\r\n");
    }
    if !headers.iter().any(|(name, _)| *name == "content-length") {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text + "\r\n" + body
}

/// Reads to the end of a connection that is closed after its answer.
pub fn read_answer(stream: &mut impl Read) -> Option<Answer> {
    let mut bytes = Vec::new();
    // Over TLS a connection may end without a farewell.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_lowercase(), body: body.to_owned() })
}

pub const JSON: (&str, &str) = ("content-type", "application/json");
