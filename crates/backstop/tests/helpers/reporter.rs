//! A worker that reports all the time: by lines, and by several connections at once. For tests of
//! what a crash may lose.
//!
//! `reporter EVENTS [linger]` in an iteration's working directory. It appends `SEQ ID` to `acked`
//! after the answer to each event that it sent by the socket. With `linger` it leaves a process in
//! a session of its own behind. Once there is a file `calm`, it creates `done` and reports nothing.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use backstop_core::event::Event;
use backstop_runner::socket::Client;

fn main() -> io::Result<ExitCode> {
    if fs::exists("calm")? {
        File::create("done")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut arguments = env::args().skip(1);
    let events: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    if arguments.next().as_deref() == Some("linger") {
        linger()?;
    }
    let socket = env::var_os("BACKSTOP_SOCKET").map(PathBuf::from).unwrap_or_default();
    let iteration = env::var("BACKSTOP_ITERATION").unwrap_or_default();
    let reporters: Vec<_> = (0..REPORTERS)
        .map(|number| {
            let (socket, name) = (socket.clone(), format!("{iteration}.{number}"));
            thread::spawn(move || report(&socket, &name, events))
        })
        .collect();
    for number in 0..events {
        let id = format!("{iteration}.line.{number}");
        writeln!(io::stdout(), "::backstop {}", unit(&id))?;
        writeln!(io::stdout(), "::backstop {USAGE}")?;
    }
    for reporter in reporters {
        // Whoever lost the supervisor has nothing more to say.
        let _unreachable = reporter.join();
    }
    Ok(ExitCode::SUCCESS)
}

fn report(socket: &std::path::Path, name: &str, events: u32) -> io::Result<()> {
    let mut acknowledged = OpenOptions::new().create(true).append(true).open("acked")?;
    let mut client = Client::report_to(socket).map_err(io::Error::other)?;
    for number in 0..events {
        let id = format!("{name}.{number}");
        let event = Event::from_json(unit(&id).as_bytes()).map_err(io::Error::other)?;
        let answer = client.event(&event).map_err(io::Error::other)?;
        let seq = answer.seq().unwrap_or_default();
        // One call, so that lines never mix.
        acknowledged.write_all(format!("{seq} {id}\n").as_bytes())?;
    }
    Ok(())
}

fn unit(id: &str) -> String {
    format!(r#"{{"type":"unit","id":"{id}","status":"approved"}}"#)
}

fn linger() -> io::Result<()> {
    Command::new("setsid")
        .args(["sleep", "300"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(drop)
}

const REPORTERS: u32 = 3;
const USAGE: &str = r#"{"type":"usage","input_tokens":3,"output_tokens":2,"cost_usd":0.25}"#;
