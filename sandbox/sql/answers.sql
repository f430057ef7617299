-- name: answer.get
-- index: PRIMARY KEY
SELECT parameters, received_at, status, body FROM answers WHERE account = ?1 AND idempotency_key = ?2;

-- A row is replaced only after its window is over.
-- name: answer.put
INSERT INTO answers (account, idempotency_key, parameters, received_at, status, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (account, idempotency_key) DO UPDATE
SET parameters = excluded.parameters, received_at = excluded.received_at, status = excluded.status, body = excluded.body;

-- name: answer.clear
DELETE FROM answers;
