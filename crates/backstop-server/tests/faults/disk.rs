//! The embedded database on a disk that has no room left, or whose files somebody takes away.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that can't go on fails, and one that is skipped says why"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use backstop_store::testing::postgres;
use backstop_store::{Home, Location, ServerUrl};
use rstest::rstest;
use serde_json::json;

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

#[rstest]
#[case::removed(remove)]
#[case::replaced(replace)]
#[case::emptied(empty)]
#[case::without_its_log(remove_log)]
fn a_database_that_is_taken_away_lets_nobody_go_on(#[case] take_away: fn(&Path)) {
    let server = Server::start();
    let run = server.post("/v1/runs", "{}").json();
    let events = format!("/v1/runs/{}/events", run["run_id"].as_str().unwrap());
    assert_eq!(server.get(QUESTION).json()["decision"], "CONTINUE");
    take_away(&server.home.database());
    let held = server.get(QUESTION).json();
    assert_eq!((&held["decision"], &held["reasonCode"]), (&json!("HOLD"), &json!("LAWBOOK_BLOCK")));
    let reported = server.post(&events, r#"{"type":"progress","kind":"other"}"#).json();
    assert_eq!((&reported["verdict"], &reported["stored"]), (&json!("hold"), &json!(false)));
    assert_eq!(server.get("/readyz").status, 503);
}

fn remove(database: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(format!("{}{suffix}", database.display())).unwrap();
    }
}

fn replace(database: &Path) {
    let copy = database.with_extension("copy");
    fs::copy(database, &copy).unwrap();
    fs::rename(copy, database).unwrap();
}

fn empty(database: &Path) {
    fs::OpenOptions::new().write(true).open(database).unwrap().set_len(0).unwrap();
}

fn remove_log(database: &Path) {
    fs::remove_file(format!("{}-wal", database.display())).unwrap();
}

#[test]
fn a_service_without_its_audit_is_not_ready() {
    let Some(postgres) = postgres::shared() else { return };
    let database = postgres.database();
    let folder = tempfile::tempdir().unwrap();
    let url = ServerUrl::parse(&database.url()).unwrap();
    let location = Location::Server { url, home: Home::new(folder.path()) };
    let server = Server::at(&location, folder, |_| {}, |store| store);
    database.query("ALTER TABLE stop_decision_audit RENAME TO elsewhere").unwrap();
    assert_eq!(server.get("/readyz").status, 503);
}

const QUESTION: &str = "/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop\
    &currentJobAttempts=0&totalPrAttempts=0";

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
