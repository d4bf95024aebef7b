-- Which services answer for this store, and for how long they are believed to without another word.
CREATE TABLE services (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
