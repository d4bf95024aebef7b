//! Files that commands read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use backstop_core::diagnostic::Diagnostic;
use backstop_core::document::{MAX_BYTES, Syntax};
use backstop_core::policy::{Loaded, Policy, Preset};

use crate::diagnostics;
use crate::error::Error;
use crate::judges;

/// Opens a file, or standard input for `-`, to be read line by line.
pub fn lines(path: &str) -> Result<impl BufRead, Error> {
    Ok(BufReader::with_capacity(READ_BUFFER, open(path)?))
}

/// Opens a file, or standard input for `-`.
pub fn open(path: &str) -> Result<Box<dyn Read>, Error> {
    if path == STDIN {
        return Ok(Box::new(io::stdin()));
    }
    let unreadable = |source| Error::NoInput { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(unreadable(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    Ok(Box::new(file))
}

/// How a file is called in messages.
pub fn shown(path: &str) -> &str {
    if path == STDIN { "<stdin>" } else { path }
}

/// Reads a whole file, or standard input for `-`, up to one byte more than a policy may have: who
/// reads it refuses what is too large.
pub fn read(path: &str) -> Result<Vec<u8>, Error> {
    read_at_most(path, MAX_BYTES as u64 + 1)
}

/// Reads the beginning of a file, or of standard input for `-`.
pub fn read_at_most(path: &str, most: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    open(path)?
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|source| Error::NoInput { path: path.to_owned(), source })?;
    Ok(bytes)
}

/// A policy and where it came from.
#[derive(Debug)]
pub struct Source {
    pub loaded: Loaded,
    /// The file's name, or `preset:NAME`.
    pub name: String,
    /// The text of the file; none for a preset.
    pub text: Option<String>,
}

/// A policy that can't be used: what is wrong with it, and the text that the findings point into.
#[derive(Debug)]
pub struct Refused {
    pub name: String,
    pub text: String,
    pub findings: Vec<Diagnostic>,
}

impl Refused {
    /// The findings as they are shown, with a line that sums them up.
    pub fn render(&self, colour: bool) -> String {
        let findings = diagnostics::render(&self.findings, &self.name, &self.text, colour);
        format!("{findings}\n{}", diagnostics::summary(&self.findings, &self.name))
    }
}

/// Loads a policy: the one that was named, else the nearest `backstop.toml`, else preset `default`.
pub fn policy(named: Option<&str>) -> Result<Result<Source, Refused>, Error> {
    match named {
        Some(name) => match name.strip_prefix("preset:") {
            Some(preset) => preset_named(preset).map(Ok),
            None => policy_file(name),
        },
        None => match nearest_policy() {
            Some(path) => policy_file(&path),
            None => preset_named(Preset::Default.name()).map(Ok),
        },
    }
}

/// Loads a policy; one that can't be used is an error.
pub fn usable_policy(named: Option<&str>, colour: bool) -> Result<Source, Error> {
    policy(named)?.map_err(|refused| Error::Policy(refused.render(colour)))
}

/// The preset with this name.
pub fn preset(name: &str) -> Result<Preset, Error> {
    Preset::named(name).ok_or_else(|| {
        let names = Preset::ALL.map(Preset::name);
        let hint = match backstop_core::diagnostic::nearest(name, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("presets: {}", names.join(", ")),
        };
        Error::Usage(format!("unknown preset `{name}`\n\nhint: {hint}"))
    })
}

fn preset_named(name: &str) -> Result<Source, Error> {
    let preset = preset(name)?;
    let loaded = Loaded::from(Policy::preset(preset));
    Ok(Source { loaded, name: format!("preset:{}", preset.name()), text: None })
}

fn policy_file(path: &str) -> Result<Result<Source, Refused>, Error> {
    let document = document(path)?;
    Ok(match Policy::load(&document.bytes, document.syntax) {
        Ok(loaded) => {
            let unreadable = document.unreadable_reports(&loaded.policy);
            if !unreadable.is_empty() {
                return Ok(Err(document.refused(unreadable)));
            }
            let text = Some(document.text());
            Ok(Source { loaded, name: document.name, text })
        }
        Err(findings) => Err(document.refused(findings)),
    })
}

/// A policy as its author wrote it.
#[derive(Debug)]
pub struct Document {
    /// How it is called in messages.
    pub name: String,
    pub bytes: Vec<u8>,
    pub syntax: Syntax,
}

impl Document {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// What the policy says of test reports that nobody could read.
    pub fn unreadable_reports(&self, policy: &Policy) -> Vec<Diagnostic> {
        judges::unreadable_reports(policy, &self.bytes, self.syntax)
    }

    pub fn refused(&self, findings: Vec<Diagnostic>) -> Refused {
        Refused { name: self.name.clone(), text: self.text(), findings }
    }
}

/// Reads a policy's document; its name or its content tells the syntax.
pub fn document(path: &str) -> Result<Document, Error> {
    let bytes = read(path)?;
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    let syntax = extension
        .and_then(Syntax::from_extension)
        .unwrap_or_else(|| Syntax::detect(&String::from_utf8_lossy(&bytes)));
    Ok(Document { name: shown(path).to_owned(), bytes, syntax })
}

/// `backstop.toml` in the working directory or the nearest one above.
pub fn nearest_policy() -> Option<String> {
    let found = policy_above(&std::env::current_dir().ok()?)?;
    Some(from_here(&found))
}

/// The file of a policy that was named, else of the nearest one, wherever it is asked for.
pub fn policy_path(named: Option<&str>) -> Option<PathBuf> {
    let name = named.map(str::to_owned).or_else(nearest_policy)?;
    let is_file = name != STDIN && !name.starts_with("preset:");
    is_file.then(|| std::path::absolute(name).ok()).flatten()
}

/// How a file is called here: by its place below this directory, if it is there.
pub fn from_here(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).to_string_lossy().into_owned()
}

/// `backstop.toml` in a directory or the nearest one above.
pub fn policy_above(folder: &Path) -> Option<PathBuf> {
    // A link that leads nowhere is a policy that can't be read, not the absence of one.
    let is_policy = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| !found.is_dir());
    folder.ancestors().map(|folder| folder.join(POLICY_FILE)).find(is_policy)
}

/// The name of a project's policy.
pub const POLICY_FILE: &str = "backstop.toml";

/// The name that stands for standard input.
pub const STDIN: &str = "-";

const READ_BUFFER: usize = 64 * 1024;
