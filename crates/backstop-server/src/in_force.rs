//! Which policy counts for a question, and what it says.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use backstop_core::policy::Policy;
use backstop_runner::loading;
use backstop_store::{PolicyScope, Store, StoreError};

use crate::belief::BELIEVED;

/// Finds the policy in force. Policies never change under their hash, so a loaded one is kept.
#[derive(Debug)]
pub struct PoliciesInForce {
    store: Arc<dyn Store>,
    /// Held for a moment only, never across a wait.
    loaded: Mutex<HashMap<String, Arc<StoredPolicy>>>,
    /// Held for a moment only too.
    believed: Mutex<Believed>,
}

/// What is believed for a moment, and how often it was changed here.
#[derive(Debug, Default)]
struct Believed {
    /// What counts for all, and when that was found.
    global: Option<(Instant, Option<Arc<StoredPolicy>>)>,
    changes: u64,
}

/// A policy with the hash under which it is stored, which would take long to find again.
#[derive(Debug)]
pub struct StoredPolicy {
    pub hash: String,
    policy: Policy,
}

impl Deref for StoredPolicy {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        &self.policy
    }
}

/// Why there is no telling what the policy says. The answer to whatever was asked is then HOLD.
#[derive(Debug, thiserror::Error)]
pub enum PolicyFault {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the policy {hash} in force for {scope} is not in the store")]
    Missing { scope: PolicyScope, hash: String },
    #[error("the policy {hash} can't be loaded: {why}")]
    Unloadable { hash: String, why: String },
}

/// A policy as the store has it now, if it still is the one that was put there.
///
/// # Errors
/// It is no policy any more, or another one.
pub(crate) fn loaded(stored: &backstop_store::StoredPolicy) -> Result<Policy, PolicyFault> {
    loading::unchanged_policy(stored).map_err(|error| PolicyFault::Unloadable {
        hash: stored.hash.clone(),
        why: error.to_string(),
    })
}

impl PoliciesInForce {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, loaded: Mutex::default(), believed: Mutex::default() }
    }

    /// The policy of the first of these scopes that has one, with the scope: name the narrowest
    /// first. None if none has.
    ///
    /// # Errors
    /// It can't be found out, or what is in force can't be loaded.
    pub async fn find(
        &self,
        scopes: &[PolicyScope],
    ) -> Result<Option<(PolicyScope, Arc<StoredPolicy>)>, PolicyFault> {
        let active = self.store.policy_active(scopes).await?;
        let first = active.into_iter().find_map(|one| Some((one.scope, one.policy_hash?)));
        let Some((scope, hash)) = first else { return Ok(None) };
        match self.by_hash(&hash).await? {
            Some(policy) => Ok(Some((scope, policy))),
            None => Err(PolicyFault::Missing { scope, hash }),
        }
    }

    /// The policy in force for all. It is believed for a moment, since stateless questions would
    /// otherwise wait for the store each time.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub async fn global(&self) -> Result<Option<Arc<StoredPolicy>>, PolicyFault> {
        let changes = {
            let believed = self.believed();
            if let Some((found, policy)) = &believed.global
                && found.elapsed() < BELIEVED
            {
                return Ok(policy.clone());
            }
            believed.changes
        };
        let looked = Instant::now();
        let policy = self.find(&[PolicyScope::Global]).await?.map(|(_, policy)| policy);
        let mut believed = self.believed();
        // What was looked up before a change is not kept after it.
        if believed.changes == changes {
            believed.global = Some((looked, policy.clone()));
        }
        Ok(policy)
    }

    /// Forgets what is in force for all, when that was changed here.
    pub(crate) fn forget(&self) {
        let mut believed = self.believed();
        believed.changes += 1;
        believed.global = None;
    }

    fn believed(&self) -> MutexGuard<'_, Believed> {
        self.believed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stored policy, whether it is in force or not.
    ///
    /// # Errors
    /// The store can't be read, or holds something that is no policy.
    pub async fn by_hash(&self, hash: &str) -> Result<Option<Arc<StoredPolicy>>, PolicyFault> {
        if let Some(policy) = self.loaded().get(hash) {
            return Ok(Some(Arc::clone(policy)));
        }
        let Some(stored) = self.store.policy_fetch(hash).await? else { return Ok(None) };
        let policy = loaded(&stored)?;
        let policy = Arc::new(StoredPolicy { hash: stored.hash.clone(), policy });
        let mut loaded = self.loaded();
        if loaded.len() >= MOST_LOADED {
            loaded.clear();
        }
        loaded.insert(stored.hash, Arc::clone(&policy));
        Ok(Some(policy))
    }

    fn loaded(&self) -> MutexGuard<'_, HashMap<String, Arc<StoredPolicy>>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// More than anybody has in force; who asks for all that ever were only asks the store.
const MOST_LOADED: usize = 256;
