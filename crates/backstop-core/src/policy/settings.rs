//! The settings of a policy, section by section. What is left out has the default that the
//! accessor beside it gives.

use std::time::Duration;

use super::agents::{AgentName, HookSettings, JsonlSettings, PriceTable, WaitSettings};
use super::github::GithubSettings;
use super::judging::{DriftSettings, ReviewSettings, VerifySettings};
use super::notify::NotifySettings;
use super::secrets::SecretSettings;
use crate::event::{ErrorCategory, ProgressKind};
use crate::facts::ProgressKinds;
use crate::field::{Count, OneOrMany, Pause, Period, SetOf, Text, choices, record};
use crate::glob::Glob;

/// Declares the sections once: the struct of all of them, their keys, and how they are read,
/// written, laid over each other and described.
macro_rules! sections {
    ($($(#[doc = $doc:literal])* $key:ident ($name:literal): $type:ident,)*) => {
        /// All sections of a policy but its rules.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Settings {
            $($(#[doc = $doc])* pub $key: Option<$type>,)*
        }

        impl Settings {
            /// The names of the sections in documents.
            pub(crate) const KEYS: &'static [&'static str] = &[$($name),*];

            /// `None`: a section is there and wrong.
            pub(crate) fn read(
                table: &crate::document::Table,
                findings: &mut crate::field::Findings,
            ) -> Option<Self> {
                $(let $key = crate::field::optional::<$type>(table, $name, findings);)*
                Some(Self { $($key: $key?),* })
            }

            pub(crate) fn write(&self, into: &mut serde_json::Map<String, serde_json::Value>) {
                $(if let Some(section) = &self.$key {
                    into.insert($name.to_owned(), crate::field::Field::write(section));
                })*
            }

            /// These settings laid over others, key by key.
            #[must_use]
            pub(crate) fn over(self, base: Self) -> Self {
                Self { $($key: match (self.$key, base.$key) {
                    (Some(own), Some(base)) => Some(crate::field::Record::over(own, base)),
                    (own, base) => own.or(base),
                }),* }
            }

            pub(crate) fn schema(properties: &mut serde_json::Map<String, serde_json::Value>) {
                $(properties.insert(
                    $name.to_owned(),
                    crate::field::described(
                        <$type as crate::field::Field>::schema(),
                        concat!($($doc, "\n"),*),
                        None,
                    ),
                );)*
            }
        }
    };
}

sections! {
    /// How the loop runs its command.
    loop_ ("loop"): LoopSettings,
    /// Commands that tell whether the work is good.
    verify ("verify"): VerifySettings,
    /// What counts as progress.
    progress ("progress"): ProgressSettings,
    /// What the work must not touch.
    guards ("guards"): GuardSettings,
    /// How long a person has to answer.
    intervention ("intervention"): InterventionSettings,
    /// What was asked for.
    work ("work"): WorkSettings,
    /// Texts that sort errors into categories.
    errors ("errors"): ErrorSettings,
    /// How often a run may recover.
    recover ("recover"): RecoverSettings,
    /// Who reviews the work.
    review ("review"): ReviewSettings,
    /// How it is measured how far the work has drifted.
    drift ("drift"): DriftSettings,
    /// Who is told.
    notify ("notify"): NotifySettings,
    /// How long the limits of a provider are waited out.
    wait ("wait"): WaitSettings,
    /// What models cost, for agents that do not tell.
    prices ("prices"): PriceTable,
    /// Where the figures are in JSON lines of one's own.
    jsonl ("jsonl"): JsonlSettings,
    /// What backstop does inside an agent.
    hooks ("hooks"): HookSettings,
    /// What must never be written down.
    secrets ("secrets"): SecretSettings,
    /// What is done about failed jobs of pull requests.
    github ("github"): GithubSettings,
}

impl Settings {
    /// The kinds of progress that count.
    pub fn counted_progress(&self) -> ProgressKinds {
        let named = self.progress.as_ref().and_then(|progress| progress.count.as_ref());
        named.map_or(ProgressKinds::ALL, |kinds| ProgressKinds::of(&kinds.0))
    }

    /// How often a run may recover from a full context between two progress events.
    pub fn context_recoveries(&self) -> u64 {
        self.recover.as_ref().and_then(|recover| recover.context_max).map_or(3, |count| count.0)
    }
}

record! {
    /// How the loop runs its command.
    pub struct LoopSettings {
        /// An iteration that takes longer is ended with `worker_timeout`.
        optional iteration_timeout: Period,
        /// An iteration without output and without work for so long is ended with `worker_timeout`.
        optional idle_timeout: Period,
        /// The first signal; left out: the adapter's own, else SIGTERM.
        optional stop_signal: StopSignal,
        /// Time between the first signal and SIGKILL; left out: 10s.
        optional grace: Pause,
        /// How long a `stop` lets the current iteration finish; left out: 5m.
        optional finish_within: Pause,
        /// Pause between iterations; left out: none.
        optional delay: Pause,
        /// A hold that ends by itself sooner is waited out; left out: 10m.
        optional hold_wait: Pause,
        /// A file that is fed to every iteration; left out: what was piped in.
        optional stdin: Text,
        /// Which adapter reads the output; left out: auto.
        optional agent: AgentName,
    }
}

impl LoopSettings {
    pub const DEFAULT_GRACE: Duration = Duration::from_secs(10);
    pub const DEFAULT_FINISH_WITHIN: Duration = Duration::from_secs(300);
    pub const DEFAULT_HOLD_WAIT: Duration = Duration::from_secs(600);
}

/// A signal that asks a process to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    Term,
    Int,
    Hup,
    Quit,
    Usr1,
    Usr2,
    Kill,
}

choices! {
    StopSignal {
        "SIGTERM" => Term,
        "SIGINT" => Int,
        "SIGHUP" => Hup,
        "SIGQUIT" => Quit,
        "SIGUSR1" => Usr1,
        "SIGUSR2" => Usr2,
        "SIGKILL" => Kill,
    }
}

record! {
    /// What counts as progress.
    pub struct ProgressSettings {
        /// A commit, or a state of the tree not seen before in this run.
        optional git: bool,
        /// Markdown files with check boxes.
        optional tasks: OneOrMany<Text>,
        /// Without git: files changed under the working directory.
        optional files: bool,
        /// More tests passing, fewer failing, or new ones.
        optional tests: bool,
        /// Words in the output.
        optional markers: SetOf<Text>,
        /// Which kinds count; left out: all.
        optional count: SetOf<ProgressKind>,
    }
}

choices! {
    ProgressKind {
        "task" => Task,
        "pull_request" => PullRequest,
        "issue" => Issue,
        "commit" => Commit,
        "tree" => Tree,
        "tests" => Tests,
        "marker" => Marker,
        "other" => Other,
    }
}

record! {
    /// What the work must not touch.
    pub struct GuardSettings {
        /// Globs of what may change; left out: everything.
        optional allow: SetOf<Glob>,
        /// Globs of what may not change.
        optional deny: SetOf<Glob>,
        /// Whether lock files of package managers may change; left out: deny.
        optional lockfiles: Permission,
        /// Globs of what judges the work.
        optional protect: SetOf<Glob>,
        /// Whether the work tree must be clean when a run starts; left out: true.
        optional require_clean: bool,
        /// Whether another run may claim the same files; left out: deny.
        optional collisions: Permission,
        /// Whether files that violate a guard are put back, after they were kept; left out: false.
        optional revert: bool,
    }
}

/// Whether something is let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    Allow,
    Deny,
}

choices! {
    Permission {
        "allow" => Allow,
        "deny" => Deny,
    }
}

record! {
    /// How long a person has to answer.
    pub struct InterventionSettings {
        /// Left out: 5m.
        optional timeout: Period,
        /// What happens when nobody answers; left out: hold.
        optional on_timeout: OnTimeout,
    }
}

impl InterventionSettings {
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
}

/// What happens to a run when nobody answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    Hold,
    Stop,
}

choices! {
    OnTimeout {
        "hold" => Hold,
        "stop" => Stop,
    }
}

record! {
    /// What was asked for.
    pub struct WorkSettings {
        /// A file with the requirements, for drift and for the hand-off.
        optional requirements: Text,
        /// The current task; left out: the first open box of `[progress] tasks`.
        optional task: Text,
    }
}

record! {
    /// Texts that sort errors into categories.
    pub struct ErrorSettings {
        /// Trying again later may help.
        optional transient: SetOf<Text>,
        /// The agent may repair it.
        optional recoverable: SetOf<Text>,
        /// Only a person can.
        optional critical: SetOf<Text>,
    }
}

impl ErrorSettings {
    /// What kind of error a message tells of, where there are words for it; the gravest counts.
    pub fn category(&self, message: &str) -> Option<ErrorCategory> {
        let message = message.to_lowercase();
        [
            (ErrorCategory::Critical, &self.critical),
            (ErrorCategory::Transient, &self.transient),
            (ErrorCategory::Recoverable, &self.recoverable),
        ]
        .into_iter()
        .find(|(_, words)| {
            let mut words = words.iter().flat_map(|words| &words.0);
            words.any(|word| message.contains(&word.0.to_lowercase()))
        })
        .map(|(category, _)| category)
    }
}

record! {
    /// How often a run may recover.
    pub struct RecoverSettings {
        /// Fresh starts for a full context between two progress events; left out: 3.
        optional context_max: Count,
    }
}
