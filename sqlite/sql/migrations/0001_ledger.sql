-- The ledger's first shape. Statements are parted by blank lines.
--
-- Times are INTEGER nanoseconds since 1970 (UTC); identifiers are TypeIDs as text, so that a person can read the file.
-- num is the sequence number of an operation's first timeline entry: it rises in commit order and is never used again,
-- and everything that belongs to an operation hangs on it.
-- Foreign keys are not declared: children are written in their parent's transaction by one writer, history and claims
-- will outlive the operations that they speak of, and each declared key costs a look-up on the hot path.

PRAGMA application_id = 263147794;

-- What identifies this copy of the data (I13a, M29).
CREATE TABLE installation (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    deployment TEXT NOT NULL CHECK (deployment <> ''),
    epoch INTEGER NOT NULL CHECK (epoch >= 1),
    made_at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER installation_stays BEFORE DELETE ON installation BEGIN
    SELECT RAISE(ABORT, 'the installation record stays');
END;

CREATE TRIGGER installation_is_one BEFORE UPDATE OF deployment ON installation BEGIN
    SELECT RAISE(ABORT, 'a deployment id never changes (I13a)');
END;

-- The check value of each fingerprint secret in use (I8).
CREATE TABLE secret_check (
    key_id TEXT NOT NULL PRIMARY KEY CHECK (key_id <> ''),
    check_value TEXT NOT NULL CHECK (check_value <> ''),
    noted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE workspace (
    name TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE token (
    id TEXT NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL CHECK (hash <> ''),
    workspace TEXT NOT NULL,
    name TEXT NOT NULL CHECK (name <> ''),
    roles TEXT NOT NULL,
    connections TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX token_by_hash ON token (hash);

CREATE INDEX token_by_workspace ON token (workspace, created_at);

CREATE TABLE document (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('capability', 'target', 'connection')),
    workspace TEXT NOT NULL CHECK ((kind = 'connection') = (workspace <> '')),
    name TEXT NOT NULL CHECK (name <> ''),
    version INTEGER NOT NULL CHECK (version >= 1),
    source BLOB NOT NULL,
    canonical BLOB NOT NULL,
    published_at INTEGER NOT NULL,
    published_by TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX document_by_version ON document (kind, workspace, name, version);

CREATE TRIGGER document_is_immutable BEFORE UPDATE ON document BEGIN
    SELECT RAISE(ABORT, 'a published version never changes (I12)');
END;

-- Who ran this file, one line for each runner (M12a).
CREATE TABLE runner (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    worker TEXT NOT NULL CHECK (worker <> ''),
    taken_at INTEGER NOT NULL,
    released_at INTEGER
) STRICT;

-- One row for each connection that ever carried an operation or was paused.
CREATE TABLE connection_state (
    num INTEGER NOT NULL PRIMARY KEY,
    workspace TEXT NOT NULL CHECK (workspace <> ''),
    name TEXT NOT NULL CHECK (name <> ''),
    paused_since INTEGER,
    paused_by_kind TEXT NOT NULL DEFAULT '',
    paused_by TEXT NOT NULL DEFAULT '',
    paused_reason TEXT NOT NULL DEFAULT '',
    paused_total INTEGER NOT NULL DEFAULT 0 CHECK (paused_total >= 0)
) STRICT;

CREATE UNIQUE INDEX connection_state_by_name ON connection_state (workspace, name);

CREATE INDEX connection_state_paused ON connection_state (paused_since) WHERE paused_since IS NOT NULL;

-- The claims that hold a key, unique for all time (I2): the digest is of workspace, capability and key.
CREATE TABLE claim (
    digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 16),
    key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    operation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The claims that were released (M24, I7), so that an operation is found by a key that it no longer holds.
CREATE TABLE released_claim (
    digest BLOB NOT NULL CHECK (length(digest) = 16),
    operation INTEGER NOT NULL,
    key TEXT NOT NULL,
    released_at INTEGER NOT NULL,
    PRIMARY KEY (digest, operation)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER claim_is_bound BEFORE UPDATE ON claim BEGIN
    SELECT RAISE(ABORT, 'a claim is never bound to another operation (I2)');
END;

CREATE TRIGGER claim_is_not_lost BEFORE DELETE ON claim
WHEN NOT EXISTS (SELECT 1 FROM released_claim AS r WHERE r.digest = OLD.digest AND r.operation = OLD.operation)
BEGIN
    SELECT RAISE(ABORT, 'a claim is let go by a recorded release and by nothing else (I7)');
END;

-- What was fixed at admission. released is the one column that ever changes (I7).
CREATE TABLE operation (
    num INTEGER NOT NULL PRIMARY KEY,
    id TEXT NOT NULL,
    workspace TEXT NOT NULL CHECK (workspace <> ''),
    capability TEXT NOT NULL CHECK (capability <> ''),
    contract_version INTEGER NOT NULL,
    target TEXT NOT NULL,
    target_version INTEGER NOT NULL,
    connection INTEGER NOT NULL,
    key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    submitted_by TEXT NOT NULL,
    revision TEXT,
    not_before TEXT,
    start_deadline TEXT,
    metadata TEXT,
    fingerprint TEXT NOT NULL,
    fingerprint_key TEXT NOT NULL,
    identity TEXT,
    reference TEXT,
    identity_counter INTEGER NOT NULL CHECK (identity_counter >= 0),
    owner TEXT NOT NULL,
    key_retention INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    released INTEGER NOT NULL CHECK (released IN (0, 1))
) STRICT;

CREATE UNIQUE INDEX operation_by_id ON operation (id);

-- I13a: unique within the connection among operations that hold their key.
CREATE UNIQUE INDEX operation_by_identity ON operation (identity, connection) WHERE released = 0;

CREATE UNIQUE INDEX operation_by_reference ON operation (reference, connection) WHERE released = 0;

CREATE INDEX operation_by_released_identity ON operation (identity) WHERE released = 1;

CREATE INDEX operation_by_released_reference ON operation (reference) WHERE released = 1;

CREATE INDEX operation_by_time ON operation (workspace, created_at);

CREATE INDEX operation_by_capability ON operation (workspace, capability, created_at);

CREATE INDEX operation_by_connection ON operation (connection, created_at);

CREATE TRIGGER operation_is_fixed BEFORE UPDATE ON operation
WHEN OLD.released = 1 OR NEW.released = 0 OR NEW.num <> OLD.num OR NEW.id <> OLD.id OR NEW.identity IS NOT OLD.identity
    OR NEW.reference IS NOT OLD.reference OR NEW.fingerprint <> OLD.fingerprint OR NEW.key <> OLD.key
BEGIN
    SELECT RAISE(ABORT, 'what was admitted never changes (M1)');
END;

-- The approved request as submitted (I13), kept apart because its retention is its own (I15).
CREATE TABLE payload (
    operation INTEGER NOT NULL PRIMARY KEY,
    request BLOB NOT NULL
) STRICT;

CREATE TRIGGER payload_is_fixed BEFORE UPDATE ON payload BEGIN
    SELECT RAISE(ABORT, 'the approved request never changes (I13)');
END;

-- The outgoing request, built once (M2a).
CREATE TABLE frozen (
    operation INTEGER NOT NULL PRIMARY KEY,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    headers TEXT NOT NULL,
    body BLOB,
    digest TEXT NOT NULL,
    timeout INTEGER NOT NULL
) STRICT;

CREATE TRIGGER frozen_is_fixed BEFORE UPDATE ON frozen BEGIN
    SELECT RAISE(ABORT, 'the frozen request never changes (M2a)');
END;

-- Every operation to which anything may still happen (Operation.Live), and no other: small, hot, and the list of what
-- recovery looks at. standing is the whole truth as JSON; the columns repeat what is searched for and what a row can be
-- held to. sends tells whether the next step would send (begin a write or a replay), which a pause forbids.
CREATE TABLE live_operation (
    operation INTEGER NOT NULL PRIMARY KEY,
    workspace TEXT NOT NULL,
    connection INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('prepared', 'attempting', 'uncertain', 'confirmed', 'rejected', 'canceled')),
    version INTEGER NOT NULL CHECK (version >= 0),
    sends INTEGER NOT NULL CHECK (sends IN (0, 1)),
    due_at INTEGER,
    wake_at INTEGER,
    lease_token INTEGER,
    lease_worker TEXT,
    lease_until INTEGER,
    open_attempts INTEGER NOT NULL CHECK (open_attempts >= 0),
    unresolved INTEGER NOT NULL CHECK (unresolved IN (0, 1)),
    contradicted INTEGER NOT NULL CHECK (contradicted IN (0, 1)),
    result_reference TEXT,
    standing TEXT NOT NULL,
    CHECK ((lease_token IS NULL) = (lease_until IS NULL) AND (lease_token IS NULL) = (lease_worker IS NULL)),
    CHECK (state <> 'attempting' OR (lease_token IS NOT NULL AND open_attempts > 0)),
    CHECK (state <> 'prepared' OR open_attempts = 0),
    CHECK (state IN ('prepared', 'attempting', 'uncertain') OR (lease_token IS NULL AND due_at IS NULL)),
    CHECK (state <> 'confirmed' OR (result_reference IS NOT NULL AND result_reference <> '')),
    CHECK (unresolved = 0 OR state = 'uncertain')
) STRICT;

CREATE INDEX live_operation_due ON live_operation (connection, sends, due_at)
WHERE due_at IS NOT NULL AND lease_token IS NULL;

CREATE INDEX live_operation_wake ON live_operation (wake_at) WHERE wake_at IS NOT NULL;

CREATE INDEX live_operation_leased ON live_operation (operation) WHERE lease_token IS NOT NULL;

CREATE INDEX live_operation_attempts ON live_operation (operation) WHERE open_attempts > 0;

CREATE INDEX live_operation_unresolved ON live_operation (connection) WHERE unresolved = 1;

CREATE INDEX live_operation_contradicted ON live_operation (workspace) WHERE contradicted = 1;

CREATE INDEX live_operation_result ON live_operation (result_reference) WHERE result_reference IS NOT NULL;

CREATE INDEX live_operation_by_state ON live_operation (workspace, state, created_at);

CREATE TRIGGER live_operation_stays_settled BEFORE UPDATE OF state ON live_operation
WHEN NEW.state <> OLD.state AND OLD.state IN ('confirmed', 'rejected', 'canceled')
    AND NOT (OLD.contradicted = 1 AND NEW.state = 'confirmed')
BEGIN
    SELECT RAISE(ABORT, 'a settled operation changes by a resolved contradiction alone (M20)');
END;

CREATE TRIGGER live_operation_is_not_lost BEFORE DELETE ON live_operation
WHEN NOT EXISTS (SELECT 1 FROM finished_operation AS f WHERE f.operation = OLD.operation)
BEGIN
    SELECT RAISE(ABORT, 'a live operation leaves by being finished and by nothing else');
END;

-- Every operation that is over: written once. Late evidence that disagrees moves it back among the live ones (M20).
CREATE TABLE finished_operation (
    operation INTEGER NOT NULL PRIMARY KEY,
    workspace TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    settled_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('confirmed', 'rejected', 'canceled')),
    version INTEGER NOT NULL CHECK (version >= 1),
    result_reference TEXT,
    standing TEXT NOT NULL,
    CHECK ((state = 'confirmed') = (result_reference IS NOT NULL AND result_reference <> ''))
) STRICT;

CREATE INDEX finished_operation_by_state ON finished_operation (workspace, state, created_at);

CREATE INDEX finished_operation_result ON finished_operation (result_reference) WHERE result_reference IS NOT NULL;

-- How many operations of a workspace are finished, so that counting them does not read them.
CREATE TABLE finished_tally (
    workspace TEXT NOT NULL,
    state TEXT NOT NULL,
    operations INTEGER NOT NULL,
    PRIMARY KEY (workspace, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE evidence (
    num INTEGER NOT NULL PRIMARY KEY,
    operation INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    asserts TEXT NOT NULL CHECK (asserts IN ('effect_exists', 'no_effect', 'nothing')),
    seen_at INTEGER NOT NULL,
    document TEXT NOT NULL
) STRICT;

CREATE INDEX evidence_by_operation ON evidence (operation);

CREATE TRIGGER evidence_is_kept BEFORE UPDATE ON evidence BEGIN
    SELECT RAISE(ABORT, 'evidence is only ever added');
END;

-- The events that a connection has delivered: the same one again changes nothing (M17).
CREATE TABLE delivered_event (
    connection INTEGER NOT NULL,
    source TEXT NOT NULL,
    event TEXT NOT NULL CHECK (event <> ''),
    PRIMARY KEY (connection, source, event)
) STRICT, WITHOUT ROWID;

-- The last sequence number that was given, written once for each transaction. A table of its own instead of SQLite's
-- AUTOINCREMENT, which writes such a row for each entry and costs a fourteenth of an admission.
CREATE TABLE sequence (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL CHECK (last >= 0)
) STRICT;

INSERT INTO sequence (one, last) VALUES (1, 0);

CREATE TRIGGER sequence_rises BEFORE UPDATE ON sequence WHEN NEW.last <= OLD.last BEGIN
    SELECT RAISE(ABORT, 'a sequence number is given once');
END;

-- seq is the order of commits, because one writer at a time gives it (M28).
CREATE TABLE timeline (
    seq INTEGER NOT NULL PRIMARY KEY,
    operation INTEGER NOT NULL,
    workspace TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor_kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    event TEXT NOT NULL,
    rule TEXT,
    from_state TEXT,
    to_state TEXT,
    version INTEGER NOT NULL,
    evidence TEXT,
    attempt TEXT,
    review TEXT,
    detail TEXT,
    reason TEXT,
    pointers TEXT
) STRICT;

CREATE INDEX timeline_by_operation ON timeline (operation);

CREATE INDEX timeline_by_workspace ON timeline (workspace);

CREATE INDEX timeline_notes ON timeline (operation) WHERE event = 'noted';

CREATE TRIGGER timeline_is_kept BEFORE UPDATE ON timeline BEGIN
    SELECT RAISE(ABORT, 'the timeline is only ever added to (M28)');
END;

-- The reviews of all operations, for listing; the operation's standing holds them too and both are written together.
CREATE TABLE review (
    num INTEGER NOT NULL PRIMARY KEY,
    id TEXT NOT NULL,
    operation INTEGER NOT NULL,
    workspace TEXT NOT NULL,
    reason TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'resolved')),
    owner TEXT NOT NULL CHECK (owner <> ''),
    opened_at INTEGER NOT NULL,
    document TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX review_by_id ON review (id);

CREATE INDEX review_by_workspace ON review (workspace, opened_at);

CREATE INDEX review_by_status ON review (workspace, status, opened_at);

CREATE INDEX review_by_owner ON review (workspace, owner, opened_at);
