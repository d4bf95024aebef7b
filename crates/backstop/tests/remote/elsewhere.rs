//! A server with its store, and a client that has neither.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use crate::support::Ended;
use crate::support::looping::Loop;

/// A machine with a store and a server, and another one that asks it.
pub struct Elsewhere {
    /// The machine of the server.
    pub there: Loop,
    /// The machine of the client.
    pub here: Loop,
    pub url: String,
    server: Child,
}

impl Elsewhere {
    pub fn new(there: Loop) -> Self {
        Self::serving(there, &[])
    }

    /// The same with more flags for the server.
    pub fn serving(there: Loop, flags: &[String]) -> Self {
        let mut server = there
            .command(["serve", "--listen", "127.0.0.1:0"])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let stdout = server.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it listens");
        let url = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Self { there, here: Loop::new(), url, server }
    }

    /// Asks the server by the flag, from the other machine.
    #[track_caller]
    pub fn ask(&self, arguments: &[&str]) -> Ended {
        self.here.run([&["--server", &self.url], arguments].concat())
    }

    /// The same, with a token.
    #[track_caller]
    pub fn ask_with(&self, token: &str, arguments: &[&str]) -> Ended {
        let mut command = self.here.command([&["--server", &self.url], arguments].concat());
        self.here.launch(command.env("BACKSTOP_TOKEN", token)).ends()
    }

    /// Makes a token where the server is.
    #[track_caller]
    pub fn token(&self, scopes: &str) -> String {
        let made = self.there.run(["token", "create", "--scope", scopes]).exits(0);
        made.stdout.trim().to_owned()
    }

    /// Begins a run for a script where the server is.
    #[track_caller]
    pub fn begun(&self, more: &[&str]) -> String {
        let begun = self.there.run([&["begin"], more].concat()).exits(0);
        begun.stdout.trim().to_owned()
    }

    /// Both machines say the same and end alike.
    #[track_caller]
    pub fn same(&self, arguments: &[&str]) -> Ended {
        self.alike(arguments, arguments)
    }

    /// The same for words that differ. How long ago something was changes between two looks, so they
    /// are compared where it said the same there before and after.
    #[track_caller]
    pub fn alike(&self, there: &[&str], here: &[&str]) -> Ended {
        let mut before = self.there.run(there);
        for _ in 0..PATIENCE {
            let asked = self.ask(here);
            let after = self.there.run(there);
            if before == after {
                assert_eq!(asked, after, "{here:?}");
                return asked;
            }
            before = after;
        }
        panic!("{there:?} never says the same twice");
    }
}

/// More looks than pass until ages are told in minutes.
const PATIENCE: usize = 1_000;

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
