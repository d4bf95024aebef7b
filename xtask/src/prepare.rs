//! What the machine must have before the tests can start.

use std::process::{Command, Stdio};

use anyhow::bail;

/// Checks that everything the tests need is here, and says how to get what is not.
pub fn check() -> anyhow::Result<()> {
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
    get_browser();
    Ok(())
}

/// Sees to a Chromium, with which a test renders reports. Without one that test says that it is left
/// out: not every machine can have it.
fn get_browser() {
    if BROWSERS.iter().any(|browser| runs(browser)) {
        return;
    }
    println!("there is no Chromium to render reports with; trying to install it");
    let apt = |arguments: &[&str]| {
        let run = Command::new("apt-get").args(arguments).stdin(Stdio::null()).output();
        run.is_ok_and(|output| output.status.success())
    };
    let install = ["install", "-y", "--no-install-recommends", "chromium"];
    // A fresh image has no list of packages yet.
    if apt(&install) || (apt(&["update"]) && apt(&install)) {
        return;
    }
    println!(
        "it can't be installed, so that test will be left out\n\n\
         hint: on Debian, as root: `apt-get install chromium`"
    );
}

/// A program that the tests cannot do without.
struct Tool {
    what: &'static str,
    program: &'static str,
    hint: &'static str,
}

fn runs(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

const TOOLS: &[Tool] = &[
    Tool {
        what: "a C compiler, which Rust links with,",
        program: "cc",
        hint: "on Debian: `apt-get install build-essential`",
    },
    Tool { what: "git", program: "git", hint: "on Debian: `apt-get install git`" },
];

/// The names that the test looks for.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_noticed() {
        assert!(!runs("backstop-no-such-program"));
    }
}
