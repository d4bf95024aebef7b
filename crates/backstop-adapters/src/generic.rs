//! Any program at all.

use crate::agent::is_missing_agent;
use crate::{Adapter, Exit, Fault, FaultKind, Heard, Listener, Moment, Outcome, Record, Shown};

/// Reads nothing out of the output: what a program prints is no error channel, and whose words they
/// are nobody knows. Only its exit status counts, with one exception: a script that was to start an
/// agent which is not there won't find it next time either.
#[derive(Clone, Debug, Default)]
pub struct Generic {
    /// A shell said that there is no such agent.
    missing: Option<String>,
}

impl Adapter for Generic {
    fn record(&mut self, _record: Record<'_>, _moment: &Moment, _listener: &mut dyn Listener) {}

    fn error_line(&mut self, line: &str, _moment: &Moment, _listener: &mut dyn Listener) {
        if is_missing_agent(line) {
            self.missing = Some(line.to_owned());
        }
    }

    fn finish(
        &mut self,
        exit: Option<Exit>,
        _moment: &Moment,
        listener: &mut dyn Listener,
    ) -> Outcome {
        match exit {
            Some(exit) if !exit.succeeded() => {
                if let Some(line) = self.missing.take().filter(|_| exit.code == Some(NOT_FOUND)) {
                    let fault = Fault::new(FaultKind::MissingProgram, line);
                    listener.hear(Heard::Shown(Shown::Error(&fault.message)));
                    listener.hear(Heard::Fault(fault));
                }
                Outcome::Failed
            }
            _ => Outcome::Succeeded,
        }
    }
}

/// With this a shell says that it has not found a program.
const NOT_FOUND: i32 = 127;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::testing::moment;

    #[rstest]
    #[case::missing("./loop.sh: line 3: claude: command not found", 127, true)]
    #[case::by_dash("./loop.sh: 3: codex: not found", 127, true)]
    #[case::by_zsh("zsh: command not found: gemini", 127, true)]
    #[case::by_env("env: 'aider': No such file or directory", 127, true)]
    #[case::overcome("./loop.sh: line 3: claude: command not found", 1, false)]
    #[case::no_agent("./loop.sh: line 3: pytest: command not found", 127, false)]
    fn an_agent_that_is_not_there_is_hopeless(
        #[case] line: &str,
        #[case] code: i32,
        #[case] hopeless: bool,
    ) {
        let mut kinds = Vec::new();
        let mut listener = |heard: Heard<'_>| {
            if let Heard::Fault(fault) = heard {
                kinds.push(fault.kind);
            }
        };
        let mut generic = Generic::default();
        generic.error_line(line, &moment(), &mut listener);
        let exit = Exit { code: Some(code), signal: None };
        assert_eq!(generic.finish(Some(exit), &moment(), &mut listener), Outcome::Failed);
        assert_eq!(kinds, if hopeless { vec![FaultKind::MissingProgram] } else { Vec::new() });
    }
}
