//! Whether a process belongs to a run: what supervised processes may not do, they may not have
//! others do for them by accident.

use std::fs;

/// The run that supervises a process or one that it came from; the nearest one.
///
/// A supervised process finds both variables in its environment. One alone is a script's own: it
/// may keep the name of its run there.
pub fn of_process(pid: u32) -> Option<String> {
    let mut next = pid;
    // Numbers may be used again while we read, so that a circle is conceivable.
    for _ in 0..DEEPEST {
        if variable(next, "BACKSTOP_SOCKET").is_some()
            && let Some(run) = variable(next, "BACKSTOP_RUN_ID")
        {
            return Some(run);
        }
        next = parent(next).filter(|parent| *parent > 1)?;
    }
    None
}

/// Whether a process or one that it came from belongs to this run.
pub fn is_part_of(pid: u32, run: &str) -> bool {
    let mut next = Some(pid);
    for _ in 0..DEEPEST {
        let Some(pid) = next.filter(|pid| *pid > 1) else { return false };
        if variable(pid, "BACKSTOP_RUN_ID").as_deref() == Some(run) {
            return true;
        }
        next = parent(pid);
    }
    false
}

/// The value of a variable in the environment that a process was started with.
fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = environment.split(|byte| *byte == 0).find_map(|entry| {
        entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
    })?;
    String::from_utf8(value.to_vec()).ok()
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

const DEEPEST: usize = 256;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A shell with these variables and a sleeper below it, which has a clean environment.
    fn sleeper(variables: &[(&str, &str)]) -> (std::process::Child, u32) {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", "env -i sleep 60 & echo $!; wait"])
            .envs(variables.iter().copied())
            .env_remove("BACKSTOP_STORE")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = shell.stdout.as_mut().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        (shell, line.trim().parse().unwrap())
    }

    fn end(mut shell: std::process::Child, below: u32) {
        let _ = Command::new("kill").arg(below.to_string()).status();
        let _ = shell.wait();
    }

    #[test]
    fn a_process_below_a_supervised_one_is_supervised_too() {
        let (shell, below) =
            sleeper(&[("BACKSTOP_RUN_ID", "4K7Q2M9X1BD3F"), ("BACKSTOP_SOCKET", "/s")]);
        assert_eq!(of_process(below).as_deref(), Some("4K7Q2M9X1BD3F"));
        assert!(is_part_of(below, "4K7Q2M9X1BD3F") && !is_part_of(below, "4K7Q2M9X1BD30"));
        end(shell, below);
    }

    #[test]
    fn a_script_that_keeps_its_runs_name_is_not_supervised() {
        let (shell, below) = sleeper(&[("BACKSTOP_RUN_ID", "4K7Q2M9X1BD3F")]);
        assert_ne!(of_process(below).as_deref(), Some("4K7Q2M9X1BD3F"));
        end(shell, below);
    }
}
