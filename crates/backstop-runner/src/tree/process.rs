//! What the system tells about processes, read from `/proc`. Where there is none, there is nothing
//! to be found.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::time::Duration;

/// A process as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    pub name: String,
    /// As the kernel writes it: `Z` for one that has ended and was not collected.
    pub state: char,
    /// When it was started: with the number, what tells it from any other.
    pub start_ticks: u64,
    own_ticks: u64,
    reaped_ticks: u64,
}

impl Process {
    pub fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// Whether its number still means it.
    pub fn is_same(&self) -> bool {
        Self::read(self.pid).is_some_and(|now| now.start_ticks == self.start_ticks)
    }

    /// The processor time that it and those children have used that it has collected.
    pub fn cpu_time_with_reaped(&self) -> Duration {
        from_ticks(self.own_ticks + self.reaped_ticks)
    }

    fn parse(stat: &[u8]) -> Option<Self> {
        // The name is in brackets and may itself hold brackets, blanks and any byte.
        let opening = stat.iter().position(|byte| *byte == b'(')?;
        let closing = stat.iter().rposition(|byte| *byte == b')')?;
        let pid = std::str::from_utf8(&stat[..opening]).ok()?.trim().parse().ok()?;
        let name = String::from_utf8_lossy(stat.get(opening + 1..closing)?).into_owned();
        let rest = std::str::from_utf8(&stat[closing + 1..]).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        Some(Self {
            pid,
            name,
            state: fields.first()?.chars().next()?,
            parent: fields.get(PARENT)?.parse().ok()?,
            group: fields.get(GROUP)?.parse().ok()?,
            own_ticks: number(USER_TICKS)? + number(USER_TICKS + 1)?,
            reaped_ticks: number(USER_TICKS + 2)? + number(USER_TICKS + 3)?,
            start_ticks: number(START_TICKS)?,
        })
    }
}

/// The children of a process, whichever of its threads started them.
pub fn children(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return found };
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => found.extend(list.split_ascii_whitespace().flat_map(str::parse::<u32>)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !lists_children() => {
                return all().filter(|other| other.parent == pid).map(|other| other.pid).collect();
            }
            Err(_) => {}
        }
    }
    found
}

/// Everything below this process, parents before their children.
pub fn descendants() -> Vec<Process> {
    below(std::process::id(), &|_| false)
}

/// Everything below a process, parents before their children, but for what `spared` names and what
/// is below that.
pub fn below(root: u32, spared: &dyn Fn(u32) -> bool) -> Vec<Process> {
    let mut found = Vec::new();
    let mut waiting = children(root);
    while let Some(pid) = waiting.pop() {
        if spared(pid) {
            continue;
        }
        // Listed before it is read: whoever ends in between gives its children to us, and the next
        // look finds them.
        waiting.extend(children(pid));
        found.extend(Process::read(pid));
    }
    found
}

/// All processes that can be seen.
pub fn all() -> impl Iterator<Item = Process> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Process::read)
}

/// A process and those that it came from, nearest first.
pub fn ancestry(pid: u32) -> Vec<Process> {
    let mut found = BTreeSet::new();
    let mut line = Vec::new();
    let mut next = pid;
    while let Some(process) = Process::read(next) {
        // Numbers may be used again while we read, so that a circle is conceivable.
        if !found.insert(process.pid) {
            break;
        }
        next = process.parent;
        line.push(process);
    }
    line
}

/// The value of a variable in the environment that a process was started with.
pub fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = environment.split(|byte| *byte == 0).find_map(|entry| {
        entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
    })?;
    String::from_utf8(value.to_vec()).ok()
}

/// Has orphans among the descendants given to this process. False where that does not exist.
///
/// # Errors
/// The system refuses.
pub fn become_subreaper() -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        Ok(true)
    }
    #[cfg(not(target_os = "linux"))]
    Ok(false)
}

/// The processor time that this process itself has used.
pub fn own_cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(used).unwrap_or_default()
}

/// The processor time of children that this process has collected, and of those they collected.
pub fn reaped_cpu_time() -> Duration {
    Process::read(std::process::id())
        .map_or(Duration::ZERO, |process| from_ticks(process.reaped_ticks))
}

fn from_ticks(ticks: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_micros(ticks.saturating_mul(1_000_000) / per_second)
}

/// Whether this kernel lists children; few are built without it.
fn lists_children() -> bool {
    fs::exists("/proc/thread-self/children").unwrap_or(false)
}

// Fields of `/proc/PID/stat` after the name, counted from nought.
const PARENT: usize = 1;
const GROUP: usize = 2;
const USER_TICKS: usize = 11;
const START_TICKS: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        let tail = "S 7 8 8 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 99 0";
        let stat = format!("42 (a) (b ) {tail}");
        let process = Process::parse(stat.as_bytes()).unwrap();
        assert_eq!((process.pid, process.name.as_str(), process.state), (42, "a) (b ", 'S'));
        assert_eq!((process.parent, process.group, process.start_ticks), (7, 8, 99));
        assert_eq!((process.own_ticks, process.reaped_ticks), (3, 7));
    }

    #[test]
    fn nonsense_is_no_process() {
        for stat in ["", "42", "42 (a", "x (a) S 1 2", "42 )a( S 1 2 3", "42 (a) S"] {
            assert_eq!(Process::parse(stat.as_bytes()), None, "{stat}");
        }
    }

    #[test]
    fn this_process_is_found_with_its_parent() {
        let line = ancestry(std::process::id());
        assert_eq!(line[0].pid, std::process::id());
        assert_eq!(line[0].parent, line[1].pid);
        assert!(line[0].is_same() && !line[0].has_ended());
    }
}
