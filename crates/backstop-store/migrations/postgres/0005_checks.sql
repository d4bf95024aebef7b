-- Failures of checks, of which nobody but this table numbers the attempts: which one it is, and whether
-- the check has passed since.
ALTER TABLE failure_signals
    ADD COLUMN check_run BIGINT,
    ADD COLUMN ended_at  BIGINT,
    ADD COLUMN outdated  BOOLEAN NOT NULL DEFAULT FALSE;

CREATE UNIQUE INDEX failure_signals_of_checks ON failure_signals
    (owner, repo, workflow_run_id, job, pr_number, check_run, ended_at)
    WHERE check_run IS NOT NULL;
