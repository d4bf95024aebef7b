//! What decisions about re-runs are made by: the policy in force, ready for use, and halt orders.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use backstop_core::engine::Engine;
use backstop_core::policy::{Policy, Preset};
use backstop_core::rerun::speaks_of_reruns;
use backstop_runner::unsupervised::PinnedPolicy;
use backstop_store::{HaltOrder, PolicyScope, StoreError};

use super::question::Repository;
use crate::belief::BELIEVED;
use crate::engines::EnginePool;
use crate::in_force::{PolicyFault, StoredPolicy};
use crate::service::Service;

/// A policy that is ready to decide about re-runs.
#[derive(Debug)]
pub struct Lawbook {
    pub(super) engines: Arc<EnginePool>,
    /// The policy that was put in force, if any was.
    pub in_force: Option<Arc<StoredPolicy>>,
    /// Where it was put in force.
    pub scope: Option<PolicyScope>,
}

impl Lawbook {
    /// Makes a policy ready. One that says nothing of re-runs leaves them to the preset for them,
    /// as a lawbook without `stopRules` does: it was put in force for something else.
    pub(super) fn new(
        in_force: Option<(PolicyScope, Arc<StoredPolicy>)>,
        ready: impl FnOnce(&StoredPolicy) -> Arc<EnginePool>,
    ) -> Self {
        let (scope, in_force) = in_force.unzip();
        let speaks = in_force.as_ref().filter(|policy| speaks_of_reruns(policy));
        let engines = speaks.map_or_else(|| Arc::clone(preset()), |policy| ready(policy));
        Self { engines, in_force, scope }
    }

    /// The policy that decides.
    pub fn policy(&self) -> &Policy {
        self.engines.policy()
    }
}

/// Engines for questions about stated facts, for which what is left out is nothing used. Times of
/// day are meant in UTC, since who asks may be anywhere.
pub(super) fn ready(policy: &Policy) -> EnginePool {
    EnginePool::new(Engine::new(policy.clone()).with_neutral_meters())
}

fn preset() -> &'static Arc<EnginePool> {
    static PRESET: OnceLock<Arc<EnginePool>> = OnceLock::new();
    PRESET.get_or_init(|| Arc::new(ready(&Policy::preset(Preset::Rerun))))
}

/// Remembers for a moment what is in force, so that not every question asks the store for it.
#[derive(Debug, Default)]
pub struct Lawbooks {
    /// By repository. Held for a moment only, never across a wait.
    known: Mutex<HashMap<String, (Instant, Arc<Lawbook>)>>,
    /// By the policy's hash: repositories under one policy share its engines.
    engines: Mutex<HashMap<String, Weak<EnginePool>>>,
    orders: Mutex<Option<(Instant, Arc<[HaltOrder]>)>>,
    preset_is_kept: AtomicBool,
    /// How often something was changed here. Held while the others are written, so that what was
    /// looked up before a change is not kept after it.
    changes: Mutex<u64>,
}

impl Lawbooks {
    /// The lawbook for a repository: its own, else the global one, else the preset.
    ///
    /// # Errors
    /// It can't be found out, or what is in force can't be loaded.
    pub async fn find(
        &self,
        service: &Service,
        repository: &Repository,
    ) -> Result<Arc<Lawbook>, PolicyFault> {
        let key = repository.to_string().to_lowercase();
        if let Some((since, lawbook)) = locked(&self.known).get(&key)
            && since.elapsed() < BELIEVED
        {
            return Ok(Arc::clone(lawbook));
        }
        // Boxed, since most questions have no need of the room.
        Box::pin(self.look_up(service, repository, key)).await
    }

    async fn look_up(
        &self,
        service: &Service,
        repository: &Repository,
        key: String,
    ) -> Result<Arc<Lawbook>, PolicyFault> {
        let (asked, changes) = (Instant::now(), *locked(&self.changes));
        let found = service.policies.find(&[repository.scope(), PolicyScope::Global]).await?;
        self.keep_preset(service).await?;
        let kept = locked(&self.known).get(&key).map(|(_, lawbook)| Arc::clone(lawbook));
        let kept = kept.filter(|lawbook| {
            let place = |policy: &Option<Arc<StoredPolicy>>| policy.as_ref().map(Arc::as_ptr);
            let (scope, policy) = found.clone().unzip();
            lawbook.scope == scope && place(&lawbook.in_force) == place(&policy)
        });
        // Made while nobody waits for the lock: to compile a policy takes its time.
        let lawbook =
            kept.unwrap_or_else(|| Arc::new(Lawbook::new(found, |policy| self.ready(policy))));
        let now = locked(&self.changes);
        if *now == changes {
            let mut known = locked(&self.known);
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            known.insert(key, (asked, Arc::clone(&lawbook)));
        }
        Ok(lawbook)
    }

    fn ready(&self, policy: &StoredPolicy) -> Arc<EnginePool> {
        let known = locked(&self.engines).get(&policy.hash).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let made = Arc::new(ready(policy));
            let mut engines = locked(&self.engines);
            engines.retain(|_, pool| pool.strong_count() > 0);
            engines.insert(policy.hash.clone(), Arc::downgrade(&made));
            made
        })
    }

    /// Stores the preset, so that what it decides can be made again when it has long changed.
    async fn keep_preset(&self, service: &Service) -> Result<(), StoreError> {
        if !self.preset_is_kept.load(Ordering::Relaxed) {
            let pinned = PinnedPolicy {
                policy: preset().policy().clone(),
                text: None,
                name: "preset:rerun".to_owned(),
                put_by: "backstop".to_owned(),
            };
            service.store.policy_put(&pinned.stored(service.now())).await?;
            self.preset_is_kept.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Forgets what is in force, when that was changed here: who was told that it is changed must not
    /// be answered by what was. What is being looked up meanwhile is not believed either.
    pub(crate) fn forget(&self) {
        let mut changes = locked(&self.changes);
        *changes += 1;
        locked(&self.known).clear();
        *locked(&self.orders) = None;
    }

    /// The halt order that covers a repository: one for everything, or for it alone.
    ///
    /// # Errors
    /// The store can't be read.
    pub async fn halted(
        &self,
        service: &Service,
        repository: &Repository,
    ) -> Result<Option<HaltOrder>, StoreError> {
        let known = locked(&self.orders).clone().filter(|(since, _)| since.elapsed() < BELIEVED);
        let orders = match known {
            Some((_, orders)) => orders,
            None => {
                let (asked, changes) = (Instant::now(), *locked(&self.changes));
                let orders: Arc<[HaltOrder]> = service.store.halt_list().await?.into();
                let now = locked(&self.changes);
                if *now == changes {
                    *locked(&self.orders) = Some((asked, Arc::clone(&orders)));
                }
                orders
            }
        };
        if orders.is_empty() {
            return Ok(None);
        }
        let own = repository.to_string();
        let covers = |order: &&HaltOrder| {
            order
                .labels
                .iter()
                .all(|(key, value)| key == "repo" && value.eq_ignore_ascii_case(&own))
        };
        Ok(orders.iter().find(covers).cloned())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const MOST_KNOWN: usize = 4_096;
