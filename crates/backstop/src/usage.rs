//! What clap does not know to say of a command line that makes no sense.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The same error, with how a command is told from the flags before it, where that was meant.
pub fn with_tip(mut error: clap::Error) -> clap::Error {
    let text = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let word = text(ContextKind::InvalidArg);
    let is_of_run = text(ContextKind::Usage).contains("backstop run ");
    if error.kind() == ErrorKind::UnknownArgument && is_of_run && !word.starts_with('-') {
        let tip = format!("to run it, put `--` before the command: `-- {word}`");
        let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}
