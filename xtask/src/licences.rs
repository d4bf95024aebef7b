//! `cargo xtask licences`: every dependency's licence against the list in deny.toml.

use anyhow::{Context as _, bail};
use cargo_metadata::MetadataCommand;
use spdx::{Expression, Licensee};

use crate::workspace::Workspace;

/// Checks each package of the lock file that is not our own, and names those that do not fit.
pub fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let allowed = allowed(&workspace.read("deny.toml")?)?;
    let metadata = MetadataCommand::new()
        .current_dir(workspace.root())
        .other_options(vec!["--all-features".to_owned(), "--locked".to_owned()])
        .exec()
        .context("cannot list the dependencies")?;
    let mut offenders = Vec::new();
    let dependencies = metadata.packages.iter().filter(|package| package.source.is_some());
    for package in dependencies {
        if let Err(problem) = judge(package.license.as_deref(), &allowed) {
            offenders.push(format!("{} {}: {problem}", package.name, package.version));
        }
    }
    if !offenders.is_empty() {
        bail!("licences that deny.toml does not allow\n{}", offenders.join("\n"));
    }
    Ok(())
}

/// The list `[licenses] allow` of deny.toml.
fn allowed(text: &str) -> anyhow::Result<Vec<Licensee>> {
    let document: toml::Table = text.parse().context("deny.toml is not valid TOML")?;
    let list = document
        .get("licenses")
        .and_then(|licenses| licenses.get("allow"))
        .and_then(toml::Value::as_array)
        .context("deny.toml has no list `allow` in `[licenses]`")?;
    list.iter()
        .map(|name| {
            let name = name.as_str().context("deny.toml: a licence is not a string")?;
            Licensee::parse(name).with_context(|| format!("deny.toml: unknown licence `{name}`"))
        })
        .collect()
}

/// Whether an SPDX expression can be satisfied by the allowed licences alone.
fn judge(license: Option<&str>, allowed: &[Licensee]) -> Result<(), String> {
    let Some(license) = license else {
        return Err("states no licence".to_owned());
    };
    // Old packages write `MIT/Apache-2.0`, which the lax mode reads as `OR`, as cargo-deny does.
    let expression = Expression::parse_mode(license, spdx::ParseMode::LAX)
        .map_err(|error| format!("`{license}` is not an SPDX expression: {}", error.reason))?;
    if expression.evaluate(|required| allowed.iter().any(|licensee| licensee.satisfies(required))) {
        Ok(())
    } else {
        Err(format!("`{license}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Vec<Licensee> {
        allowed("[licenses]\nallow = ['MIT', 'Apache-2.0', 'Unicode-3.0']").unwrap()
    }

    #[test]
    fn one_allowed_alternative_is_enough() {
        for license in ["MIT", "MIT OR GPL-3.0-only", "MIT/Apache-2.0", "MIT AND Unicode-3.0"] {
            assert_eq!(judge(Some(license), &list()), Ok(()), "{license}");
        }
    }

    #[test]
    fn what_is_not_on_the_list_is_named() {
        for (license, problem) in [
            (Some("GPL-3.0-only"), "`GPL-3.0-only`"),
            (Some("MIT AND GPL-3.0-only"), "`MIT AND GPL-3.0-only`"),
            (Some("Apache-2.0 WITH LLVM-exception"), "`Apache-2.0 WITH LLVM-exception`"),
            (None, "states no licence"),
        ] {
            assert_eq!(judge(license, &list()), Err(problem.to_owned()));
        }
        let error = judge(Some("NOT-A-LICENCE"), &list()).unwrap_err();
        assert!(error.starts_with("`NOT-A-LICENCE` is not an SPDX expression"), "{error}");
    }

    #[test]
    fn a_misspelt_list_is_an_error() {
        for text in ["", "[licenses]", "[licenses]\nallow = 'MIT'", "[licenses]\nallow = ['MTI']"] {
            assert!(allowed(text).is_err(), "{text}");
        }
    }
}
