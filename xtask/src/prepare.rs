//! What the machine must have before the tests can start.

use std::process::Command;

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
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_noticed() {
        assert!(!runs("backstop-no-such-program"));
    }
}
