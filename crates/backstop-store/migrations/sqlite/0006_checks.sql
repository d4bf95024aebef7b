-- Failures of checks, of which nobody but this table numbers the attempts: which one it is, and whether
-- the check has passed since.
ALTER TABLE failure_signals ADD COLUMN check_run INTEGER;
ALTER TABLE failure_signals ADD COLUMN ended_at INTEGER;
ALTER TABLE failure_signals ADD COLUMN outdated INTEGER NOT NULL DEFAULT 0;

CREATE UNIQUE INDEX failure_signals_of_checks ON failure_signals
    (owner, repo, workflow_run_id, job, pr_number, check_run, ended_at)
    WHERE check_run IS NOT NULL;
