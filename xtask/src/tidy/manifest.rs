//! What the manifests of the workspace must say.

use std::collections::BTreeSet;

use toml::de::{DeTable, DeValue};

use super::tree::Tree;
use super::{Finding, line_of};

/// Every crate of the workspace takes the workspace's lints.
pub fn lints(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let manifests = tree
        .texts_with_extension("toml")
        .filter(|(path, _)| path.starts_with("crates/") || path.starts_with("xtask/"))
        .filter(|(path, _)| path.ends_with("/Cargo.toml"));
    for (path, text) in manifests {
        match text.parse::<toml::Table>() {
            Ok(manifest) => {
                let inherited = manifest.get("lints").and_then(|lints| lints.get("workspace"));
                if inherited != Some(&toml::Value::Boolean(true)) {
                    findings.push(Finding::new(path, 1, "lacks `[lints] workspace = true`"));
                }
            }
            Err(_) => findings.push(Finding::new(path, 1, "is not valid TOML")),
        }
    }
    findings
}

/// The core depends on exactly what is listed here, each for a reason.
pub fn core_dependencies(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(CORE) else {
        return vec![Finding::new(CORE, 1, "does not exist")];
    };
    let Ok(manifest) = DeTable::parse(text) else {
        return vec![Finding::new(CORE, 1, "is not valid TOML")];
    };
    let mut findings = Vec::new();
    for (key, _) in manifest.get_ref().iter() {
        let name = key.get_ref();
        if *name == "build-dependencies" || *name == "target" {
            let what = format!("the core has no `{name}`");
            findings.push(Finding::new(CORE, line_of(text, key.span().start), what));
        }
    }
    let mut found = BTreeSet::new();
    if let Some(DeValue::Table(dependencies)) =
        manifest.get_ref().get("dependencies").map(toml::Spanned::get_ref)
    {
        for (key, _) in dependencies.iter() {
            let name = key.get_ref();
            found.insert(name.to_string());
            if !ALLOWED.iter().any(|(allowed, _reason)| allowed == name) {
                let what = format!("the core may not depend on `{name}`: see {LIST}");
                findings.push(Finding::new(CORE, line_of(text, key.span().start), what));
            }
        }
    }
    for (name, _reason) in ALLOWED.iter().filter(|(name, _)| !found.contains(*name)) {
        let what = format!("`{name}` is allowed but not used: remove it from {LIST}");
        findings.push(Finding::new(CORE, 1, what));
    }
    findings
}

const CORE: &str = "crates/backstop-core/Cargo.toml";
const LIST: &str = "ALLOWED in xtask/src/tidy/manifest.rs";

/// What the core may use, and why it needs it.
const ALLOWED: &[(&str, &str)] = &[
    ("cel", "parses the expressions of `expr` conditions"),
    ("humantime", "reads and writes durations as people do"),
    ("jiff", "timestamps and zones, its pure parts only"),
    ("jsonc-parser", "JSON policies with the place of each value"),
    ("proptest", "generators behind the feature `testing`"),
    ("regex", "output patterns, and the normaliser"),
    ("saphyr-parser", "YAML policies with the place of each value"),
    ("serde", "events, facts and decisions as data"),
    ("serde_json", "JSON in and out, and the canonical form"),
    ("serde_path_to_error", "which field of an event or of facts is wrong"),
    ("sha2", "the hash of a policy"),
    ("strsim", "the nearest name for a misspelt one"),
    ("thiserror", "error types"),
    ("toml", "TOML policies with the place of each value"),
    ("toml_parser", "where a TOML key that is written twice stood first"),
    ("xxhash-rust", "short hashes of actions and results"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest_of_core(more: &str) -> String {
        let all: String = ALLOWED.iter().map(|(name, _)| format!("{name} = \"1\"\n")).collect();
        format!("[dependencies]\n{all}{more}")
    }

    #[test]
    fn exactly_the_list_is_accepted() {
        assert_eq!(core_dependencies(&Tree::of([(CORE, &manifest_of_core(""))])), []);
    }

    #[test]
    fn one_more_dependency_is_found_with_its_line() {
        let findings = core_dependencies(&Tree::of([(CORE, &manifest_of_core("tokio = \"1\"\n"))]));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, ALLOWED.len() + 2);
        assert!(findings[0].what.contains("may not depend on `tokio`"), "{}", findings[0]);
    }

    #[test]
    fn one_less_is_found_too() {
        let text = manifest_of_core("").replace("cel = \"1\"\n", "");
        let findings = core_dependencies(&Tree::of([(CORE, &text)]));
        assert_eq!(findings.len(), 1);
        assert!(findings[0].what.contains("`cel` is allowed but not used"), "{}", findings[0]);
    }

    #[test]
    fn other_ways_to_depend_are_closed() {
        for table in ["build-dependencies", "target.'cfg(unix)'.dependencies"] {
            let text = manifest_of_core(&format!("[{table}]\ntokio = \"1\"\n"));
            assert_eq!(core_dependencies(&Tree::of([(CORE, &text)])).len(), 1, "{table}");
        }
        assert_eq!(core_dependencies(&Tree::of([(CORE, "not toml")])).len(), 1);
        assert_eq!(core_dependencies(&Tree::default()).len(), 1);
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let good = "[lints]\nworkspace = true\n";
        let path = "crates/a/Cargo.toml";
        assert_eq!(lints(&Tree::of([(path, good)])), []);
        for bad in ["", "[lints]\nworkspace = false\n", "[lints.rust]\nx = 'warn'\n", "not toml"] {
            assert_eq!(lints(&Tree::of([(path, bad)])).len(), 1, "{bad}");
        }
    }
}
