//! What an agent has to call.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::error::Error;

/// The program as a word for a shell.
pub struct Program {
    pub word: String,
    pub is_on_path: bool,
}

/// `backstop` where the shell finds it, so that the settings work on other machines too; else this
/// very program.
pub fn name() -> Result<Program, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| is_program(&folder.join(NAME))) {
        return Ok(Program { word: NAME.to_owned(), is_on_path: true });
    }
    let own = std::env::current_exe()?;
    Ok(Program { word: quoted(&own.to_string_lossy()), is_on_path: false })
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte);
    if word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

pub const NAME: &str = "backstop";
