//! The process tree of a run: started in one place, signalled and ended as a whole.
//!
//! A child leads a process group of its own. What escapes from that group comes back to this
//! process when its parent ends, because it is a sub-reaper; and where a control group can be had,
//! a process is found there whatever it did. Children that were started here and not yet waited
//! for are *owned*: nothing but [`Child`] collects them. All other descendants are *leftovers*.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use backstop_core::id::RunId;
use backstop_core::time::millis;
use backstop_store::Holder;
pub use nix::sys::signal::Signal;

use crate::outer;

pub mod child;
pub mod control_group;
pub mod descriptors;
pub mod identity;
pub mod orphans;
mod owned;
pub mod process;
pub mod signalling;
pub mod sweep;
pub mod withheld;

pub use child::{Child, Exit};
pub use sweep::{Leftover, Swept};

use control_group::ControlGroup;
use owned::Owned;
use process::Process;

/// The variable by which a process tells which run it belongs to.
pub const RUN_VARIABLE: &str = "BACKSTOP_RUN_ID";

/// The variable by which a process tells which supervisor's number it came from: a run may have had
/// several.
pub const SUPERVISOR_VARIABLE: &str = "BACKSTOP_SUPERVISOR";

/// The variable that limits how the tree is held together.
pub const CONTAINMENT_VARIABLE: &str = "BACKSTOP_CONTAINMENT";

/// How well the tree is held together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Containment {
    /// A process group: what calls `setsid` escapes.
    Group,
    /// Also a sub-reaper with an outer process around it: orphans come back to us.
    Subreaper,
    /// Also a control group of the run's own: nothing escapes.
    Cgroup,
}

impl Containment {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Group => "process group",
            Self::Subreaper => "sub-reaper",
            Self::Cgroup => "cgroup",
        }
    }

    /// The most that may be used: what the environment says, else everything.
    ///
    /// # Errors
    /// The environment says something that is no level.
    pub fn wanted() -> Result<Self, UnknownContainment> {
        let said = std::env::var_os(CONTAINMENT_VARIABLE).unwrap_or_default();
        match said.to_str() {
            Some("group") => Ok(Self::Group),
            Some("sub-reaper") => Ok(Self::Subreaper),
            Some("cgroup" | "") => Ok(Self::Cgroup),
            _ => Err(UnknownContainment(said.to_string_lossy().into_owned())),
        }
    }

    /// As [`Self::wanted`], for those who come after the refusal.
    pub(crate) fn limit() -> Self {
        Self::wanted().unwrap_or(Self::Cgroup)
    }
}

/// A level that there is not: taken for another, processes could escape or be held too tightly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`BACKSTOP_CONTAINMENT` is `{0}`; it can be `group`, `sub-reaper` or `cgroup`")]
pub struct UnknownContainment(String);

/// The level that a run would reach here. Tries it out: a control group is made and removed.
pub fn containment_available() -> Containment {
    let limit = Containment::limit();
    if cfg!(not(target_os = "linux")) || limit == Containment::Group {
        return Containment::Group;
    }
    let cgroup = limit == Containment::Cgroup && ControlGroup::can_be_made();
    if cgroup { Containment::Cgroup } else { Containment::Subreaper }
}

/// Everything that this process has started and that came from it.
///
/// Sub-reaping concerns the whole process: one that [adopts](Tree::adopt) is the only tree in it.
#[derive(Debug)]
pub struct Tree {
    run: RunId,
    containment: Containment,
    control_group: Option<ControlGroup>,
    /// Moves this process into the group while the run starts.
    entering: Option<JoinHandle<io::Result<()>>>,
    owned: Arc<Owned>,
    /// What is started by it stands beside the run's own work: ending that does not end it.
    is_aside: bool,
    /// Variables that nothing is told that is started by it, beside those that nothing ever is.
    withheld: Vec<OsString>,
}

impl Tree {
    /// Makes this process the root of a run's tree: orphans come back to it, it moves into a
    /// control group of the run where that is possible, and nothing that it inherited reaches
    /// those that it starts. The move takes a while and is not waited for; what is started
    /// meanwhile is moved too.
    ///
    /// # Errors
    /// The system refuses to make this process a sub-reaper.
    pub fn adopt(run: RunId) -> io::Result<Self> {
        descriptors::fence()?;
        let limit = Containment::limit();
        let subreaper = limit >= Containment::Subreaper && process::become_subreaper()?;
        let control_group = if subreaper && limit == Containment::Cgroup {
            ControlGroup::planned(run).and_then(|group| {
                // The outer process hears of it first, so that it is removed whatever happens.
                outer::announce(run, Some(&group));
                group.make().ok().map(|()| group)
            })
        } else {
            None
        };
        if control_group.is_none() {
            outer::announce(run, None);
        }
        let containment = match (&control_group, subreaper) {
            (Some(_), _) => Containment::Cgroup,
            (None, true) => Containment::Subreaper,
            (None, false) => Containment::Group,
        };
        let entering = control_group.clone().map(|group| {
            thread::Builder::new().name("control group".to_owned()).spawn(move || group.enter())
        });
        let entering = entering.transpose()?;
        let owned = Arc::new(Owned::new(subreaper));
        let (is_aside, withheld) = (false, Vec::new());
        Ok(Self { run, containment, control_group, entering, owned, is_aside, withheld })
    }

    /// A tree held by process groups alone, which changes nothing about this process. Others may
    /// have children here, and other trees too: none of that is touched.
    pub fn of_groups(run: RunId) -> Self {
        let owned = Arc::new(Owned::new(false));
        let containment = Containment::Group;
        Self {
            run,
            containment,
            control_group: None,
            entering: None,
            owned,
            is_aside: false,
            withheld: Vec::new(),
        }
    }

    /// The same tree, to start what is none of the run's work: signals to the tree spare it. It is
    /// owned like any other child, and what it leaves behind is swept.
    #[must_use]
    pub fn aside(&self) -> Self {
        Self {
            run: self.run,
            containment: self.containment,
            control_group: None,
            entering: None,
            owned: Arc::clone(&self.owned),
            is_aside: true,
            withheld: self.withheld.clone(),
        }
    }

    /// Keeps a variable of this process from all that is started.
    pub fn withhold(&mut self, variable: impl Into<OsString>) {
        self.withheld.push(variable.into());
    }

    pub fn containment(&self) -> Containment {
        self.containment
    }

    /// This supervisor, as others can recognise it, with the time that it takes a lease for.
    pub fn holder(&self, lease_duration: Duration) -> Holder {
        let lease_ms = Some(millis(lease_duration));
        Holder { lease_ms, ..identity::holder(self.control_group.as_ref()) }
    }

    /// Starts a program as the leader of a process group of its own.
    ///
    /// # Errors
    /// It can't be started.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let supervisor = std::process::id().to_string();
        command
            .process_group(0)
            .env(RUN_VARIABLE, self.run.as_str())
            .env(SUPERVISOR_VARIABLE, supervisor);
        for variable in withheld::always() {
            command.env_remove(variable);
        }
        for variable in &self.withheld {
            command.env_remove(variable);
        }
        let child = Child::start(command, &self.owned)?;
        if self.is_aside {
            self.owned.set_aside(child.pid());
        }
        Ok(child)
    }

    /// Sends a signal to the whole tree, but not to what belongs to the spared children and to those
    /// that stand aside. Whoever is
    /// stopped is let go on, so that it sees a signal that is to end it.
    pub fn signal(&self, signal: Signal, spare: &[&Child]) {
        let spare: BTreeSet<u32> = spare.iter().map(|child| child.pid()).collect();
        signalling::to_tree(&self.owned, signal, &spare);
    }

    /// Halts the whole tree where it stands, for Ctrl-Z.
    pub fn stop_all(&self) {
        signalling::to_tree(&self.owned, Signal::SIGSTOP, &BTreeSet::new());
    }

    /// Lets a halted tree go on.
    pub fn continue_all(&self) {
        signalling::to_tree(&self.owned, Signal::SIGCONT, &BTreeSet::new());
    }

    /// Descendants that belong to no living child.
    pub fn leftovers(&self) -> Vec<Leftover> {
        sweep::leftovers(&self.owned).iter().map(Leftover::from).collect()
    }

    /// Ends all leftovers: politely, and after `grace` for certain.
    pub async fn sweep(&self, grace: Duration) -> Swept {
        sweep::sweep(&self.owned, grace).await
    }

    /// Collects orphans that have ended. Cheap; to be called now and then while a child runs.
    pub fn reap(&self) {
        sweep::reap(&self.owned);
    }

    /// The processor time that the tree has used, those included that have ended.
    pub fn cpu_time(&self) -> Duration {
        match self.control_group.as_ref().and_then(ControlGroup::cpu_time) {
            Some(whole) => whole.saturating_sub(process::own_cpu_time()),
            None => {
                let living: Duration =
                    process::descendants().iter().map(Process::cpu_time_with_reaped).sum();
                process::reaped_cpu_time() + living
            }
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // The outer process removes the control group after our end, if it is there to do it.
        if let Some(group) = &self.control_group
            && !outer::is_alive()
        {
            // Whether it came in or not, it is to be outside.
            self.entering.take().map(JoinHandle::join);
            group.leave();
        }
    }
}

#[cfg(test)]
mod tests;
