//! What an agent is told when backstop itself fails.

use std::path::Path;

use backstop_adapters::hook::{Act, Answer, HookInputError};
use backstop_core::policy::OnFailure;
use backstop_runner::unsupervised::UnsupervisedError;
use backstop_store::StoreError;

use crate::error::Error;
use crate::input;

/// Why an agent can't be answered as it should.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The policy exists and can't be loaded, which is never "no policy".
    #[error("backstop: policy_block: the policy can't be loaded, so nothing may be done\n{0}")]
    Policy(String),
    #[error("backstop: {0}")]
    Input(#[from] HookInputError),
    #[error("backstop: {0}")]
    Error(#[from] Error),
    #[error("backstop: the guards could not be checked, so nobody knows what was done: {0}")]
    Unguarded(String),
    /// It has said already where it was.
    #[error("backstop: internal error; the agent goes on unwatched")]
    Panicked,
}

impl From<UnsupervisedError> for Failure {
    fn from(error: UnsupervisedError) -> Self {
        Self::Error(error.into())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Error(error.into())
    }
}

impl Failure {
    /// Closed: the agent may not go on. Open: it may, and its user is told. A fault of our own must
    /// never look like a decision.
    pub fn answer(&self, on_failure: OnFailure) -> Answer {
        let text = self.to_string();
        let closed = on_failure == OnFailure::Closed && !matches!(self, Self::Panicked);
        if !closed {
            return Answer { act: Act::Nothing, notice: Some(text) };
        }
        let hint = match self {
            Self::Policy(_) => "`backstop policy check` shows what is wrong with it.",
            _ => "`backstop doctor` helps; `[hooks] on_failure = \"open\"` would let it go on.",
        };
        Answer { act: Act::Halt(format!("{text}\n{hint}")), notice: Some(text) }
    }
}

/// What the policy says about failures; closed where it can't be read.
pub fn setting(policy: Option<&str>, folder: &Path) -> OnFailure {
    let named = named(policy, folder);
    let loaded = input::policy(Some(&named)).ok().and_then(Result::ok);
    loaded
        .and_then(|source| source.loaded.policy.settings.hooks)
        .and_then(|hooks| hooks.on_failure)
        .unwrap_or_default()
}

/// The policy that was named, else the nearest one above a directory, else the default.
pub fn named(policy: Option<&str>, folder: &Path) -> String {
    let found = || input::policy_above(folder).map(|path| path.to_string_lossy().into_owned());
    policy.map(str::to_owned).or_else(found).unwrap_or_else(|| "preset:default".to_owned())
}
