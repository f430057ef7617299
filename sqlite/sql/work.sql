-- The connections with scheduled work, jumping from one to the next, and when the first of it is due: what sends and
-- what does not, apart, because a pause stops the one and not the other.
-- name: work.busy
-- index: live_operation_due
WITH RECURSIVE busy (connection) AS (
    SELECT min(l.connection) FROM live_operation AS l WHERE l.due_at IS NOT NULL AND l.lease_token IS NULL
    UNION ALL
    SELECT (
        SELECT min(l.connection) FROM live_operation AS l
        WHERE l.due_at IS NOT NULL AND l.lease_token IS NULL AND l.connection > busy.connection
    )
    FROM busy WHERE busy.connection IS NOT NULL
)
SELECT c.num, c.workspace, c.name, c.paused_since IS NOT NULL,
    (SELECT min(l.due_at) FROM live_operation AS l
        WHERE l.connection = c.num AND l.sends = 0 AND l.due_at IS NOT NULL AND l.lease_token IS NULL),
    (SELECT min(l.due_at) FROM live_operation AS l
        WHERE l.connection = c.num AND l.sends = 1 AND l.due_at IS NOT NULL AND l.lease_token IS NULL)
FROM busy CROSS JOIN connection_state AS c ON c.num = busy.connection;

-- name: work.due
-- index: live_operation_due
SELECT o.id, l.due_at
FROM live_operation AS l INDEXED BY live_operation_due CROSS JOIN operation AS o ON o.num = l.operation
WHERE l.connection = ?1 AND l.sends = ?2 AND l.due_at <= ?3 AND l.due_at IS NOT NULL AND l.lease_token IS NULL
ORDER BY l.due_at
LIMIT ?4;

-- When the row of a live operation says that it is due, and whether that it is leased.
-- name: work.row
-- index: operation_by_id
SELECT l.due_at, l.lease_token FROM operation AS o CROSS JOIN live_operation AS l ON l.operation = o.num WHERE o.id = ?1;

-- name: work.overdue
-- index: live_operation_wake
WITH page AS (
    SELECT operation AS num FROM live_operation INDEXED BY live_operation_wake
    WHERE wake_at <= ?1 AND wake_at IS NOT NULL
    ORDER BY wake_at
    LIMIT ?2
)
{operation.loaded};

-- name: work.leased
-- index: INTEGER PRIMARY KEY
WITH page AS (
    SELECT operation AS num FROM live_operation NOT INDEXED
    WHERE lease_token IS NOT NULL AND operation > ?1
    ORDER BY operation
    LIMIT ?2
)
{operation.loaded};

-- name: work.unclosed
-- index: INTEGER PRIMARY KEY
WITH page AS (
    SELECT operation AS num FROM live_operation NOT INDEXED
    WHERE open_attempts > 0 AND operation > ?1
    ORDER BY operation
    LIMIT ?2
)
{operation.loaded};

-- name: runner.insert
INSERT INTO runner (worker, taken_at, unproven) VALUES (?1, ?2, ?3) RETURNING seq;

-- The runners whose end the present one's place proves: those from the last on that proved nothing about earlier ones.
-- name: runner.proven
-- index: INTEGER PRIMARY KEY
SELECT DISTINCT r.worker FROM runner AS r WHERE r.seq >= ?1;

-- name: runner.unproven
SELECT coalesce(max(r.seq), 0) FROM runner AS r WHERE r.unproven = 1;

-- name: runner.release
UPDATE runner SET released_at = ?2 WHERE seq = ?1;

-- name: connection.find
-- index: connection_state_by_name
SELECT num, paused_since, paused_total FROM connection_state WHERE workspace = ?1 AND name = ?2;

-- name: connection.insert
INSERT INTO connection_state (workspace, name) VALUES (?1, ?2) RETURNING num;

-- name: connection.pause
-- index: INTEGER PRIMARY KEY
UPDATE connection_state SET paused_since = ?2, paused_by_kind = ?3, paused_by = ?4, paused_reason = ?5 WHERE num = ?1;

-- name: connection.resume
-- index: INTEGER PRIMARY KEY
UPDATE connection_state SET paused_since = NULL, paused_by_kind = ?2, paused_by = ?3, paused_reason = ?4, paused_total = ?5
WHERE num = ?1;

-- name: connection.paused
-- index: connection_state_paused
SELECT workspace, name, paused_since, paused_by_kind, paused_by, paused_reason
FROM connection_state INDEXED BY connection_state_paused
WHERE paused_since IS NOT NULL AND (?1 = '' OR workspace = ?1)
ORDER BY workspace, name;

-- name: stats.live
-- index: live_operation_by_state
-- index: live_operation_wake
SELECT l.state, count(*), sum(l.contradicted), sum(l.open_attempts), sum(coalesce(l.lease_until <= ?2, 0))
FROM live_operation AS l INDEXED BY live_operation_by_state
WHERE l.workspace = ?1 AND l.state <> 'attempting' GROUP BY l.state
UNION ALL
SELECT l.state, count(*), sum(l.contradicted), sum(l.open_attempts), sum(coalesce(l.lease_until <= ?2, 0))
FROM live_operation AS l INDEXED BY live_operation_wake
WHERE l.wake_at IS NOT NULL AND l.state = 'attempting' AND l.workspace = ?1 GROUP BY l.state;

-- name: stats.finished
-- index: PRIMARY KEY
SELECT state, operations FROM finished_tally WHERE workspace = ?1;

-- name: stats.unresolved
-- index: live_operation_unresolved
SELECT c.name, count(*)
FROM connection_state AS c CROSS JOIN live_operation AS l ON l.connection = c.num AND l.unresolved = 1
WHERE c.workspace = ?1 GROUP BY c.name;

-- name: stats.oldest
-- index: live_operation_by_state
SELECT o.id, l.created_at
FROM live_operation AS l INDEXED BY live_operation_by_state CROSS JOIN operation AS o ON o.num = l.operation
WHERE l.workspace = ?1 AND l.state = 'uncertain' AND l.state <> 'attempting' ORDER BY l.created_at, l.operation LIMIT 1;

-- name: stats.reviews
-- index: review_by_status
SELECT count(*) FROM review WHERE workspace = ?1 AND status = 'open';
