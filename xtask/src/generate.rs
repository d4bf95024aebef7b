//! `cargo xtask generate`: files that are written from the code, so that they cannot disagree.

use anyhow::{Context as _, bail};

use crate::workspace::Workspace;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Write nothing; fail if a file is not as it would be written
    #[arg(long, conflicts_with = "dry_run")]
    check: bool,
    /// Write nothing; say what would change
    #[arg(long)]
    dry_run: bool,
}

impl Arguments {
    pub fn mode(&self) -> Mode {
        match (self.check, self.dry_run) {
            (true, _) => Mode::Check,
            (false, true) => Mode::DryRun,
            (false, false) => Mode::Write,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Write,
    Check,
    DryRun,
}

/// Writes, checks or shows the generated files of the repository.
pub fn run(workspace: &Workspace, mode: Mode) -> anyhow::Result<()> {
    generate(workspace.root(), FILES, mode)
}

fn generate(root: &std::path::Path, files: &[GeneratedFile], mode: Mode) -> anyhow::Result<()> {
    let mut stale = Vec::new();
    for file in files {
        let path = file.path;
        let wanted = (file.contents)().with_context(|| format!("cannot generate `{path}`"))?;
        let full = root.join(path);
        let found = match std::fs::read_to_string(&full) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot read `{path}`")),
        };
        let Some(difference) = difference(found.as_deref(), &wanted) else {
            continue;
        };
        match mode {
            Mode::Check => stale.push(format!("{path}:{difference}")),
            Mode::DryRun => println!("would write {path}:{difference}"),
            Mode::Write => {
                if let Some(folder) = full.parent() {
                    std::fs::create_dir_all(folder)
                        .with_context(|| format!("cannot create the folder of `{path}`"))?;
                }
                std::fs::write(&full, wanted).with_context(|| format!("cannot write `{path}`"))?;
                println!("wrote {path}");
            }
        }
    }
    if !stale.is_empty() {
        bail!(
            "generated files are out of date\n{}\n\nhint: run `cargo xtask generate` and commit",
            stale.join("\n")
        );
    }
    Ok(())
}

/// A file of the repository and the function that gives its text.
struct GeneratedFile {
    path: &'static str,
    contents: fn() -> anyhow::Result<String>,
}

/// The first line at which the two differ, with both versions of it.
fn difference(found: Option<&str>, wanted: &str) -> Option<String> {
    let Some(found) = found else {
        return Some("1: the file does not exist".to_owned());
    };
    if found == wanted {
        return None;
    }
    let mut old = found.split('\n');
    let mut new = wanted.split('\n');
    let mut line = 1;
    loop {
        match (old.next(), new.next()) {
            (Some(one), Some(other)) if one == other => line += 1,
            (one, other) => {
                let shown = |text: Option<&str>| {
                    text.map_or_else(|| "the end".to_owned(), |text| format!("`{text}`"))
                };
                return Some(format!("{line}: is {}, would be {}", shown(one), shown(other)));
            }
        }
    }
}

const FILES: &[GeneratedFile] = &[
    GeneratedFile { path: "docs/reference/cli.md", contents: || Ok(backstop::reference()) },
    GeneratedFile {
        path: "docs/reference/conditions.md",
        contents: || Ok(backstop_core::condition::reference()),
    },
    GeneratedFile {
        path: "docs/reference/events.md",
        contents: || Ok(backstop_core::event::reference()),
    },
    GeneratedFile {
        path: "docs/reference/policy.schema.json",
        contents: || Ok(format!("{:#}\n", backstop_core::policy::schema())),
    },
    GeneratedFile {
        path: "docs/reference/reasons.md",
        contents: || Ok(backstop_core::reason::reference()),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &[GeneratedFile] = &[GeneratedFile {
        path: "docs/sample.md",
        contents: || Ok("# Sample\n\ntext\n".to_owned()),
    }];

    #[test]
    fn the_files_of_this_repository_are_up_to_date() {
        run(&Workspace::here(), Mode::Check).unwrap();
    }

    #[test]
    fn check_names_the_file_and_the_line_and_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let error = generate(folder.path(), SAMPLE, Mode::Check).unwrap_err().to_string();
        assert!(error.contains("docs/sample.md:1: the file does not exist"), "{error}");
        assert!(!folder.path().join("docs").exists());

        generate(folder.path(), SAMPLE, Mode::Write).unwrap();
        generate(folder.path(), SAMPLE, Mode::Check).unwrap();

        let path = folder.path().join("docs/sample.md");
        std::fs::write(&path, "# Sample\n\nother\n").unwrap();
        let error = generate(folder.path(), SAMPLE, Mode::Check).unwrap_err().to_string();
        assert!(error.contains("docs/sample.md:3: is `other`, would be `text`"), "{error}");
        assert!(error.contains("cargo xtask generate"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# Sample\n\nother\n");
    }

    #[test]
    fn a_dry_run_neither_fails_nor_writes() {
        let folder = tempfile::tempdir().unwrap();
        generate(folder.path(), SAMPLE, Mode::DryRun).unwrap();
        assert!(!folder.path().join("docs").exists());
    }

    #[test]
    fn a_missing_last_line_is_a_difference() {
        assert_eq!(difference(Some("a\n"), "a\nb\n").as_deref(), Some("2: is ``, would be `b`"));
        assert_eq!(difference(Some("a"), "a\n").as_deref(), Some("2: is the end, would be ``"));
    }
}
