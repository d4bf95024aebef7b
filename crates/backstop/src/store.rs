//! The store that a command uses, and the runs in it.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use backstop_core::policy::Policy;
use backstop_runner::clock::wall_time;
use backstop_runner::loading;
use backstop_runner::recovery;
use backstop_runner::resolve::resolve;
use backstop_store::{Home, Location, Run, Store, StoreError};

use crate::args::StoreArguments;
use crate::error::Error;

/// An open store, with what it takes to wait for it.
#[derive(Debug)]
pub struct Opened {
    pub store: Arc<dyn Store>,
    pub home: Home,
    runtime: tokio::runtime::Runtime,
}

impl Opened {
    /// Opens the store that was named, else the user's own.
    pub fn new(arguments: &StoreArguments) -> Result<Self, Error> {
        Self::on(arguments, tokio::runtime::Builder::new_current_thread())
    }

    /// The same for what only looks: a store that was named must be there.
    pub fn existing(arguments: &StoreArguments) -> Result<Self, Error> {
        let named = arguments.store.as_deref().filter(|name| !name.is_empty());
        if named.is_none() {
            return Self::new(arguments);
        }
        let location = location(named)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let store = runtime.block_on(backstop_store::open_existing(&location))?;
        Ok(Self { store, home: location.home().clone(), runtime })
    }

    /// The same for what serves many at once.
    pub fn with_threads(arguments: &StoreArguments) -> Result<Self, Error> {
        Self::on(arguments, tokio::runtime::Builder::new_multi_thread())
    }

    fn on(arguments: &StoreArguments, mut runtime: tokio::runtime::Builder) -> Result<Self, Error> {
        let location = location(arguments.store.as_deref())?;
        let runtime = runtime.enable_all().build()?;
        let store = runtime.block_on(backstop_store::open(&location))?;
        Ok(Self { store, home: location.home().clone(), runtime })
    }

    /// Waits for something that the store does.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Waits until what was changed (tokens, policies in force, orders to halt) counts for every
    /// service of the store.
    pub fn wait_for_services(&self) {
        self.wait(backstop_server::outlive(&*self.store, None));
    }

    /// The run that is meant by a name, the beginning of one, or `latest`.
    pub fn run(&self, text: &str) -> Result<Run, Error> {
        Ok(self.wait(resolve(&*self.store, text, &here()))?)
    }

    /// Whether somebody supervises a run now.
    pub fn is_supervised(&self, run: &Run) -> Result<bool, Error> {
        let lease = self.wait(self.store.lease_fetch(run.id))?;
        Ok(lease.is_some_and(|lease| recovery::is_held(&lease, wall_time())))
    }

    /// The policy that is in force for a run.
    pub fn policy(&self, run: &Run) -> Result<Policy, Error> {
        let gone = || {
            StoreError::Damaged(format!("the policy {} of run {} is gone", run.policy_hash, run.id))
        };
        let stored = self.wait(self.store.policy_fetch(&run.policy_hash))?.ok_or_else(gone)?;
        Ok(loading::policy(&stored)?)
    }
}

/// The directory in which the command was called, by the name that runs are found under.
pub fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// Who calls, for the journal.
pub fn caller() -> String {
    ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()))
        .unwrap_or_else(|| format!("uid {}", rustix::process::geteuid().as_raw()))
}

/// Where the store is that was named, else the user's own.
pub fn location(named: Option<&str>) -> Result<Location, Error> {
    match named.filter(|name| !name.is_empty()) {
        Some(name) => Ok(Location::parse(name)?),
        None => Home::of_user().map(Location::Embedded).ok_or_else(|| {
            Error::Usage(
                "there is no home directory to remember runs in\n\nhint: name one with --store"
                    .to_owned(),
            )
        }),
    }
}
