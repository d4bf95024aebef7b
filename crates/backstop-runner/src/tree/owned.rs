//! Which processes have a [`super::Child`] that waits for them.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Children that nobody but their [`super::Child`] may collect, and groups that outlived them.
#[derive(Debug)]
pub struct Owned {
    register: Mutex<Register>,
    /// Whether everything below this process is the tree's. If not, only its groups are.
    adopts_orphans: bool,
}

#[derive(Debug, Default)]
struct Register {
    children: BTreeSet<u32>,
    /// Those among them that are none of the run's work.
    aside: BTreeSet<u32>,
    /// Groups with members left when their leader had ended. Their numbers can't be used again
    /// before the last member has gone.
    abandoned_groups: BTreeSet<u32>,
}

impl Owned {
    pub fn new(adopts_orphans: bool) -> Self {
        Self { register: Mutex::default(), adopts_orphans }
    }

    pub fn adopts_orphans(&self) -> bool {
        self.adopts_orphans
    }

    pub fn add(&self, pid: u32) {
        self.register().children.insert(pid);
    }

    /// Gives a child up: it has ended, or nobody waits for it any longer.
    pub fn remove(&self, pid: u32, group_is_left: bool) {
        let mut register = self.register();
        register.children.remove(&pid);
        register.aside.remove(&pid);
        if group_is_left {
            register.abandoned_groups.insert(pid);
        }
    }

    pub fn set_aside(&self, pid: u32) {
        self.register().aside.insert(pid);
    }

    pub fn aside(&self) -> BTreeSet<u32> {
        self.register().aside.clone()
    }

    pub fn children(&self) -> BTreeSet<u32> {
        self.register().children.clone()
    }

    pub fn contains(&self, pid: u32) -> bool {
        self.register().children.contains(&pid)
    }

    /// Groups without a leader, as far as `is_left` knows them to have members.
    pub fn abandoned_groups(&self, is_left: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        let mut register = self.register();
        register.abandoned_groups.retain(|group| is_left(*group));
        register.abandoned_groups.clone()
    }

    fn register(&self) -> MutexGuard<'_, Register> {
        // Nothing that holds the lock can panic half-way through a change.
        self.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
