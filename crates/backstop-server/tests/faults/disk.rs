//! The embedded database on a disk that has no room left.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that can't go on fails, and one that is skipped says why"
)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use backstop_store::{Home, Location};

use crate::load::Load;
use crate::support::Server;

#[test]
fn a_full_disk_holds_everybody_until_it_has_room_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mount) = Mount::new(folder.path(), "size=3m") else { return };
    let location = Location::Embedded(Home::new(folder.path()));
    let server = Server::at(&location, folder, |_| {}, |store| store);
    let load = Load::start(&server);
    // The load itself writes until nothing fits any more.
    let begun = Instant::now();
    while server.get("/readyz").status != 503 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the disk is never full");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.get("/healthz").status, 200);
    mount.remount("size=64m");
    load.flows(20);
    load.end_and_check(&server, &server.store);
    drop(server);
    drop(mount);
}

/// A small file system in memory, for as long as this lives.
struct Mount {
    place: std::path::PathBuf,
}

impl Mount {
    fn new(place: &Path, options: &str) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "backstop-test"])
            .arg(place)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            println!("skipped: a file system can be mounted by root only");
            return None;
        }
        Some(Self { place: place.to_owned() })
    }

    fn remount(&self, option: &str) {
        let options = format!("remount,{option}");
        let mount = Command::new("mount").args(["-o", &options]).arg(&self.place).status();
        assert!(mount.unwrap().success(), "can't mount with {options}");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily, since connections close in the background.
        Command::new("umount").arg("-l").arg(&self.place).status().unwrap();
    }
}
