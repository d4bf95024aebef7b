//! `backstop init`: a commented policy that fits the directory.

use std::io::Write as _;
use std::path::Path;

use crate::args::InitArguments;
use crate::error::Error;
use crate::exit_code;
use crate::input::POLICY_FILE;
use crate::terminal::Terminal;

mod project;
mod template;

use project::Project;

pub fn run(arguments: &InitArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let project = Project::look_at(Path::new("."));
    let text = template::policy(&project);
    if arguments.print {
        write!(terminal.out, "{text}")?;
        return Ok(exit_code::OK);
    }
    write_new(Path::new(POLICY_FILE), &text, arguments.force)?;
    write!(terminal.out, "wrote {POLICY_FILE}\n{}", project.summary())?;
    writeln!(terminal.out, "next: backstop policy explain")?;
    if project.is_repository {
        // Its guards refuse to run beside what is not committed, this file included.
        writeln!(terminal.out, "      git add {POLICY_FILE} && git commit -m \"Add a policy\"")?;
    }
    Ok(exit_code::OK)
}

/// Creates the file; one that is there is replaced only on request.
fn write_new(path: &Path, text: &str, replace: bool) -> Result<(), Error> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    if replace {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => Error::CannotCreate {
            path: path.to_owned(),
            source: std::io::Error::new(source.kind(), "it exists already; --force replaces it"),
        },
        _ => Error::CannotCreate { path: path.to_owned(), source },
    })
}
