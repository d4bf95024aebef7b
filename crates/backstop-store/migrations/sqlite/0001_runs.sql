-- Times are nanoseconds since 1970. A checksum is of what stands beside it, seeded with the sequence
-- number: SQLite notices a damaged page, but not a damaged letter.

CREATE TABLE policies (
    hash        TEXT    NOT NULL PRIMARY KEY,
    label       TEXT,
    json        TEXT    NOT NULL,
    source      TEXT,
    source_name TEXT    NOT NULL,
    put_by      TEXT    NOT NULL,
    put_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
    id          TEXT    NOT NULL PRIMARY KEY,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    cwd         TEXT    NOT NULL,
    command     TEXT    NOT NULL,
    labels      TEXT    NOT NULL,
    policy_hash TEXT    NOT NULL REFERENCES policies (hash),
    status      TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    launch      TEXT    NOT NULL,
    supervised  INTEGER NOT NULL,
    pruned      INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_by_age ON runs (created_at, id);

-- A journal is read and written from its end, so the order of the table is the order of the run.
CREATE TABLE events (
    run      TEXT    NOT NULL REFERENCES runs (id),
    seq      INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    body     TEXT    NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshots (
    run      TEXT    NOT NULL PRIMARY KEY REFERENCES runs (id),
    seq      INTEGER NOT NULL,
    facts    TEXT    NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;

CREATE TABLE decisions (
    run         TEXT    NOT NULL REFERENCES runs (id),
    seq         INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    verdict     TEXT    NOT NULL,
    reason      TEXT,
    policy_hash TEXT    NOT NULL REFERENCES policies (hash),
    body        TEXT    NOT NULL,
    checksum    INTEGER NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
    run        TEXT    NOT NULL PRIMARY KEY REFERENCES runs (id),
    epoch      INTEGER NOT NULL,
    holder     TEXT    NOT NULL,
    expires_at INTEGER NOT NULL,
    released   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run    TEXT NOT NULL REFERENCES runs (id),
    body   TEXT NOT NULL,
    answer TEXT
) STRICT;

CREATE INDEX inbox_unanswered ON inbox (run, number) WHERE answer IS NULL;

-- The one door to a journal: whatever is appended together is one statement, hence one transaction
-- and one wait for the disk, and the writer's epoch is checked inside it. A writer without an epoch
-- has looked at the lease itself, in the transaction around this.
CREATE VIEW appends (
    run, epoch, events, decisions, snapshot_seq, snapshot_facts, snapshot_checksum,
    at, status, state, policy_hash
) AS SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL WHERE FALSE;

CREATE TRIGGER append INSTEAD OF INSERT ON appends
BEGIN
    SELECT RAISE(ABORT, 'fenced')
    WHERE NEW.epoch IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM leases
        WHERE run = NEW.run AND epoch = NEW.epoch AND released = 0
    );

    SELECT RAISE(ABORT, 'an event does not follow the last one of its journal')
    WHERE NEW.events ->> '$[0][0]' <> 1 + coalesce(
        (SELECT seq FROM events WHERE run = NEW.run ORDER BY seq DESC LIMIT 1), 0
    );

    INSERT INTO events (run, seq, at, kind, body, checksum)
    SELECT NEW.run, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
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
END;
