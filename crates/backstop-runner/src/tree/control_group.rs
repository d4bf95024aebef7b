//! A control group of the run's own (cgroup v2), where this user may make one.
//!
//! The supervisor moves into it once; whatever it starts is born there and can't leave without the
//! right to write elsewhere. Nobody moves per child, so it costs nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use backstop_core::id::RunId;

use super::process::{self, Process};

/// The leaf that holds a run's processes, the supervisor included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    path: PathBuf,
}

impl ControlGroup {
    /// Where this supervisor's group would be: below our own. None where there is no such hierarchy.
    /// Each supervisor of a run has a group of its own: one that comes too late, or was taken over,
    /// removes its own and nobody else's.
    pub fn planned(run: RunId) -> Option<Self> {
        let name = format!("{}{}", leaf_prefix(run), std::process::id());
        own_directory().map(|own| Self { path: own.join(name) })
    }

    /// A group that another process has told of, there or not; none if a run's has another name.
    pub fn of_run(run: RunId, path: impl Into<PathBuf>) -> Option<Self> {
        let path = path.into();
        let name = path.file_name()?.to_str()?;
        let supervisor = name.strip_prefix(&leaf_prefix(run))?;
        supervisor.parse::<u32>().is_ok().then_some(Self { path })
    }

    /// A group that another process has told of and that is there.
    pub fn recorded(run: RunId, path: impl Into<PathBuf>) -> Option<Self> {
        Self::of_run(run, path).filter(|group| group.path.join("cgroup.procs").is_file())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the group, if there is none. Whatever could forbid to move into it is asked here.
    ///
    /// # Errors
    /// This user may not, or the system has no room for it.
    pub fn make(&self) -> io::Result<()> {
        match fs::create_dir(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let kind = fs::read_to_string(self.path.join("cgroup.type"))?;
        let parent = self.path.parent().ok_or(io::ErrorKind::NotFound)?;
        if kind.trim() == "domain" && is_writable(parent) && is_writable(&self.path) {
            return Ok(());
        }
        self.remove();
        Err(io::ErrorKind::PermissionDenied.into())
    }

    /// Moves this process into the group, and what it has started meanwhile: the kernel lets one
    /// wait for 10 ms and more until all processors have noticed. Who is started by somebody
    /// outside is outside too, so this looks until it finds nobody.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn enter(&self) -> io::Result<()> {
        self.remove_abandoned();
        self.take_in(std::process::id())?;
        loop {
            let inside = self.members();
            let is_outside = |pid: &u32| !inside.contains(pid);
            let outside: Vec<u32> = process::descendants()
                .iter()
                .filter(|process| !process.has_ended())
                .map(|process| process.pid)
                .filter(is_outside)
                .collect();
            // Who has ended meanwhile can't be moved, and who may not be moved never will be.
            if !outside.iter().fold(false, |moved, pid| self.take_in(*pid).is_ok() | moved) {
                return Ok(());
            }
        }
    }

    fn take_in(&self, pid: u32) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), pid.to_string())
    }

    /// Removes the empty groups beside this one whose supervisors are gone: one that was killed
    /// together with its outer process before the run was recorded has nobody else to do it.
    fn remove_abandoned(&self) {
        let Some(parent) = self.path.parent() else { return };
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(supervisor) = name.to_str().and_then(supervisor_of) else { continue };
            if Process::read(supervisor).is_none_or(|process| process.has_ended()) {
                // The system refuses if there is anybody in it.
                let _in_use = fs::remove_dir(entry.path());
            }
        }
    }

    /// Moves this process back to where the group was made, and removes the group.
    pub fn leave(&self) {
        if let Some(parent) = self.path.parent() {
            let own = std::process::id().to_string();
            let _stays_inside = fs::write(parent.join("cgroup.procs"), own);
            self.remove();
        }
    }

    /// Whether this process could make a group and move into it: makes one and removes it. Moving
    /// needs the right to write the list of where we are and of where we go.
    pub fn can_be_made() -> bool {
        let Some(own) = own_directory() else { return false };
        let trial = Self { path: own.join(format!("{PREFIX}trial-{}", std::process::id())) };
        trial.make().is_ok() && trial.remove()
    }

    /// The processes in it and in the groups below it.
    pub fn members(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for directory in self.directories() {
            let list = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
            found.extend(list.split_ascii_whitespace().flat_map(str::parse::<u32>));
        }
        found
    }

    /// Kills everything in it at once; no fork slips through. Never from inside.
    ///
    /// # Errors
    /// The kernel is too old for it, or the group has gone.
    pub fn kill(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.kill"), "1")
    }

    /// Removes it, once everything in it has ended. True if it is not there any more.
    pub fn remove(&self) -> bool {
        // Those that were made inside it come first.
        for directory in self.directories().iter().rev() {
            let _stays_if_in_use = fs::remove_dir(directory);
        }
        !self.path.exists()
    }

    /// The processor time of all that ever were in it.
    pub fn cpu_time(&self) -> Option<Duration> {
        let statistics = fs::read_to_string(self.path.join("cpu.stat")).ok()?;
        let used = statistics.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        used.trim().parse().ok().map(Duration::from_micros)
    }

    /// It and all groups below it, parents before their children.
    fn directories(&self) -> Vec<PathBuf> {
        let mut found = vec![self.path.clone()];
        let mut next = 0;
        while let Some(directory) = found.get(next).cloned() {
            next += 1;
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            found.extend(
                entries
                    .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                    .map(|entry| entry.path()),
            );
        }
        found
    }
}

fn is_writable(group: &Path) -> bool {
    rustix::fs::access(group.join("cgroup.procs"), rustix::fs::Access::WRITE_OK).is_ok()
}

/// The directory of the group that this process is in.
fn own_directory() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let memberships = fs::read_to_string("/proc/self/cgroup").ok()?;
    directory(&mounts, &memberships).filter(|path| path.join("cgroup.procs").is_file())
}

/// Where the unified hierarchy is mounted, alone or beside the older ones, and our place in it.
fn directory(mounts: &str, memberships: &str) -> Option<PathBuf> {
    let place = memberships.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        if file_system.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (root, mount_point) = (unescape(fields.next()?), unescape(fields.next()?));
        // In a container a part of the hierarchy may be mounted, and paths begin further up.
        let below = Path::new(place).strip_prefix(&root).ok()?;
        Some(Path::new(&mount_point).join(below))
    })
}

/// Blanks and the like are written in octal.
fn unescape(field: &str) -> String {
    field.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// The number of the supervisor whose group has this name.
fn supervisor_of(name: &str) -> Option<u32> {
    let (run, pid) = name.strip_prefix(PREFIX)?.split_once('-')?;
    run.parse::<RunId>().is_ok().then(|| pid.parse().ok())?
}

/// What the names of a run's groups begin with; the supervisor's number follows.
fn leaf_prefix(run: RunId) -> String {
    format!("{PREFIX}{run}-")
}

const PREFIX: &str = "backstop-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unified_hierarchy_is_found_alone_and_beside_the_older_ones() {
        let alone = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let beside = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                      32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw shared:4 - cgroup2 cgroup2 rw\n";
        let member = "1:cpu:/x\n0::/user.slice/a b.scope\n";
        assert_eq!(
            directory(alone, member),
            Some(PathBuf::from("/sys/fs/cgroup/user.slice/a b.scope"))
        );
        assert_eq!(directory(beside, "0::/\n"), Some(PathBuf::from("/sys/fs/cgroup/unified")));
    }

    #[test]
    fn a_part_of_the_hierarchy_begins_where_it_is_mounted() {
        let part = "30 23 0:26 /docker/abc /sys/fs/my\\040group rw - cgroup2 cgroup2 rw\n";
        let inside = directory(part, "0::/docker/abc/leaf\n");
        assert_eq!(inside, Some(PathBuf::from("/sys/fs/my group/leaf")));
        assert_eq!(directory(part, "0::/elsewhere\n"), None);
    }

    #[test]
    fn without_a_unified_hierarchy_there_is_no_group() {
        let older = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        assert_eq!(directory(older, "1:cpu:/\n"), None);
        assert_eq!(directory(older, "0::/\n"), None);
    }

    #[test]
    fn a_recorded_path_must_be_a_group_of_that_run() {
        let run = RunId::new(1, 1);
        assert_eq!(ControlGroup::recorded(run, "/sys/fs/cgroup"), None);
        assert_eq!(ControlGroup::recorded(run, format!("/tmp/backstop-{run}-7")), None);
        assert_eq!(ControlGroup::of_run(run, format!("/x/backstop-{run}")), None);
        assert_eq!(ControlGroup::of_run(run, format!("/x/backstop-{run}-7/below")), None);
        let path = PathBuf::from(format!("/x/backstop-{run}-7"));
        assert_eq!(ControlGroup::of_run(run, &path), Some(ControlGroup { path }));
    }
}
