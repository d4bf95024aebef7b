//! The process tree of a run: started in one place, signalled and ended as a whole.

use std::io;
use std::process::Command;

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
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// Everything that this process has started and that came from it.
#[derive(Debug)]
pub struct Tree {
    containment: Containment,
}

/// A process that was started here, with its group.
#[derive(Debug)]
pub struct Child {
    pid: u32,
}

impl Tree {
    pub fn containment(&self) -> Containment {
        self.containment
    }

    /// Starts a program as the leader of a process group of its own.
    pub fn spawn(&self, _command: &mut Command) -> io::Result<Child> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Child {
    pub fn pid(&self) -> u32 {
        self.pid
    }
}
