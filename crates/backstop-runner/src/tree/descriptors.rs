//! Nothing that this process inherited reaches those that it starts, but for 0, 1 and 2.

use std::fs;
use std::io;

/// Marks every descriptor above 2 to be closed when a program is started. Those that we open
/// ourselves are marked already; this is about those that whoever started us left open.
///
/// # Errors
/// The list of open descriptors can't be read.
pub fn fence() -> io::Result<()> {
    for entry in fs::read_dir(LIST)? {
        let descriptor = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(descriptor) = descriptor.filter(|descriptor| *descriptor > 2) {
            close_on_start(descriptor);
        }
    }
    Ok(())
}

#[expect(unsafe_code, reason = "an inherited descriptor is known by its number alone")]
fn close_on_start(descriptor: i32) {
    // SAFETY: the number was listed as open a moment ago and is used for one call that changes
    // nothing but a flag. Should it have been closed meanwhile, as the list's own is in the end,
    // the call fails or marks a descriptor that every opener marks anyway.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(descriptor) };
    let _closed = rustix::io::fcntl_setfd(borrowed, rustix::io::FdFlags::CLOEXEC);
}

#[cfg(target_os = "linux")]
const LIST: &str = "/proc/self/fd";
#[cfg(not(target_os = "linux"))]
const LIST: &str = "/dev/fd";
