//! The formats of test reports, by name.

use std::fmt;
use std::str::FromStr;

use backstop_core::diagnostic::nearest;
use serde::{Serialize, Serializer};

/// Declares the formats once: for reading their names, and for listing them.
macro_rules! formats {
    ($($(#[$comment:meta])* $variant:ident = $name:literal $(| $alias:literal)*,)*) => {
        /// How a report is written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Format {
            $($(#[$comment])* $variant,)*
        }

        impl Format {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in policies and on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            fn named(name: &str) -> Option<Self> {
                match name { $($name $(| $alias)* => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

formats! {
    /// JUnit XML, in any dialect.
    Junit = "junit" | "junit-xml" | "xunit",
    /// What `cargo test` prints.
    Libtest = "libtest" | "cargo" | "cargo-test",
    /// `cargo test -- --format json`, and nextest in the same form.
    LibtestJson = "libtest-json" | "libtest-json-plus",
    /// What `cargo nextest run` prints.
    Nextest = "nextest" | "cargo-nextest",
    Pytest = "pytest",
    /// Python's own runner, and Django's.
    Unittest = "unittest" | "django",
    /// What `go test` prints.
    Go = "go" | "go-test",
    GoJson = "go-json" | "go-test-json",
    Jest = "jest",
    /// `jest --json`, and vitest in the same form.
    JestJson = "jest-json" | "vitest-json",
    Vitest = "vitest",
    Mocha = "mocha",
    /// What `node --test` prints for people.
    Node = "node" | "node-test",
    Rspec = "rspec",
    RspecJson = "rspec-json",
    Tap = "tap",
    Ctrf = "ctrf",
    Maven = "maven" | "surefire",
    Sympy = "sympy",
    /// A pattern of the user's own.
    Regex = "regex",
}

impl Format {
    /// The formats that can be named without anything else.
    pub fn readable() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|format| *format != Self::Regex)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let name = text.trim().to_lowercase().replace('_', "-");
        Self::named(&name).filter(|format| *format != Self::Regex).ok_or_else(|| {
            let names: Vec<_> = Self::readable().map(Self::name).collect();
            let hint = match nearest(&name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("formats: {}", names.join(", ")),
            };
            UnknownFormat { name: text.to_owned(), hint }
        })
    }
}

/// No format is called so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown report format `{name}`; {hint}")]
pub struct UnknownFormat {
    pub name: String,
    pub hint: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_its_format() {
        for format in Format::readable() {
            assert_eq!(format.name().parse(), Ok(format));
            assert_eq!(format.name().to_uppercase().parse(), Ok(format));
        }
        assert_eq!("go_test".parse(), Ok(Format::Go));
    }

    #[test]
    fn unknown_names_are_answered_with_the_nearest() {
        let refused = "pytst".parse::<Format>().expect_err("no such format");
        assert_eq!(refused.to_string(), "unknown report format `pytst`; did you mean `pytest`?");
        let refused = "xyzzy".parse::<Format>().expect_err("no such format");
        assert!(refused.hint.starts_with("formats: junit, libtest, "), "{refused}");
    }
}
