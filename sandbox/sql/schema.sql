-- The sandbox's own file. Times are nanoseconds since 1970 UTC; booleans are 0 or 1.
-- Rows of requests and effects are only ever added (a request's outcome is filled in later): they are the witness.

CREATE TABLE requests (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    at              INTEGER NOT NULL,
    connection      INTEGER NOT NULL,
    method          TEXT    NOT NULL,
    path            TEXT    NOT NULL,
    query           TEXT    NOT NULL,
    account         TEXT    NOT NULL,
    collection      TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    reference       TEXT    NOT NULL,
    body_digest     TEXT    NOT NULL,
    body_bytes      INTEGER NOT NULL CHECK (body_bytes >= 0),
    complete        INTEGER NOT NULL CHECK (complete IN (0, 1)),
    outcome         TEXT    NOT NULL CHECK (outcome IN ('pending', 'answered', 'cut', 'dropped')),
    status          INTEGER NOT NULL CHECK (status BETWEEN 0 AND 599),
    fault           INTEGER NOT NULL DEFAULT 0,
    CHECK ((outcome IN ('pending', 'dropped')) = (status = 0))
) STRICT;

CREATE TABLE effects (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT    NOT NULL,
    account         TEXT    NOT NULL,
    collection      TEXT    NOT NULL,
    external_ref    TEXT    NOT NULL,
    reference       TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    visible_at      INTEGER NOT NULL CHECK (visible_at >= at),
    request_seq     INTEGER NOT NULL,
    record          TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX effects_by_id ON effects (collection, id);
CREATE INDEX effects_by_external_ref ON effects (account, collection, external_ref, seq);
CREATE INDEX effects_by_account ON effects (account, collection, seq);
CREATE INDEX effects_by_request ON effects (request_seq);

-- What was accepted for later: what becomes of it, and when. A row of effects without one was an effect at once.
CREATE TABLE settlements (
    effect INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    ends   TEXT    NOT NULL CHECK (ends IN ('settled', 'failed', 'pending'))
) STRICT;

CREATE TABLE counters (
    collection TEXT    PRIMARY KEY,
    last       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE answers (
    account         TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL,
    parameters      TEXT    NOT NULL,
    received_at     INTEGER NOT NULL,
    status          INTEGER NOT NULL CHECK (status BETWEEN 200 AND 499),
    body            TEXT    NOT NULL,
    PRIMARY KEY (account, idempotency_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE faults (
    number    INTEGER PRIMARY KEY AUTOINCREMENT,
    queued_at INTEGER NOT NULL,
    spec      TEXT    NOT NULL,
    remaining INTEGER NOT NULL CHECK (remaining >= 0),
    cleared   INTEGER NOT NULL DEFAULT 0 CHECK (cleared IN (0, 1))
) STRICT;

CREATE INDEX faults_queued ON faults (number) WHERE remaining > 0;

CREATE TABLE firings (
    fault       INTEGER NOT NULL,
    request_seq INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (fault, request_seq)
) STRICT, WITHOUT ROWID;
