//! `audit`, `token`, `halt` and `release --all`, through the real binary.

use std::path::Path;
use std::process::Command;

use backstop_store::audit::AuditFilter;
use backstop_store::{Home, SqliteStore, Store as _};
use serde_json::Value as Json;

mod support;

use support::database::{refused_sql, sql};
use support::looping::{Loop, wait_for};
use support::serving::Serving;
use support::{BINARY, Ended, Test};

/// Two runs that halt, one that is held.
fn decided() -> Test {
    let hold = "[[rule]]\nwhen = { type = \"max_iterations\", count = 1 }\nthen = \"hold\"\n\
                reason = \"no_signal_change\"\n";
    let test = Test::new().file("hold.toml", hold);
    test.run(["run", "--max-iterations", "1", "--", "true"]).exits(125);
    test.run(["run", "--until-success", "--", "true"]).exits(0);
    test.run(["run", "--policy", "hold.toml", "--", "true"]).exits(54);
    test
}

fn rows(test: &Test, more: &[&str]) -> Vec<Json> {
    let listed = test.run(["audit", "ls", "--json"].iter().chain(more).copied()).exits(0);
    listed.stdout.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

#[test]
fn every_halt_and_hold_is_on_record() {
    let test = decided();
    let said: Vec<_> = rows(&test, &[])
        .iter()
        .map(|row| format!("{} {} {}", row["number"], row["decision"], row["reason_code"]))
        .collect();
    assert_eq!(
        said,
        [
            "3 \"HOLD\" \"no_signal_change\"",
            "2 \"COMPLETE\" \"completed\"",
            "1 \"STOP\" \"max_iterations\""
        ]
    );
    assert_eq!(rows(&test, &["--decision", "hold"]).len(), 1);
    for name in ["completed", "COMPLETED", "all_tasks_done", "Success-Condition"] {
        assert_eq!(rows(&test, &["--reason", name])[0]["number"], 2, "{name}");
    }
    assert!(rows(&test, &["--reason", "complete"]).is_empty());
    test.run(["audit", "ls", "--limit", "0"]).refused(64, &["--limit"]);
    assert_eq!(rows(&test, &["--run", "latest"])[0]["number"], 3);
    assert_eq!(rows(&test, &["--limit", "2"]).len(), 2);
    let request = rows(&test, &["--limit", "1"])[0]["request_id"].as_str().unwrap().to_owned();
    assert_eq!(rows(&test, &["--request", &request]).len(), 1);
    assert!(rows(&test, &["--repo", "octo-org/hello", "--pr", "9"]).is_empty());
    assert!(rows(&test, &["--pr", "9"]).is_empty());
    let shown = test.run(["audit", "show", "1"]).exits(0).stdout;
    assert!(shown.contains("STOP max_iterations") && shown.contains("evidence"), "{shown}");
    // A hash is there to be copied, so it is never cut.
    let fits = |line: &str| line.chars().count() <= 80 || line.starts_with("policy       sha256:");
    assert!(shown.lines().all(fits), "{shown}");
    test.run(["audit", "show", "4"]).refused(66, &["no row 4", "backstop audit ls"]);
    test.run(["audit", "show", "0"]).refused(66, &["no row 0"]);
}

#[test]
fn a_checkpoint_shows_what_was_cut_off() {
    let test = decided();
    let early = test.run(["audit", "checkpoint"]).exits(0);
    assert!(early.stderr.contains("nobody who can write the database"), "{}", early.stderr);
    let key = test.run(["audit", "checkpoint", "--public-key"]).exits(0).stdout;
    let test = test.file("early", &early.stdout).file("spoilt", early.stdout.replace('3', "4"));
    let verify = ["audit", "verify", "--checkpoint", "early", "--key", key.trim()];
    let whole = test.run(verify).exits(0).stdout;
    assert!(whole.starts_with("3 rows") && whole.contains("after row 3"), "{whole}");
    let alone = test.run(["audit", "verify"]).exits(0).stdout;
    assert!(alone.contains("can't tell: without a checkpoint"), "{alone}");
    test.run(["audit", "verify", "--checkpoint", "spoilt"]).refused(65, &["spoilt"]);
    let other = "0".repeat(64);
    test.run(["audit", "verify", "--checkpoint", "early", "--key", &other])
        .refused(65, &["was signed by key", &other]);
    test.run(["audit", "verify", "--checkpoint", "nowhere"]).refused(66, &["nowhere"]);

    // Somebody with the database in hand, who knows what they are doing.
    let database = test.path().join(".local/state/backstop/backstop.db");
    let spoil = |statement: &str| {
        let script = "DROP TRIGGER stop_decision_audit_is_not_deleted; \
                      DROP TRIGGER stop_decision_audit_is_not_updated; ";
        sql(&database, &format!("{script}{statement}"));
    };
    refused_sql(&database, "DELETE FROM stop_decision_audit", "append-only");
    refused_sql(&database, "UPDATE stop_decision_audit SET actor = ''", "append-only");
    spoil("DELETE FROM stop_decision_audit WHERE number = 3");
    assert!(test.run(["audit", "verify"]).exits(0).stdout.contains("2 rows"));
    let found = test.run(verify).exits(65).stdout;
    assert!(found.contains("the end was cut off: 2 rows are left of at least 3"), "{found}");
    sql(&database, "UPDATE stop_decision_audit SET reason_code = 'x' WHERE number = 1");
    let found = test.run(["audit", "verify", "--json"]).exits(65).json();
    assert_eq!(found["found"], "row 1 was changed");
}

/// Two answers about re-runs, behind what runs have halted for.
fn answered() -> Test {
    let test = decided();
    let serving = Serving::start(&test, &[], &[]);
    for attempts in [0, 2] {
        let answer = serving.get(&format!(
            "/api/github/prs/7/checks/stop-decision?owner=acme&repo=shop\
             &currentJobAttempts={attempts}&totalPrAttempts={attempts}"
        ));
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    test
}

#[test]
fn answers_on_record_come_out_again() {
    let test = answered();
    let whole = test.run(["audit", "verify", "--replay"]).exits(0).stdout;
    assert!(whole.contains("2 answers about re-runs, each coming out again"), "{whole}");
    assert_eq!(test.run(["audit", "verify", "--replay", "--json"]).exits(0).json()["replayed"], 2);
    assert!(test.run(["audit", "verify", "--json"]).exits(0).json()["replayed"].is_null());

    // One that nobody can have given, with hashes that fit.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let home = Home::new(test.path().join(".local/state/backstop"));
        let store = SqliteStore::open(&home).await.unwrap();
        let last = AuditFilter { newest_first: true, limit: 1, ..AuditFilter::default() };
        let mut row = store.audit_list(&last).await.unwrap().remove(0).row;
        assert_eq!(row.decision, "HOLD");
        row.decision = "CONTINUE".to_owned();
        row.reason_code = None;
        store.audit_append(&[row]).await.unwrap();
    });
    test.run(["audit", "verify"]).exits(0);
    let found = test.run(["audit", "verify", "--replay", "--json"]).exits(65).json();
    let words = found["found"].as_str().unwrap();
    assert!(words.starts_with("row 6: HOLD MAX_ATTEMPTS comes out"), "{words}");
}

#[test]
fn policies_that_rows_name_must_be_there_as_they_were() {
    let test = answered();
    let database = test.path().join(".local/state/backstop/backstop.db");
    sql(&database, "CREATE TABLE kept AS SELECT * FROM policies");
    let damage = |statement: &str| {
        sql(&database, &format!("PRAGMA foreign_keys = OFF; {statement}"));
        let found = test.run(["audit", "verify", "--json"]).exits(65).json()["found"].to_string();
        sql(
            &database,
            "PRAGMA foreign_keys = OFF; DELETE FROM policies; \
             INSERT INTO policies SELECT * FROM kept",
        );
        found
    };
    let of_answers = "hash = (SELECT lawbook_hash FROM stop_decision_audit WHERE number = 4)";
    let changed = damage(&format!("UPDATE policies SET json = '{{}}' WHERE {of_answers}"));
    assert!(changed.contains("row 4 was decided by the policy sha256:"), "{changed}");
    assert!(changed.contains("does not have its hash"), "{changed}");
    let spoilt = damage(&format!("UPDATE policies SET json = '{{' WHERE {of_answers}"));
    assert!(spoilt.contains("row 4") && spoilt.contains("can't be loaded"), "{spoilt}");
    let gone = damage("DELETE FROM policies");
    assert!(gone.contains("row 1") && gone.contains("is not in the store any more"), "{gone}");
    test.run(["audit", "verify"]).exits(0);
}

#[test]
fn a_checkpoint_is_trusted_by_a_key_and_not_by_itself() {
    let test = decided();
    let own = test.run(["audit", "checkpoint"]).exits(0).stdout;
    let key = test.path().join(".local/state/backstop/audit.key");
    let kept = std::fs::read(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    let foreign = test.run(["audit", "checkpoint"]).exits(0).stdout;
    std::fs::write(&key, kept).unwrap();
    let test = test.file("own", &own).file("foreign", &foreign);
    let told = test.run(["audit", "verify", "--checkpoint", "own"]).exits(0).stdout;
    assert!(!told.contains("who signed"), "{told}");
    test.run(["audit", "verify", "--checkpoint", "foreign"])
        .refused(65, &["was signed by key", "this machine's own", "--key"]);
    let named = foreign.trim_end().rsplit(' ').nth(1).unwrap();
    test.run(["audit", "verify", "--checkpoint", "foreign", "--key", named]).exits(0);
    std::fs::remove_file(&key).unwrap();
    let told = test.run(["audit", "verify", "--checkpoint", "foreign"]).exits(0).stdout;
    assert!(told.contains("can't tell: who signed the checkpoint"), "{told}");
}

#[test]
fn an_export_has_every_row() {
    let test = decided();
    let lines = test.run(["audit", "export"]).exits(0).stdout;
    assert_eq!(lines.lines().count(), 3);
    assert_eq!(serde_json::from_str::<Json>(lines.lines().next().unwrap()).unwrap()["number"], 1);
    let table = test.run(["audit", "export", "--format", "csv", "--after", "2"]).exits(0).stdout;
    let mut table = table.lines();
    assert!(table.next().unwrap().starts_with("number,resource_owner,resource_repo"));
    let row = table.next().unwrap();
    assert!(row.starts_with("3,") && row.contains("\"[\"\""), "{row}");
    assert_eq!(table.next(), None);
}

#[test]
fn tokens_are_shown_once_and_can_be_revoked() {
    let test = Test::new();
    assert!(test.run(["token", "ls"]).exits(0).stderr.contains("no tokens"));
    let made = test.run(["token", "create", "--scope", "read,report", "--expires", "30d"]).exits(0);
    let secret = made.stdout.trim().to_owned();
    assert!(secret.starts_with("bks_") && secret.len() == 68, "{secret}");
    let named = ["token", "create", "--scope", "admin", "--name", "ci", "--json"];
    let object = test.run(named).exits(0).json();
    assert_eq!((&object["name"], &object["scopes"][0]), (&"ci".into(), &"admin".into()));
    let listed = test.run(["token", "ls"]).exits(0).stdout;
    assert!(listed.contains("read,report") && listed.contains("until 2"), "{listed}");
    assert!(!listed.contains(&secret[..12]), "{listed}");
    let id = object["id"].as_str().unwrap();
    test.run(["token", "revoke", id]).exits(0);
    test.run(["token", "revoke", id]).refused(65, &["was revoked before"]);
    test.run(["token", "revoke", "nobody"]).refused(66, &["no token `nobody`", "token ls"]);
    let listed = test.run(["token", "ls", "--json"]).exits(0).stdout;
    assert!(listed.lines().any(|line| line.contains(id) && line.contains("revoked_at\":\"2")));
    test.run(["token", "create", "--scope", "write"]).refused(64, &["write", "operate"]);
    test.run(["token", "create", "--scope", "read", "--expires", "0s"]).refused(64, &["0s"]);
    // Nothing of the secret is kept.
    let kept = std::fs::read(test.path().join(".local/state/backstop/backstop.db")).unwrap();
    let log = std::fs::read(test.path().join(".local/state/backstop/backstop.db-wal"));
    for bytes in [kept, log.unwrap_or_default()] {
        assert!(!bytes.windows(12).any(|window| window == &secret.as_bytes()[4..16]));
    }
}

#[test]
fn one_switch_stops_every_run_and_lets_none_start() {
    let test = Loop::new().variable("USER", "ann");
    let stays = test.start(["run", "--label", "team=other", "--", "sleep", "60"]);
    let goes = test.start(["run", "--label", "team=core", "--", "sleep", "60"]);
    wait_for("two runs", || {
        test.run(["ls", "--status", "running", "--json"]).stdout.lines().count() == 2
    });
    let script =
        test.run(["begin", "--preset", "pipeline", "--label", "team=core"]).exits(0).stdout;
    let halted = test.run(["halt", "--all", "--label", "team=core", "--why", "the bill"]).exits(0);
    assert!(halted.stdout.contains("2 runs are told to stop"), "{}", halted.stdout);
    let ended = goes.ends().exits(130);
    assert!(ended.stderr.contains("the bill"), "{}", ended.stderr);
    let unit = ["emit", "--run", script.trim(), "unit", "--id", "a", "--status", "approved"];
    test.run(unit).exits(130);
    for refused in [
        test.run(["run", "--label", "team=core", "--", "true"]),
        test.run(["begin", "--preset", "pipeline", "--label", "team=core"]),
        test.run(["resume", script.trim(), "--", "true"]),
    ] {
        assert_ne!(refused.code, Some(0));
    }
    test.run(["run", "--label", "team=core", "--", "true"])
        .refused(55, &["by order of ann", "the bill", "backstop release --all"]);
    let other = ["run", "--once", "--label", "team=other", "--", "true"];
    test.run(other).exits(0);
    test.run(["halt", "--all"]).exits(0);
    stays.ends().exits(130);
    test.run(other).exits(55);
    let released = test.run(["release", "--all"]).exits(0).stdout;
    assert!(released.contains("2 orders to halt taken back"), "{released}");
    test.run(other).exits(0);
    test.run(["halt"]).refused(64, &["--all"]);
    test.leaves_nothing();
}

#[test]
fn the_release_that_a_halt_tells_of_can_be_pasted() {
    let test = Test::new();
    let labels = ["--label", "team=core ops", "--label", "for=ann's"];
    let halted = test.run([&["halt", "--all"], &labels[..]].concat()).exits(0).stdout;
    let pasted = halted.split('`').nth(1).expect("a command");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", pasted]).env_clear().env("HOME", test.path());
    shell.env("PATH", Path::new(BINARY).parent().expect("a folder"));
    let released = Ended::new(&shell.output().expect("a shell")).exits(0).stdout;
    assert!(released.contains("1 order to halt taken back"), "{pasted}: {released}");
}

#[test]
fn who_obeys_before_anybody_can_look_was_told_to_stop_too() {
    let test = Test::new();
    let run = test.run(["begin", "--preset", "pipeline"]).exits(0).stdout;
    // As quick as nothing else can be.
    sql(
        &test.path().join(".local/state/backstop/backstop.db"),
        "CREATE TRIGGER obeys AFTER INSERT ON halt_orders \
         BEGIN UPDATE runs SET status = 'stopped'; END",
    );
    let halted = test.run(["halt", "--all"]).exits(0).stdout;
    assert!(halted.starts_with("1 run is told to stop;"), "{halted}");
    assert!(halted.ends_with(&format!("  {}\n", run.trim())), "{halted}");
}

#[test]
fn a_release_of_all_lets_go_what_is_held() {
    let test = decided();
    let released = test.run(["release", "--all", "--why", "looked at"]).exits(0).stdout;
    assert!(released.contains("1 held run released"), "{released}");
    assert_eq!(test.run(["show", "latest", "--json"]).exits(0).json()["run_status"], "stopped");
    test.run(["release"]).refused(64, &["<RUN"]);
    test.run(["release", "latest", "--all"]).refused(64, &["--all"]);
}
