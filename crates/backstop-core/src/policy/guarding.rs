//! Whether a file may change: one answer for hooks, which ask before, and for runs, which ask after.

use super::Policy;
use super::lock_files::is_lock_file;
use super::settings::{GuardSettings, Permission};
use crate::event::GuardKind;
use crate::field::SetOf;
use crate::glob::Glob;

/// Why a file may not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    pub kind: GuardKind,
    /// What forbids it, in words.
    pub why: String,
}

/// Guards that whoever starts a run lifts for that run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Lifted {
    /// The work tree may be dirty.
    pub dirty: bool,
    /// Lock files may change.
    pub lockfiles: bool,
    /// Other runs may claim the same files.
    pub collisions: bool,
}

impl Lifted {
    /// What whoever lifted them allows.
    pub fn in_words(self) -> impl Iterator<Item = &'static str> {
        [
            (self.dirty, "the work tree may be dirty (--allow-dirty)"),
            (self.lockfiles, "lock files may change (--allow-lockfiles)"),
            (self.collisions, "other runs may claim the same files (--force-parallel)"),
        ]
        .into_iter()
        .filter_map(|(is_lifted, what)| is_lifted.then_some(what))
    }
}

impl GuardSettings {
    /// The guard that a change of this file would violate. The path is from the working directory,
    /// with `/` between its parts; what lies outside of it begins with `..`.
    ///
    /// What is protected is never a matter of permission, nor is what is denied. That lock files may
    /// change is said of them alone, so `allow` need not say it again.
    pub fn violated_by(&self, path: &[u8]) -> Option<Guarded> {
        if let Some(glob) = first_match(self.protect.as_ref(), path) {
            let why =
                format!("it is protected (`{glob}`): what judges the work is not changed by it");
            return Some(Guarded { kind: GuardKind::Protected, why });
        }
        self.out_of_scope(path)
    }

    /// As [`Self::violated_by`], for what is not protected.
    pub fn out_of_scope(&self, path: &[u8]) -> Option<Guarded> {
        if let Some(glob) = first_match(self.deny.as_ref(), path) {
            let why = format!("`{glob}` may not change");
            return Some(Guarded { kind: GuardKind::Scope, why });
        }
        if is_lock_file(path) {
            let why = "lock files may not change".to_owned();
            let is_denied = self.lockfiles != Some(Permission::Allow);
            return is_denied.then_some(Guarded { kind: GuardKind::Lockfile, why });
        }
        let allowed = &self.allow.as_ref()?.0;
        // A wildcard speaks of what is below the working directory, unless it says that it leads up.
        let levels = path.split(|byte| *byte == b'/').take_while(|part| *part == b"..").count();
        if allowed.iter().any(|glob| glob.leads_up(levels) && glob.is_match(path)) {
            return None;
        }
        let names: Vec<&str> = allowed.iter().map(Glob::as_str).collect();
        let why = format!("only `{}` may change", names.join("`, `"));
        Some(Guarded { kind: GuardKind::Scope, why })
    }

    /// Whether anything is said about which files may change.
    pub fn watches_changes(&self) -> bool {
        self.allow.is_some() || self.deny.is_some() || self.lockfiles != Some(Permission::Allow)
    }

    pub fn requires_clean(&self) -> bool {
        self.require_clean != Some(false)
    }

    pub fn denies_collisions(&self) -> bool {
        self.collisions != Some(Permission::Allow)
    }

    pub fn reverts(&self) -> bool {
        self.revert == Some(true)
    }
}

impl Policy {
    /// The same policy with some guards lifted. One without guards has none to lift.
    #[must_use]
    pub fn with_lifted_guards(&self, lifted: Lifted) -> Self {
        let mut policy = self.clone();
        if let Some(guards) = &mut policy.settings.guards {
            if lifted.dirty {
                guards.require_clean = Some(false);
            }
            if lifted.lockfiles {
                guards.lockfiles = Some(Permission::Allow);
            }
            if lifted.collisions {
                guards.collisions = Some(Permission::Allow);
            }
        }
        policy
    }
}

fn first_match<'a>(globs: Option<&'a SetOf<Glob>>, path: &[u8]) -> Option<&'a str> {
    globs?.0.iter().find(|glob| glob.is_match(path)).map(Glob::as_str)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::document::Syntax;

    fn guards(text: &str) -> GuardSettings {
        let text = format!("[limits]\niterations = 1\n[guards]\n{text}");
        Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy.settings.guards.unwrap()
    }

    #[rstest]
    #[case("", "src/a.rs", None)]
    #[case("", "Cargo.lock", Some(GuardKind::Lockfile))]
    #[case("", "../web/yarn.lock", Some(GuardKind::Lockfile))]
    #[case("lockfiles = 'allow'", "Cargo.lock", None)]
    #[case("lockfiles = 'allow'\nallow = ['src']", "Cargo.lock", None)]
    #[case("lockfiles = 'allow'\ndeny = ['*.lock']", "Cargo.lock", Some(GuardKind::Scope))]
    #[case("allow = ['Cargo.lock']", "Cargo.lock", Some(GuardKind::Lockfile))]
    #[case("allow = ['src/**']", "src/a.rs", None)]
    #[case("allow = ['src/**']", "README.md", Some(GuardKind::Scope))]
    #[case("allow = ['**']", "../README.md", Some(GuardKind::Scope))]
    #[case("allow = ['../docs', '**']", "../docs/a.md", None)]
    #[case("allow = ['..']", "../README.md", None)]
    #[case("allow = ['..']", "../../README.md", Some(GuardKind::Scope))]
    #[case("allow = ['.']", "src/a.rs", None)]
    #[case("allow = []", "src/a.rs", Some(GuardKind::Scope))]
    #[case("deny = ['**/*.pem']", "../deep/key.pem", Some(GuardKind::Scope))]
    #[case("allow = ['src']\ndeny = ['src/key']", "src/key", Some(GuardKind::Scope))]
    #[case(
        "protect = ['Cargo.lock']\nlockfiles = 'allow'",
        "Cargo.lock",
        Some(GuardKind::Protected)
    )]
    #[case("protect = ['tests']\nallow = ['tests']", "tests/a", Some(GuardKind::Protected))]
    fn a_file_may_change_or_not(
        #[case] text: &str,
        #[case] path: &str,
        #[case] expected: Option<GuardKind>,
    ) {
        let found = guards(text).violated_by(path.as_bytes()).map(|guarded| guarded.kind);
        assert_eq!(found, expected);
    }

    #[test]
    fn one_guard_is_lifted_and_the_others_stay() {
        let load = |text: &str| Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy;
        let policy = load("[limits]\niterations = 1\n[guards]\n");
        let lift = |lifted| policy.with_lifted_guards(lifted).settings.guards.unwrap();
        let dirty = lift(Lifted { dirty: true, ..Lifted::default() });
        assert!(!dirty.requires_clean() && dirty.denies_collisions() && dirty.watches_changes());
        let lockfiles = lift(Lifted { lockfiles: true, ..Lifted::default() });
        assert!(lockfiles.requires_clean() && !lockfiles.watches_changes());
        let collisions = lift(Lifted { collisions: true, ..Lifted::default() });
        assert!(collisions.requires_clean() && !collisions.denies_collisions());
        let unguarded = load("[limits]\niterations = 1\n");
        let all = Lifted { dirty: true, lockfiles: true, collisions: true };
        assert_eq!(unguarded.with_lifted_guards(all), unguarded);
    }
}
