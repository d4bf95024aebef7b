-- The service that works on a delivery; none when that is done, as it is of all from before.
ALTER TABLE deliveries ADD COLUMN taken_by TEXT;
