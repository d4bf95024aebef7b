-- The service that works on a delivery; none when that is done, as it is of all from before.
ALTER TABLE deliveries ADD COLUMN taken_by TEXT;

-- Counts come from the audit alone: only the trigger that follows its rows changes them, and what it
-- does is one level deeper than what anybody else does.
CREATE FUNCTION stop_decision_counts_are_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() < 2 THEN
        RAISE EXCEPTION 'the counts follow the audit: % is refused', TG_OP;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER stop_decision_counts_follow_the_audit
    BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON stop_decision_counts
    FOR EACH STATEMENT EXECUTE FUNCTION stop_decision_counts_are_kept();
