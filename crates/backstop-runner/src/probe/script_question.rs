//! Questions that a script answers by its exit code.

use std::future::pending;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use backstop_core::condition::CustomScript;

use super::Answer;
use crate::side_command::{Invocation, SideCommand, SideOutcome};
use crate::tree::Tree;
use crate::verify::last_lines;

/// A script, and how often it runs by itself.
#[derive(Debug)]
pub(super) struct ScriptQuestion {
    pub(super) name: String,
    /// A shell runs it, and tells by its own exit codes that there is nothing to run.
    is_shell_line: bool,
    pub(super) every: Option<Duration>,
    command: SideCommand,
    tree: Rc<Tree>,
}

impl ScriptQuestion {
    pub(super) fn new(script: &CustomScript, cwd: &Path, tree: Rc<Tree>) -> Self {
        let words = std::iter::once(script.script.0.as_str())
            .chain(script.args.iter().map(String::as_str))
            .map(Into::into);
        let mut command = SideCommand::new(Invocation::Program(words.collect()), cwd);
        command.timeout = script.timeout.0;
        command.merge_streams = true;
        command.output_cap = OUTPUT_CAP;
        Self {
            name: script.shell_line().unwrap_or(&script.script.0).to_owned(),
            is_shell_line: script.shell_line().is_some(),
            every: script.every.map(|every| every.0),
            command,
            tree,
        }
    }

    pub(super) async fn run(&self) -> Answer {
        let mut command = self.command.clone();
        // It may have been written since the last time, so it is looked for each time.
        if let Invocation::Program(words) = &mut command.invocation
            && !self.is_shell_line
        {
            let here = self.command.cwd.join(&self.name);
            if self.name.contains('/') || here.exists() {
                words[0] = here.into();
            }
        }
        self.answer(command.run(&self.tree, pending()).await)
    }

    fn answer(&self, outcome: SideOutcome) -> Answer {
        if let Some(why) = outcome.not_started {
            return Answer::unknown(why);
        }
        if outcome.timed_out {
            return Answer::unknown(format!("it took longer than {:?}", self.command.timeout));
        }
        let Some(exit) = outcome.exit else {
            return Answer::unknown("nobody can tell how it ended");
        };
        let printed = last_lines(&outcome.stdout, DETAIL_CHARACTERS);
        if let Some(code) = exit.code.filter(|code| self.is_shell_line && NOT_RUN.contains(code)) {
            return Answer::unknown(match printed.as_str() {
                "" => format!("exit status {code}"),
                printed => printed.to_owned(),
            });
        }
        Answer { met: Some(exit.code == Some(0)), detail: (!printed.is_empty()).then_some(printed) }
    }
}

/// What a shell ends with where a command may not be executed, or was not found.
const NOT_RUN: [i32; 2] = [126, 127];
const OUTPUT_CAP: usize = 16 << 10;
const DETAIL_CHARACTERS: usize = 500;
