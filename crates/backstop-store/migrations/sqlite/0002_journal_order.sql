-- Events lie in the order in which they are written, run by run, under one number each. Appending
-- then touches the last page of a journal, where a tree of names would be split and balanced: fewer
-- pages for every commit to write and to wait for.

CREATE TABLE journals (
    number INTEGER PRIMARY KEY,
    run    TEXT NOT NULL UNIQUE REFERENCES runs (id)
) STRICT;

INSERT INTO journals (run) SELECT id FROM runs ORDER BY created_at, id;

CREATE TRIGGER journal_of_run AFTER INSERT ON runs
BEGIN
    INSERT INTO journals (run) VALUES (NEW.id);
END;

DROP TRIGGER append;

ALTER TABLE events RENAME TO events_by_name;

CREATE TABLE events (
    -- The journal's number, and below it 36 bits for the event's: an age of the world of events.
    place    INTEGER PRIMARY KEY,
    run      TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    body     TEXT    NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;

INSERT INTO events (place, run, seq, at, kind, body, checksum)
SELECT (number << 36) | seq, run, seq, at, kind, body, checksum
FROM journals JOIN events_by_name USING (run)
ORDER BY number, seq;

DROP TABLE events_by_name;

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
END;
