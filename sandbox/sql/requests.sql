-- name: request.insert
INSERT INTO requests (at, connection, method, path, query, account, collection, idempotency_key, reference,
                      body_digest, body_bytes, complete, outcome, status, fault)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0);

-- name: request.fault
-- index: INTEGER PRIMARY KEY
UPDATE requests SET fault = ?2 WHERE seq = ?1;

-- name: request.finish
-- index: INTEGER PRIMARY KEY
UPDATE requests SET outcome = ?2, status = ?3 WHERE seq = ?1;

-- A process that died has dropped every connection that it held.
-- name: request.abandon
UPDATE requests SET outcome = 'dropped', status = 0 WHERE outcome = 'pending';

-- name: request.list
-- index: INTEGER PRIMARY KEY
SELECT seq, at, connection, method, path, query, account, collection, idempotency_key, reference,
       body_digest, body_bytes, complete, outcome, status, fault
FROM requests
WHERE seq > ?1 AND (?2 IS NULL OR reference = ?2) AND (?3 IS NULL OR account = ?3)
ORDER BY seq
LIMIT ?4;

-- name: request.count
SELECT count(*) FROM requests WHERE ?1 IS NULL OR account = ?1;

-- name: request.clear
DELETE FROM requests;
