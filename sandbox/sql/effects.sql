-- name: effect.number
INSERT INTO counters (collection, last) VALUES (?1, ?2)
ON CONFLICT (collection) DO UPDATE SET last = last + 1
RETURNING last;

-- name: effect.insert
INSERT INTO effects (id, account, collection, external_ref, reference, idempotency_key, at, visible_at, request_seq, record)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- The first effect with a reference, visible or not: what a write must not repeat.
-- name: effect.holder
-- index: effects_by_external_ref
SELECT id FROM effects WHERE account = ?1 AND collection = ?2 AND external_ref = ?3 ORDER BY seq LIMIT 1;

-- name: effect.visible_by_reference
-- index: effects_by_external_ref
SELECT seq, record FROM effects
WHERE account = ?1 AND collection = ?2 AND external_ref = ?3 AND seq > ?4 AND visible_at <= ?5
ORDER BY seq
LIMIT ?6;

-- name: effect.visible
-- index: effects_by_account
SELECT seq, record FROM effects
WHERE account = ?1 AND collection = ?2 AND seq > ?3 AND visible_at <= ?4
ORDER BY seq
LIMIT ?5;

-- name: effect.visible_by_id
-- index: effects_by_id
SELECT record FROM effects WHERE collection = ?2 AND id = ?3 AND account = ?1 AND visible_at <= ?4;

-- name: effect.list
-- index: INTEGER PRIMARY KEY
SELECT seq, id, account, collection, reference, idempotency_key, at, visible_at, request_seq, record
FROM effects
WHERE seq > ?1 AND (?2 IS NULL OR reference = ?2) AND (?3 IS NULL OR account = ?3)
ORDER BY seq
LIMIT ?4;

-- name: effect.count
SELECT count(*) FROM effects WHERE ?1 IS NULL OR account = ?1;

-- name: effect.duplicates
SELECT DISTINCT reference FROM (
    SELECT reference FROM effects
    WHERE reference <> '' AND (?1 IS NULL OR account = ?1)
    GROUP BY account, reference
    HAVING count(*) > 1
)
ORDER BY reference;

-- name: effect.clear
DELETE FROM effects;

-- name: effect.clear_numbers
DELETE FROM counters;
