//! What the machine must have before the tests can start.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

use crate::workspace::Workspace;

/// Checks that everything the tests need is here, and says how to get what is not.
pub fn check(workspace: &Workspace) -> anyhow::Result<()> {
    check_room(workspace.root())?;
    for tool in TOOLS {
        if !runs(tool.program) {
            bail!(
                "{} is missing: `{} --version` does not run\n\nhint: {}",
                tool.what,
                tool.program,
                tool.hint
            );
        }
    }
    for package in PACKAGES {
        package.get();
    }
    Ok(())
}

/// A linker that finds the disk full in the middle says nothing that anybody could understand.
fn check_room(root: &Path) -> anyhow::Result<()> {
    let needed = if root.join("target/debug/deps").exists() { MORE_BUILDS } else { WHOLE_BUILD };
    let disk = rustix::fs::statvfs(root).context("cannot ask how much room the disk has")?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    ensure!(
        free >= needed,
        "the disk has {} GiB left, and building and running the tests takes up to {} GiB\n\n\
         hint: free some, or have the build elsewhere with CARGO_TARGET_DIR",
        free / GIB,
        needed / GIB
    );
    Ok(())
}

/// A program that the tests cannot do without.
struct Tool {
    what: &'static str,
    program: &'static str,
    hint: &'static str,
}

/// Something that some tests need. Not every machine can have it: without it those tests say that
/// they are left out, and where nothing may be left out they fail.
struct Package {
    what: &'static str,
    /// Of Debian's.
    name: &'static str,
    is_here: fn() -> bool,
}

impl Package {
    fn get(&self) {
        let Self { what, name, is_here } = self;
        if is_here() {
            return;
        }
        println!("there is no {what}; trying to install it");
        let install = ["install", "-y", "--no-install-recommends", name];
        // A fresh image has no list of packages yet.
        if apt(&install) || (apt(&["update"]) && apt(&install)) {
            return;
        }
        println!(
            "it can't be installed, so the tests with it will be left out\n\n\
             hint: on Debian, as root: `apt-get install {name}`"
        );
    }
}

fn apt(arguments: &[&str]) -> bool {
    let run = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output();
    run.is_ok_and(|output| output.status.success())
}

fn runs(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn has_browser() -> bool {
    BROWSERS.iter().any(|browser| runs(browser))
}

/// Debian keeps the server's programs out of the search path.
fn has_server() -> bool {
    let versions = Path::new("/usr/lib/postgresql").read_dir().into_iter().flatten().flatten();
    let mut programs = versions.map(|version| version.path().join("bin/initdb"));
    programs.any(|program| program.exists()) || runs("initdb")
}

fn has_pooler() -> bool {
    Path::new("/usr/sbin/pgbouncer").exists() || runs("pgbouncer")
}

const GIB: u64 = 1 << 30;
/// What checks, tests and documentation leave in `target`, and room for what the tests write.
const WHOLE_BUILD: u64 = 14 * GIB;
/// The same where most of it is there already.
const MORE_BUILDS: u64 = 4 * GIB;

const TOOLS: &[Tool] = &[
    Tool {
        what: "a C compiler, which Rust links with,",
        program: "cc",
        hint: "on Debian: `apt-get install build-essential`",
    },
    Tool { what: "git", program: "git", hint: "on Debian: `apt-get install git`" },
];

const PACKAGES: &[Package] = &[
    Package { what: "Chromium to render reports with", name: "chromium", is_here: has_browser },
    Package { what: "PostgreSQL to keep runs in", name: "postgresql", is_here: has_server },
    Package { what: "a pooler before it", name: "pgbouncer", is_here: has_pooler },
];

/// The names that the test looks for.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_can_t_be_asked_is_no_room() {
        assert!(check_room(Path::new("/no/such/place")).is_err());
    }

    #[test]
    fn a_missing_program_is_noticed() {
        assert!(!runs("backstop-no-such-program"));
    }
}
