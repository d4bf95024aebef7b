//! `backstop completions` and `backstop man`, from the definitions of the command line.

use std::io::Write as _;
use std::path::Path;

use crate::error::Error;
use crate::exit_code;
use crate::terminal::Terminal;

pub fn script(shell: clap_complete::Shell, terminal: &mut Terminal) -> Result<u8, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "backstop", &mut script);
    terminal.out.write_all(&script)?;
    Ok(exit_code::OK)
}

pub fn manual(folder: Option<&Path>, terminal: &mut Terminal) -> Result<u8, Error> {
    let Some(folder) = folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(crate::command()).render(&mut page)?;
        terminal.out.write_all(&page)?;
        return Ok(exit_code::OK);
    };
    let uncreatable = |source| Error::CannotCreate { path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(uncreatable)?;
    clap_mangen::generate_to(crate::command(), folder).map_err(uncreatable)?;
    Ok(exit_code::OK)
}
