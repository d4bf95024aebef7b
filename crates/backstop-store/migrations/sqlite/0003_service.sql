-- What a service for many machines keeps beside the runs: the audit, who may ask, which policies are
-- in force, what people were asked, and the order to halt.

-- Nothing here is ever changed: the triggers below refuse it. A row's hash covers all of its columns
-- and the hash before it. Times are RFC 3339 in UTC to the microsecond, for people who read this with
-- other tools; lists and evidence are JSON.
CREATE TABLE stop_decision_audit (
    number                INTEGER PRIMARY KEY,
    resource_owner        TEXT,
    resource_repo         TEXT,
    pr_number             INTEGER,
    workflow_run_id       INTEGER,
    request_id            TEXT    NOT NULL,
    decision              TEXT    NOT NULL,
    reason_code           TEXT,
    reasons               TEXT    NOT NULL,
    recommended_next_step TEXT    NOT NULL,
    failure_class         TEXT,
    current_job_attempts  INTEGER,
    total_pr_attempts     INTEGER,
    lawbook_hash          TEXT,
    lawbook_version       TEXT,
    applied_rules         TEXT    NOT NULL,
    evidence              TEXT    NOT NULL,
    created_at            TEXT    NOT NULL,
    run                   TEXT,
    run_seq               INTEGER,
    actor                 TEXT    NOT NULL,
    previous_hash         BLOB    NOT NULL,
    hash                  BLOB    NOT NULL
) STRICT;

CREATE INDEX idx_stop_decision_audit_pr
    ON stop_decision_audit (resource_owner, resource_repo, pr_number, number);
CREATE INDEX idx_stop_decision_audit_request ON stop_decision_audit (request_id);
CREATE INDEX idx_stop_decision_audit_decision ON stop_decision_audit (decision, created_at);
CREATE INDEX idx_stop_decision_audit_reason
    ON stop_decision_audit (created_at, decision, reason_code);

CREATE TRIGGER stop_decision_audit_is_not_updated BEFORE UPDATE ON stop_decision_audit
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only: a row is never updated');
END;

CREATE TRIGGER stop_decision_audit_is_not_deleted BEFORE DELETE ON stop_decision_audit
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only: a row is never deleted');
END;

-- An insert that replaces a row would pass the triggers above.
CREATE TRIGGER stop_decision_audit_is_appended BEFORE INSERT ON stop_decision_audit
WHEN NEW.number <> 1 + coalesce((SELECT max(number) FROM stop_decision_audit), 0)
BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only: a row follows the last one');
END;

CREATE VIEW recent_stop_decisions AS
SELECT number, resource_owner || '/' || resource_repo AS repository, pr_number, workflow_run_id,
    request_id, decision, reason_code, reasons, recommended_next_step, failure_class,
    current_job_attempts, total_pr_attempts, lawbook_version, run, actor, created_at
FROM stop_decision_audit ORDER BY number DESC LIMIT 100;

CREATE VIEW active_hold_decisions AS
SELECT number, resource_owner || '/' || resource_repo AS repository, pr_number, workflow_run_id,
    request_id, reason_code, reasons, recommended_next_step, failure_class, current_job_attempts,
    total_pr_attempts, run, actor, created_at
FROM stop_decision_audit
WHERE decision = 'HOLD' AND created_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')
ORDER BY created_at DESC;

CREATE VIEW stop_decision_analytics AS
SELECT decision, reason_code, count(*) AS decision_count, max(created_at) AS last_occurred_at
FROM stop_decision_audit
WHERE created_at >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days')
GROUP BY decision, reason_code ORDER BY decision_count DESC;

CREATE TABLE tokens (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    hash       BLOB    NOT NULL UNIQUE,
    scopes     TEXT    NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

CREATE TABLE policy_activations (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    scope       TEXT    NOT NULL,
    policy_hash TEXT    REFERENCES policies (hash),
    by          TEXT    NOT NULL,
    at          INTEGER NOT NULL
) STRICT;

CREATE INDEX policy_activations_by_scope ON policy_activations (scope, number);
CREATE INDEX policies_by_age ON policies (put_at, hash);

CREATE TABLE failure_signals (
    number          INTEGER PRIMARY KEY AUTOINCREMENT,
    owner           TEXT    NOT NULL,
    repo            TEXT    NOT NULL,
    pr_number       INTEGER NOT NULL,
    job             TEXT    NOT NULL,
    workflow_run_id INTEGER NOT NULL,
    attempt         INTEGER NOT NULL,
    hash            TEXT    NOT NULL,
    class           TEXT,
    at              INTEGER NOT NULL,
    UNIQUE (owner, repo, pr_number, job, workflow_run_id, attempt)
) STRICT;

CREATE TABLE deliveries (
    id TEXT    NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE halt_orders (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    labels      TEXT    NOT NULL,
    why         TEXT,
    by          TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    released_by TEXT,
    released_at INTEGER
) STRICT;

CREATE INDEX halt_orders_in_force ON halt_orders (number) WHERE released_at IS NULL;

-- What was answered to whom, so that the same request again gets the same answer and adds nothing.
CREATE TABLE receipts (
    run    TEXT NOT NULL REFERENCES runs (id),
    key    TEXT NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

ALTER TABLE inbox ADD COLUMN key TEXT;
CREATE UNIQUE INDEX inbox_keys ON inbox (run, key) WHERE key IS NOT NULL;

-- Questions to people and what became of them; the events are the journal's own.
CREATE TABLE interventions (
    run         TEXT    NOT NULL REFERENCES runs (id),
    seq         INTEGER NOT NULL,
    asked_at    INTEGER NOT NULL,
    asked       TEXT    NOT NULL,
    answered_at INTEGER,
    answered    TEXT,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX interventions_open ON interventions (asked_at) WHERE answered_at IS NULL;

INSERT INTO interventions (run, seq, asked_at, asked)
SELECT run, seq, at, body FROM events WHERE kind = 'asked';

UPDATE interventions SET (answered_at, answered) = (
    SELECT at, body FROM events
    WHERE events.run = interventions.run AND kind = 'answered' AND events.seq > interventions.seq
    ORDER BY place LIMIT 1
);

DROP TRIGGER append;
DROP VIEW appends;

CREATE VIEW appends (
    run, epoch, events, decisions, snapshot_seq, snapshot_facts, snapshot_checksum,
    at, status, state, policy_hash, receipt_key, receipt
) AS SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL WHERE FALSE;

CREATE TRIGGER append INSTEAD OF INSERT ON appends
BEGIN
    SELECT RAISE(ABORT, 'fenced')
    WHERE NEW.epoch IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM leases
        WHERE run = NEW.run AND epoch = NEW.epoch AND released = 0
    );

    SELECT RAISE(ABORT, 'an event does not follow the last one of its journal')
    FROM (SELECT number << 36 AS start FROM journals WHERE run = NEW.run)
    WHERE NEW.events ->> '$[0][0]' <> 1 + coalesce((
        SELECT seq FROM events
        WHERE place > start AND place < start + (1 << 36) ORDER BY place DESC LIMIT 1
    ), 0);

    INSERT INTO events (place, run, seq, at, kind, body, checksum)
    SELECT (SELECT number << 36 FROM journals WHERE run = NEW.run) | (value ->> 0),
        NEW.run, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
    FROM jsonb_each(NEW.events);

    INSERT INTO decisions (run, seq, at, verdict, reason, policy_hash, body, checksum)
    SELECT NEW.run, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
        value ->> 6
    FROM jsonb_each(NEW.decisions);

    INSERT INTO snapshots (run, seq, facts, checksum)
    SELECT NEW.run, NEW.snapshot_seq, NEW.snapshot_facts, NEW.snapshot_checksum
    WHERE NEW.snapshot_seq IS NOT NULL
    ON CONFLICT (run) DO UPDATE SET
        seq = excluded.seq, facts = excluded.facts, checksum = excluded.checksum;

    UPDATE runs SET
        updated_at = NEW.at, status = NEW.status, state = NEW.state, policy_hash = NEW.policy_hash
    WHERE id = NEW.run AND NEW.status IS NOT NULL;

    INSERT INTO receipts (run, key, answer)
    SELECT NEW.run, NEW.receipt_key, NEW.receipt WHERE NEW.receipt_key IS NOT NULL;
END;

CREATE TRIGGER question_is_asked AFTER INSERT ON events WHEN NEW.kind = 'asked'
BEGIN
    INSERT INTO interventions (run, seq, asked_at, asked)
    VALUES (NEW.run, NEW.seq, NEW.at, NEW.body);
END;

CREATE TRIGGER question_is_answered AFTER INSERT ON events WHEN NEW.kind = 'answered'
BEGIN
    UPDATE interventions SET answered_at = NEW.at, answered = NEW.body
    WHERE run = NEW.run AND answered_at IS NULL;
END;
