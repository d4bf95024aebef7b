//! Telling a command of the user's own.

use std::ffi::OsString;
use std::fmt;
use std::future::{Future, poll_fn};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use backstop_core::policy::{self, VariableName};

use super::{Message, Outcome};
use crate::side_command::{Invocation, SideCommand, SideOutcome};
use crate::tree::Tree;
use crate::verify::last_lines;

/// A command that is run for each message.
pub(super) struct CommandChannel {
    command: policy::Command,
    cwd: PathBuf,
    /// What it is not told.
    withheld: Option<OsString>,
    tree: Rc<Tree>,
}

impl CommandChannel {
    pub(super) fn new(
        command: &policy::Command,
        cwd: &Path,
        secret: Option<&VariableName>,
        tree: Rc<Tree>,
    ) -> Self {
        let withheld = secret.map(|name| OsString::from(&name.0));
        Self { command: command.clone(), cwd: cwd.to_owned(), withheld, tree }
    }

    /// Its program, for people.
    pub(super) fn target(&self) -> String {
        match &self.command {
            policy::Command::Shell(text) => text.clone(),
            policy::Command::Program(words) => words.first().cloned().unwrap_or_default(),
        }
    }

    fn side_command(&self, message: &Message) -> SideCommand {
        let mut invocation = Invocation::from(&self.command);
        if let Invocation::Program(words) = &mut invocation {
            words.push(message.sentence().into());
        }
        let mut command = SideCommand::new(invocation, &self.cwd);
        command.timeout = TIMEOUT;
        command.merge_streams = true;
        command.output_cap = OUTPUT_CAP;
        command.input = message.to_json().into_bytes();
        let told = [
            ("BACKSTOP_EVENT", message.event.to_owned()),
            ("BACKSTOP_TITLE", message.title.clone()),
            ("BACKSTOP_MESSAGE", message.message.clone()),
        ];
        command.env = told.map(|(name, value)| (name.into(), Some(value.into()))).to_vec();
        command.env.extend(self.withheld.iter().map(|name| (name.clone(), None)));
        command
    }

    fn run(&self, message: &Message) -> impl Future<Output = Outcome> + use<> {
        let (command, tree) = (self.side_command(message), Rc::clone(&self.tree));
        async move {
            let ended = command.run(&tree, std::future::pending()).await;
            Outcome { attempts: 1, result: in_words(&ended) }
        }
    }
}

fn in_words(ended: &SideOutcome) -> Result<String, String> {
    if let Some(why) = &ended.not_started {
        return Err(why.clone());
    }
    let printed = match last_lines(&ended.stdout, DETAIL_CHARACTERS) {
        text if text.is_empty() => text,
        text => format!(": {text}"),
    };
    match ended.exit.map(|exit| (exit.code, exit.signal)) {
        _ if ended.timed_out => {
            Err(format!("it took longer than {}{printed}", backstop_core::time::in_words(TIMEOUT)))
        }
        Some((Some(0), _)) => Ok("it exited with 0".to_owned()),
        Some((Some(code), _)) => Err(format!("it exited with {code}{printed}")),
        Some((None, Some(signal))) => Err(format!("signal {signal} ended it{printed}")),
        _ => Err("nobody can tell how it ended".to_owned()),
    }
}

/// Commands that run. Nothing goes on unless [`Self::next`] is waited for.
#[derive(Default)]
pub(super) struct RunningCommands {
    running: Vec<RunningCommand>,
}

struct RunningCommand {
    message: Message,
    outcome: Pin<Box<dyn Future<Output = Outcome>>>,
}

impl RunningCommands {
    /// False if there are too many already.
    pub(super) fn start(&mut self, channel: &CommandChannel, message: Message) -> bool {
        let has_room = self.running.len() < super::MOST_UNDER_WAY;
        if has_room {
            let outcome = Box::pin(channel.run(&message));
            self.running.push(RunningCommand { message, outcome });
        }
        has_room
    }

    /// Waits until one of them has ended; for ever if there is none. May be given up.
    pub(super) async fn next(&mut self) -> (Message, Outcome) {
        poll_fn(|context| {
            for place in 0..self.running.len() {
                if let Poll::Ready(outcome) = self.running[place].outcome.as_mut().poll(context) {
                    return Poll::Ready((self.running.remove(place).message, outcome));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Ends all of them.
    pub(super) fn clear(&mut self) {
        self.running.clear();
    }
}

impl fmt::Debug for RunningCommands {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RunningCommands").field("count", &self.running.len()).finish()
    }
}

impl fmt::Debug for CommandChannel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CommandChannel").field("command", &self.command).finish()
    }
}

const TIMEOUT: Duration = Duration::from_secs(30);
const OUTPUT_CAP: usize = 16 << 10;
const DETAIL_CHARACTERS: usize = 200;
