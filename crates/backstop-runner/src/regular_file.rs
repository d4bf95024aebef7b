//! Files that somebody else may have put there: opened without waiting, read only if they are files.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file for reading.
///
/// # Errors
/// It can't be opened, or is no regular file: a pipe would let us wait for ever, a device might
/// never end.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    // The bits of all flags that can be opened with fit; they are the system's own integers.
    let flags = i32::try_from(flags).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        Ok(file)
    } else if kind.is_dir() {
        Err(io::Error::other("it is a directory"))
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Reads a whole file of at most so many bytes.
///
/// # Errors
/// As [`open`], or it is larger.
pub(crate) fn read_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is larger than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_pipe_and_a_device_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero")] {
            let error = open(path).unwrap_err();
            assert_eq!(error.to_string(), "it is not a regular file");
        }
        assert_eq!(open(folder.path()).unwrap_err().to_string(), "it is a directory");
    }

    #[test]
    fn only_so_much_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_up_to(&path, 5).unwrap(), b"12345");
        assert!(read_up_to(&path, 4).is_err());
    }
}
