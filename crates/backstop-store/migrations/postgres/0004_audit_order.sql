-- Rows are added behind the last one, and nowhere else. This is looked at once for each statement,
-- however many rows it adds: since no number is there twice, they are one after the other if there are
-- as many as fit between the first and the last.
CREATE FUNCTION stop_decision_audit_is_continued() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    first_added BIGINT;
    last_added  BIGINT;
    added_rows  BIGINT;
BEGIN
    SELECT min(number), max(number), count(*) INTO first_added, last_added, added_rows FROM added;
    IF first_added < 1
        OR last_added - first_added + 1 <> added_rows
        OR first_added > 1
            AND NOT EXISTS (SELECT FROM stop_decision_audit WHERE number = first_added - 1)
        OR last_added <> (SELECT max(number) FROM stop_decision_audit)
    THEN
        RAISE EXCEPTION 'the audit is append-only: a row follows the last one';
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER stop_decision_audit_is_appended AFTER INSERT ON stop_decision_audit
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION stop_decision_audit_is_continued();
