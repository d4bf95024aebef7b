//! Records to write in tests.

use std::collections::BTreeMap;

use backstop_core::id::RunId;
use backstop_core::state::RunStatus;
use backstop_core::time::Timestamp;
use serde_json::json;

use crate::audit::{JsonText, NewAuditRow};
use crate::lease::{Holder, Lease};
use crate::record::{
    Batch, DecisionRecord, NewEvent, Run, RunUpdate, Snapshot, StoredPolicy, Writer,
};

/// The time at which samples happen.
pub const TIME: Timestamp = Timestamp::from_nanos(1_780_000_000_123_456_789);

/// The same as an audit keeps it.
pub const TIME_OF_AUDIT: Timestamp = Timestamp::from_nanos(1_780_000_000_123_456_000);

pub use crate::clock::now;

/// A row for the audit with something in each of its columns.
pub fn audit_row(n: u64) -> NewAuditRow {
    NewAuditRow {
        resource_owner: Some("acme".to_owned()),
        resource_repo: Some("app".to_owned()),
        pr_number: Some(7),
        workflow_run_id: Some(1_000 + n),
        request_id: format!("request-{n}"),
        decision: "HOLD".to_owned(),
        reason_code: Some("MAX_ATTEMPTS".to_owned()),
        reasons: JsonText::stored(r#"[ "tried  twice", "\u0000 ü" ]"#.to_owned()),
        recommended_next_step: "WAIT".to_owned(),
        failure_class: Some("flaky".to_owned()),
        current_job_attempts: Some(2),
        total_pr_attempts: Some(n),
        lawbook_hash: Some(policy().hash),
        lawbook_version: Some("1".to_owned()),
        applied_rules: JsonText::of(&["a", "b"]),
        evidence: JsonText::stored(r#"{"z":1,"a":1.0,"z":2}"#.to_owned()),
        created_at: TIME_OF_AUDIT,
        run: Some(run_id(0)),
        run_seq: Some(n),
        actor: "ann".to_owned(),
    }
}

pub fn policy() -> StoredPolicy {
    StoredPolicy {
        hash: "5f2a".repeat(16),
        label: Some("nightly".to_owned()),
        json: r#"{"rules":[]}"#.to_owned(),
        source: Some("# nothing\n".to_owned()),
        source_name: "backstop.toml".to_owned(),
        put_by: "someone".to_owned(),
        put_at: TIME,
    }
}

/// The n-th run, each a second after the one before.
pub fn run(n: u32) -> Run {
    let created_at = Timestamp::from_nanos(TIME.as_nanos() + i64::from(n) * 1_000_000_000);
    Run {
        id: run_id(n),
        created_at,
        updated_at: created_at,
        cwd: "/work/project".to_owned(),
        command: vec!["agent".to_owned(), "--prompt".to_owned(), "näher\n'\"\u{1F600}".to_owned()],
        labels: BTreeMap::from([("team".to_owned(), "blue".to_owned())]),
        policy_hash: policy().hash,
        status: RunStatus::Running,
        state: json!({"run_status": "running", "z": 1, "a": [null, 0.1, 1e300]}),
        launch: json!({"once": false}),
        supervised: true,
        pruned: false,
    }
}

pub fn run_id(n: u32) -> RunId {
    RunId::new(1_780_000_000_123 + u64::from(n) * 1_000, n)
}

pub fn holder(pid: u32) -> Holder {
    Holder {
        host: "here".to_owned(),
        boot_id: "0b6a".to_owned(),
        pid,
        outer_pid: pid + 1,
        start_ticks: 7,
        outer_start_ticks: 6,
        cgroup: None,
        lease_ms: None,
    }
}

pub fn event(seq: u64) -> NewEvent {
    NewEvent {
        seq,
        at: Timestamp::from_nanos(TIME.as_nanos() + i64::try_from(seq).unwrap_or(0)),
        kind: "progress",
        body: format!(
            r#"{{"type":"progress","seq":{seq},"at":"2026-05-28T20:26:40Z","kind":"task","note":"\u0000 \" \\ ü"}}"#
        ),
    }
}

pub fn decision(seq: u64) -> DecisionRecord {
    DecisionRecord {
        seq,
        at: TIME,
        verdict: "stop".to_owned(),
        reason: seq.is_multiple_of(2).then(|| "max_iterations".to_owned()),
        policy_hash: policy().hash,
        body: r#"{"verdict":"stop"}"#.to_owned(),
    }
}

pub fn snapshot(seq: u64) -> Snapshot {
    Snapshot { seq, facts: format!(r#"{{"iterations":{seq}}}"#) }
}

pub fn update(status: RunStatus) -> RunUpdate {
    RunUpdate {
        at: Timestamp::from_nanos(TIME.as_nanos() + 5),
        status,
        state: json!({"run_status": status.as_str()}),
        policy_hash: policy().hash,
    }
}

/// Some events of a lease's run, and nothing else.
pub fn events(lease: &Lease, seqs: impl IntoIterator<Item = u64>) -> Batch {
    Batch {
        events: seqs.into_iter().map(event).collect(),
        ..Batch::new(lease.run, Writer::Supervisor(lease.clone()))
    }
}
