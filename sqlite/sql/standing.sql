-- name: live.insert
INSERT INTO live_operation (
    operation, workspace, connection, created_at, state, version, sends, due_at, wake_at, lease_token, lease_worker,
    lease_until, open_attempts, unresolved, contradicted, result_reference, standing
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17);

-- name: live.update
-- index: INTEGER PRIMARY KEY
UPDATE live_operation SET
    state = ?2, version = ?3, sends = ?4, due_at = ?5, wake_at = ?6, lease_token = ?7, lease_worker = ?8,
    lease_until = ?9, open_attempts = ?10, unresolved = ?11, contradicted = ?12, result_reference = ?13, standing = ?14
WHERE operation = ?1;

-- Where the state stays, the index over states is left alone.
-- name: live.update_in_state
-- index: INTEGER PRIMARY KEY
UPDATE live_operation SET
    version = ?2, sends = ?3, due_at = ?4, wake_at = ?5, lease_token = ?6, lease_worker = ?7,
    lease_until = ?8, open_attempts = ?9, unresolved = ?10, contradicted = ?11, result_reference = ?12, standing = ?13
WHERE operation = ?1;

-- name: live.delete
-- index: INTEGER PRIMARY KEY
DELETE FROM live_operation WHERE operation = ?1;

-- name: finished.insert
INSERT INTO finished_operation (
    operation, workspace, created_at, settled_at, state, version, result_reference, standing
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: finished.update
-- index: INTEGER PRIMARY KEY
UPDATE finished_operation SET version = ?2, standing = ?3 WHERE operation = ?1;

-- name: finished.delete
-- index: INTEGER PRIMARY KEY
DELETE FROM finished_operation WHERE operation = ?1;

-- name: result.keep_earlier
INSERT OR IGNORE INTO earlier_result (reference, operation) VALUES (?1, ?2);

-- The standings of many operations, by their numbers as a JSON array.
-- name: standing.known
-- index: INTEGER PRIMARY KEY
SELECT l.operation, l.standing FROM live_operation AS l WHERE l.operation IN (SELECT value FROM json_each(?1))
UNION ALL
SELECT f.operation, f.standing FROM finished_operation AS f WHERE f.operation IN (SELECT value FROM json_each(?1));

-- name: finished.count
INSERT INTO finished_tally (workspace, state, operations) VALUES (?1, ?2, ?3)
ON CONFLICT (workspace, state) DO UPDATE SET operations = operations + ?3;

-- How many operations of a connection are unresolved, counted up to a limit (M16a).
-- name: live.unresolved
-- index: live_operation_unresolved
SELECT count(*) FROM (SELECT 1 FROM live_operation WHERE connection = ?1 AND unresolved = 1 LIMIT ?2);

-- An operation of the same connection and capability, but for one, that has recorded a target's reference as its
-- result: a live one, else the latest. Of those that share the reference everywhere at most so many are looked at, the
-- latest first; where that is not enough to tell, the answer is an empty text.
-- name: result.recorded
-- index: live_operation_result
-- index: finished_operation_result
SELECT id FROM (
    SELECT o.id AS id
    FROM (
        SELECT l.operation AS num FROM live_operation AS l
        WHERE l.result_reference = ?1
        ORDER BY l.operation DESC
        LIMIT ?5
    ) AS seen CROSS JOIN operation AS o ON o.num = seen.num
    WHERE o.num <> ?2 AND o.connection = ?3 AND o.capability = ?4
    LIMIT 1
)
UNION ALL
SELECT id FROM (
    SELECT o.id AS id
    FROM (
        SELECT f.operation AS num FROM finished_operation AS f
        WHERE f.result_reference = ?1
        ORDER BY f.operation DESC
        LIMIT ?5
    ) AS seen CROSS JOIN operation AS o ON o.num = seen.num
    WHERE o.num <> ?2 AND o.connection = ?3 AND o.capability = ?4
    LIMIT 1
)
UNION ALL
SELECT '' WHERE EXISTS (SELECT 1 FROM live_operation AS l WHERE l.result_reference = ?1 LIMIT 1 OFFSET ?5)
    OR EXISTS (SELECT 1 FROM finished_operation AS f WHERE f.result_reference = ?1 LIMIT 1 OFFSET ?5)
LIMIT 1;
