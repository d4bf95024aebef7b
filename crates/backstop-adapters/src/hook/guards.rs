//! Whether a file may be written, before it is.

use std::fmt::Write as _;

use backstop_core::event::GuardKind;
use backstop_core::policy::{GuardSettings, Permission};
use regex::{Regex, RegexBuilder};

/// Why a file may not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    pub kind: GuardKind,
    /// What forbids it, in words.
    pub why: String,
}

/// The guard that a change of this file would violate. The path is from the top of the work tree,
/// with `/` between its parts, and without `.` and `..`.
pub fn guarded(guards: &GuardSettings, path: &str) -> Option<Guarded> {
    let protected = guards.protect.iter().flat_map(|globs| &globs.0);
    if let Some(glob) = protected.map(|glob| &glob.0).find(|glob| is_match(glob, path)) {
        let why = format!("it is protected (`{glob}`): what judges the work is not changed by it");
        return Some(Guarded { kind: GuardKind::Protected, why });
    }
    let denied = guards.deny.iter().flat_map(|globs| &globs.0);
    if let Some(glob) = denied.map(|glob| &glob.0).find(|glob| is_match(glob, path)) {
        let why = format!("`{glob}` may not change");
        return Some(Guarded { kind: GuardKind::Scope, why });
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    if guards.lockfiles != Some(Permission::Allow) && LOCK_FILES.contains(&name) {
        let why = "lock files may not change".to_owned();
        return Some(Guarded { kind: GuardKind::Lockfile, why });
    }
    let allowed: Vec<&str> = guards.allow.as_ref()?.0.iter().map(|glob| glob.0.as_str()).collect();
    if allowed.iter().any(|glob| is_match(glob, path)) {
        return None;
    }
    let why = format!("only `{}` may change", allowed.join("`, `"));
    Some(Guarded { kind: GuardKind::Scope, why })
}

/// Whether a glob names a path, or a folder that it is in.
fn is_match(glob: &str, path: &str) -> bool {
    let glob = glob.strip_prefix("./").unwrap_or(glob).trim_end_matches('/');
    regex(glob).is_some_and(|regex| regex.is_match(path))
}

/// `*` and `?` stay within a name, `**` crosses folders, `[…]` is one of some characters and
/// `{a,b}` one of some texts.
fn regex(glob: &str) -> Option<Regex> {
    let mut regex = String::from("^");
    let mut depth = 0_usize;
    let mut rest = glob;
    while let Some(character) = rest.chars().next() {
        let mut taken = character.len_utf8();
        match character {
            '*' if rest.starts_with("**/") => {
                regex.push_str("(?:.*/)?");
                taken = 3;
            }
            '*' if rest.starts_with("**") => {
                regex.push_str(".*");
                taken = 2;
            }
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            '[' if rest[1..].find(']').is_some_and(|end| end > 0) => {
                let end = rest[1..].find(']').map_or(0, |end| end + 1);
                let inside = &rest[1..end];
                let (negated, inside) = match inside.strip_prefix(['!', '^']) {
                    Some(inside) => ("^/", inside),
                    None => ("", inside),
                };
                let inside = inside.replace('\\', r"\\").replace('[', r"\[").replace('&', r"\&");
                write!(regex, "[{negated}{inside}]").ok()?;
                taken = end + 1;
            }
            '{' => {
                regex.push_str("(?:");
                depth += 1;
            }
            '}' if depth > 0 => {
                regex.push(')');
                depth -= 1;
            }
            ',' if depth > 0 => regex.push('|'),
            other => regex.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
        rest = &rest[taken..];
    }
    regex.push_str(&")".repeat(depth));
    // A folder stands for all that is in it.
    regex.push_str("(?:/.*)?$");
    RegexBuilder::new(&regex).dot_matches_new_line(true).size_limit(LARGEST_REGEX).build().ok()
}

const LARGEST_REGEX: usize = 1 << 20;

const LOCK_FILES: [&str; 22] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pdm.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pubspec.lock",
    "uv.lock",
    "yarn.lock",
];

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("src/**", "src/a/b.rs", true)]
    #[case("src/**", "src", false)]
    #[case("src/**", "srcs/a.rs", false)]
    #[case("src", "src/a.rs", true)]
    #[case("src/", "src/a.rs", true)]
    #[case("**/*.pem", "key.pem", true)]
    #[case("**/*.pem", "a/b/key.pem", true)]
    #[case("*.pem", "a/key.pem", false)]
    #[case("a?c", "a/c", false)]
    #[case("a[0-9].txt", "a7.txt", true)]
    #[case("a[!0-9].txt", "a7.txt", false)]
    #[case("{tests,check.sh}", "tests/x.rs", true)]
    #[case("{tests,check.sh}", "check.sh", true)]
    #[case("{tests", "tests", true)]
    #[case("a.b", "axb", false)]
    #[case("[", "[", true)]
    #[case("./x", "x", true)]
    fn globs(#[case] glob: &str, #[case] path: &str, #[case] expected: bool) {
        assert_eq!(is_match(glob, path), expected);
    }
}
