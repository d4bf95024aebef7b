//! Checkpoints, and the key that signs them.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use backstop_runner::chance;
use backstop_store::audit::{Hash, Signer};

use crate::args::AuditCheckpointArguments;
use crate::commands::operate::refuse_if_supervised;
use crate::error::Error;
use crate::exit_code;
use crate::store::Opened;
use crate::terminal::Terminal;

pub fn run(arguments: &AuditCheckpointArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    refuse_if_supervised(&opened, "audit checkpoint")?;
    let signer = signer(&opened.home.audit_key())?;
    if arguments.public_key {
        writeln!(terminal.out, "{}", signer.verifier())?;
        return Ok(exit_code::OK);
    }
    let head = opened.wait(opened.store.audit_head())?.ok_or_else(|| {
        Error::NotNow("there is nothing to sign: no decision is on record yet".to_owned())
    })?;
    write!(terminal.out, "{}", signer.sign(head))?;
    terminal.remark("keep this where nobody who can write the database can change it");
    Ok(exit_code::OK)
}

/// The key of this machine; made when it is first needed.
fn signer(path: &Path) -> Result<Signer, Error> {
    let cannot = |source| Error::CannotCreate { path: path.to_owned(), source };
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(mut file) => {
            let secret = chance::bytes()?;
            let text = format!("{}\n", Hash(secret));
            file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(cannot)?;
            Ok(Signer::new(&secret))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let text = std::fs::read_to_string(path)
                .map_err(|source| Error::NoInput { path: path.display().to_string(), source })?;
            read(path, &text)
        }
        Err(error) => Err(cannot(error)),
    }
}

/// The key of this machine, if it has one that whoever asks may read.
pub fn present(path: &Path) -> Result<Option<Signer>, Error> {
    use io::ErrorKind::{NotFound, PermissionDenied};
    match std::fs::read_to_string(path) {
        Ok(text) => read(path, &text).map(Some),
        Err(error) if matches!(error.kind(), NotFound | PermissionDenied) => Ok(None),
        Err(source) => Err(Error::NoInput { path: path.display().to_string(), source }),
    }
}

fn read(path: &Path, text: &str) -> Result<Signer, Error> {
    let secret = Hash::from_hex(text.trim()).ok_or_else(|| Error::BadData {
        place: path.display().to_string(),
        message: "this is no key: 64 hexadecimal digits are expected".to_owned(),
    })?;
    Ok(Signer::new(&secret.0))
}
