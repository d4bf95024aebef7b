//! Commands as they are shown to be typed: with the directory of the store that a flag has named.

use std::sync::OnceLock;

use backstop_store::Location;

use crate::remote::Given;
use crate::report::command_line;

/// The store that `--store` named, as it is typed again; none where a variable or nothing names it,
/// which will do so then too.
static NAMED: OnceLock<String> = OnceLock::new();

/// Remembers how this program was called. A database's URL may hold a password, so it is never shown:
/// who has one names it in a variable.
pub fn remember(given: &Given) {
    let named = given.store_by_flag().map(Location::parse);
    if let Some(Ok(Location::Embedded(home))) = named {
        NAMED.get_or_init(|| command_line(&[home.root().display().to_string()]));
    }
}

/// The text, with the store in each command that takes one.
pub fn complete(text: &str) -> String {
    match NAMED.get() {
        Some(store) => with_store(text, store, &crate::command()),
        None => text.to_owned(),
    }
}

fn with_store(text: &str, store: &str, commands: &clap::Command) -> String {
    let mut completed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(PROGRAM) {
        let (before, after) = rest.split_at(place + PROGRAM.len());
        completed.push_str(before);
        let name = name_that_takes_a_store(after, commands).unwrap_or_default();
        if !name.is_empty() {
            completed.push_str(&format!("{name} --store {store}"));
        }
        rest = &after[name.len()..];
    }
    completed + rest
}

/// The words at the beginning that name a command, if that is one of a store.
fn name_that_takes_a_store<'a>(text: &'a str, commands: &clap::Command) -> Option<&'a str> {
    let (mut command, mut length) = (commands, 0);
    loop {
        let rest = &text[length..];
        let blank = usize::from(length > 0 && rest.starts_with(' '));
        let word = rest[blank..].split(|letter: char| !letter.is_ascii_lowercase()).next()?;
        match command.find_subcommand(word) {
            Some(found) if length == 0 || blank == 1 => {
                command = found;
                length += blank + word.len();
            }
            _ => break,
        }
    }
    let takes_it = command.get_arguments().any(|argument| argument.get_id() == "store");
    takes_it.then(|| &text[..length])
}

const PROGRAM: &str = "backstop ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_put_into_commands_that_take_one() {
        let commands = crate::command();
        for (text, expected) in [
            ("", ""),
            ("backstop resume 4K7Q --raise a=1", "backstop resume --store s 4K7Q --raise a=1"),
            (
                "`backstop show X`, `backstop logs X`",
                "`backstop show --store s X`, `backstop logs --store s X`",
            ),
            ("backstop policy apply X", "backstop policy apply --store s X"),
            ("backstop policy explain", "backstop policy explain"),
            ("backstop reasons", "backstop reasons"),
            ("backstop 4K7Q2M9X1BD3F", "backstop 4K7Q2M9X1BD3F"),
            ("see backstop ", "see backstop "),
            ("`backstop doctor` tells", "`backstop doctor --store s` tells"),
        ] {
            assert_eq!(with_store(text, "s", &commands), expected);
        }
    }
}
