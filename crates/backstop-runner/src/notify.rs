//! Telling others what happens to a run: by a webhook, by a command, in a GitHub Action.
//!
//! Nothing here keeps the run waiting, and no message another. What is posted is posted on a thread of
//! its own, and commands are waited for among all that happens. What became of each message is told
//! by [`Notifier::next`], for the journal.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread;

use backstop_core::event::{Note, Noted};
use backstop_core::policy::{NotifySettings, Occasion, VariableName};
use tokio::sync::mpsc;

use crate::clock::wall_time;
use crate::tree::Tree;

pub mod address;
mod command;
mod crossings;
pub mod github;
mod limits;
mod message;
pub mod signature;
pub mod webhook;

pub(crate) use crossings::Warned;
pub use message::{About, Message};

use command::{CommandChannel, RunningCommands};
use github::Github;
use limits::Limits;
use signature::Secret;
use webhook::{Pace, Webhook};

/// By which way somebody is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    Webhook,
    Command,
    Github,
}

impl fmt::Display for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Webhook => "webhook",
            Self::Command => "command",
            Self::Github => "github",
        })
    }
}

/// How a delivery went: what is worth keeping of it, or why there was none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub attempts: u32,
    pub result: Result<String, String>,
}

/// What became of a message on one of its ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub channel: Channel,
    /// Where it went, without secrets.
    pub target: String,
    pub event: &'static str,
    /// The message's own name.
    pub id: String,
    pub outcome: Outcome,
}

impl Delivery {
    fn new(channel: Channel, target: String, message: &Message, outcome: Outcome) -> Self {
        Self { channel, target, event: message.event, id: message.delivery.clone(), outcome }
    }

    pub fn is_delivered(&self) -> bool {
        self.outcome.result.is_ok()
    }
}

/// As the journal keeps it: `webhook https://example.org/…: halted (attempt 2): it answered 204`.
impl fmt::Display for Delivery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.channel)?;
        if !self.target.is_empty() {
            write!(formatter, " {}", self.target)?;
        }
        write!(formatter, ": {}", self.event)?;
        match self.outcome.attempts {
            0 | 1 => {}
            many => write!(formatter, " ({many} attempts)")?,
        }
        let (Ok(detail) | Err(detail)) = &self.outcome.result;
        write!(formatter, ": {detail}")
    }
}

/// Everybody who is told.
#[derive(Debug)]
pub struct Notifier {
    settings: NotifySettings,
    webhook: Option<Posting>,
    command: Option<CommandChannel>,
    github: Option<Github>,
    limits: Limits,
    commands: RunningCommands,
    posted_in: mpsc::UnboundedSender<Delivery>,
    posted: mpsc::UnboundedReceiver<Delivery>,
    /// What has been sent and not been heard of.
    outstanding: Vec<Delivery>,
    /// What was over at once.
    over: VecDeque<Delivery>,
}

/// A webhook, and what it is called.
#[derive(Debug)]
struct Posting {
    target: String,
    /// Or why nothing can be posted.
    webhook: Result<Webhook, String>,
}

impl Notifier {
    /// Those whom the policy names, and the GitHub Action around this process.
    pub fn new(settings: Option<&NotifySettings>, cwd: &Path, tree: &Tree) -> Self {
        let settings = settings.cloned().unwrap_or_default();
        let (posted_in, posted) = mpsc::unbounded_channel();
        let mut notifier = Self {
            limits: Limits::new(settings.most_per_hour()),
            settings,
            webhook: None,
            command: None,
            github: None,
            commands: RunningCommands::default(),
            posted_in,
            posted,
            outstanding: Vec::new(),
            over: VecDeque::new(),
        };
        notifier.open(cwd, tree);
        notifier
    }

    /// What goes out is counted in a file, together with what others sent for the same run.
    #[must_use]
    pub fn counted_in(mut self, file: PathBuf) -> Self {
        self.limits.keep_in(file);
        self
    }

    /// Another policy is in force. What is under way stays under way.
    pub fn replace(&mut self, settings: Option<&NotifySettings>, cwd: &Path, tree: &Tree) {
        self.settings = settings.cloned().unwrap_or_default();
        self.limits.set(self.settings.most_per_hour());
        self.open(cwd, tree);
    }

    fn open(&mut self, cwd: &Path, tree: &Tree) {
        let settings = &self.settings;
        self.webhook = settings.webhook.as_ref().map(|url| Posting {
            target: url.to_string(),
            webhook: secret(settings.secret_env.as_ref()).map(|secret| Webhook {
                url: url.clone(),
                secret,
                allow_private: settings.allow_private.unwrap_or(false),
                pace: Pace::default(),
            }),
        });
        self.command = settings.command.as_ref().map(|command| {
            let aside = Rc::new(tree.aside());
            CommandChannel::new(command, cwd, settings.secret_env.as_ref(), aside)
        });
        self.github = Github::around(settings.github.unwrap_or_default());
    }

    /// Whether there is anybody to tell.
    pub fn has_channels(&self) -> bool {
        self.webhook.is_some() || self.command.is_some() || self.github.is_some()
    }

    /// Whether anybody is told of this.
    pub fn tells(&self, occasion: Occasion) -> bool {
        self.has_channels() && self.settings.tells(occasion)
    }

    /// Whether somebody hears of this who may answer. What is shown beside a job of GitHub's is
    /// read when the job has ended.
    pub fn reaches_somebody(&self, occasion: Occasion) -> bool {
        (self.webhook.is_some() || self.command.is_some()) && self.settings.tells(occasion)
    }

    /// Tells everybody, unless there have been too many messages: then false. Never waits. The line
    /// that annotates a GitHub Action is left to be printed by the caller.
    pub fn send(&mut self, occasion: Occasion, mut message: Message) -> Sent {
        match self.limits.admit(occasion, wall_time()) {
            Some(left_out) => message.left_out = left_out,
            None => return Sent::LeftOut,
        }
        Sent::Out { annotation: self.send_to_all(&message) }
    }

    /// Tells everybody, whatever the limits say.
    pub fn send_to_all(&mut self, message: &Message) -> Option<String> {
        self.post(message);
        self.call(message);
        self.annotate(message)
    }

    fn post(&mut self, message: &Message) {
        let Some(posting) = &self.webhook else { return };
        let under_way = self.outstanding.iter().filter(|sent| sent.channel == Channel::Webhook);
        let refusal = match &posting.webhook {
            Err(why) => Some(why.clone()),
            Ok(_) if under_way.count() >= MOST_UNDER_WAY => Some(TOO_MANY.to_owned()),
            Ok(webhook) => {
                let (webhook, target) = (webhook.clone(), posting.target.clone());
                start_posting(webhook, target, message.clone(), self.posted_in.clone())
            }
        };
        let target = posting.target.clone();
        self.sent(Channel::Webhook, target, message, refusal);
    }

    fn call(&mut self, message: &Message) {
        let Some(channel) = &self.command else { return };
        let refusal = match self.commands.start(channel, message.clone()) {
            true => None,
            false => Some(TOO_MANY.to_owned()),
        };
        let target = channel.target();
        self.sent(Channel::Command, target, message, refusal);
    }

    fn sent(&mut self, channel: Channel, target: String, message: &Message, no: Option<String>) {
        let has_failed = no.is_some();
        let outcome = Outcome { attempts: 0, result: Err(no.unwrap_or_default()) };
        let delivery = Delivery::new(channel, target, message, outcome);
        match has_failed {
            true => self.over.push_back(delivery),
            false => self.outstanding.push(delivery),
        }
    }

    fn annotate(&mut self, message: &Message) -> Option<String> {
        let github = self.github.as_ref()?;
        let result = github.summarise(message).map(str::to_owned);
        let outcome = Outcome { attempts: 1, result };
        let delivery = Delivery::new(Channel::Github, String::new(), message, outcome);
        self.over.push_back(delivery);
        Some(github::annotation(message))
    }

    /// Whether something was sent that has not been heard of.
    pub fn is_busy(&self) -> bool {
        !self.outstanding.is_empty() || !self.over.is_empty()
    }

    /// Waits until it is known what became of a message; for ever if nothing is under way. May be
    /// given up at any time.
    pub async fn next(&mut self) -> Delivery {
        if let Some(over) = self.over.pop_front() {
            return over;
        }
        let delivery = tokio::select! {
            Some(delivery) = self.posted.recv() => delivery,
            (message, outcome) = self.commands.next() => {
                let is_it = |sent: &&Delivery| {
                    sent.channel == Channel::Command && sent.id == message.delivery
                };
                let target = self.outstanding.iter().find(is_it).map(|sent| sent.target.clone());
                Delivery::new(Channel::Command, target.unwrap_or_default(), &message, outcome)
            }
        };
        self.outstanding.retain(|sent| sent.channel != delivery.channel || sent.id != delivery.id);
        delivery
    }

    /// Waits no longer: ends what can be ended, and tells what was not heard of.
    pub fn give_up(&mut self, why: &str) -> Vec<Delivery> {
        self.commands.clear();
        let mut left: Vec<Delivery> = self.over.drain(..).collect();
        left.extend(self.outstanding.drain(..).map(|sent| Delivery {
            outcome: Outcome { attempts: 0, result: Err(why.to_owned()) },
            ..sent
        }));
        left
    }
}

/// As the journal keeps it that nobody was told, because there were too many messages.
pub(crate) fn left_out(occasion: Occasion) -> Noted {
    let detail = format!("{}: left out, there were too many", occasion.as_str());
    Noted { what: Note::NotNotified, detail }
}

/// What was done with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// There have been too many.
    LeftOut,
    Out {
        annotation: Option<String>,
    },
}

/// The secret in a variable; none where none is wanted.
fn secret(variable: Option<&VariableName>) -> Result<Option<Secret>, String> {
    let Some(VariableName(name)) = variable else { return Ok(None) };
    let value = std::env::var_os(name).map(std::os::unix::ffi::OsStringExt::into_vec);
    match value.and_then(Secret::new) {
        Some(secret) => Ok(Some(secret)),
        None => Err(format!("it can't be signed: the variable `{name}` is not set, or is empty")),
    }
}

/// Starts a thread that posts a message. It ends with that, or with the process: nobody waits for it.
/// Each message has one of its own, so that one that is tried again keeps no other waiting. Answers
/// with why there is none.
fn start_posting(
    webhook: Webhook,
    target: String,
    message: Message,
    posted: mpsc::UnboundedSender<Delivery>,
) -> Option<String> {
    let post = move || {
        let outcome = webhook.deliver(&message);
        // If nobody is left who wants to know, the process is about to end.
        let _ = posted.send(Delivery::new(Channel::Webhook, target, &message, outcome));
    };
    let started = thread::Builder::new().name("webhook".to_owned()).spawn(post);
    started.err().map(|error| format!("no thread can be started that posts it: {error}"))
}

/// How many messages one channel may have under way.
const MOST_UNDER_WAY: usize = 32;
const TOO_MANY: &str = "too many messages are under way already";
