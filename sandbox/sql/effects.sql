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
SELECT e.seq, e.record, coalesce(s.ends, ''), coalesce(s.at, 0)
FROM effects AS e LEFT JOIN settlements AS s ON s.effect = e.seq
WHERE e.account = ?1 AND e.collection = ?2 AND e.external_ref = ?3 AND e.seq > ?4 AND e.visible_at <= ?5
ORDER BY e.seq
LIMIT ?6;

-- name: effect.visible
-- index: effects_by_account
SELECT e.seq, e.record, coalesce(s.ends, ''), coalesce(s.at, 0)
FROM effects AS e LEFT JOIN settlements AS s ON s.effect = e.seq
WHERE e.account = ?1 AND e.collection = ?2 AND e.seq > ?3 AND e.visible_at <= ?4
ORDER BY e.seq
LIMIT ?5;

-- name: effect.visible_by_id
-- index: effects_by_id
SELECT e.record, coalesce(s.ends, ''), coalesce(s.at, 0)
FROM effects AS e LEFT JOIN settlements AS s ON s.effect = e.seq
WHERE e.collection = ?2 AND e.id = ?3 AND e.account = ?1 AND e.visible_at <= ?4;

-- name: effect.list
-- index: INTEGER PRIMARY KEY
SELECT e.seq, e.id, e.account, e.collection, e.reference, e.idempotency_key, e.at, e.visible_at, e.request_seq, e.record,
    coalesce(s.ends, ''), coalesce(s.at, 0)
FROM effects AS e LEFT JOIN settlements AS s ON s.effect = e.seq
WHERE e.seq > ?1 AND (?2 IS NULL OR e.reference = ?2) AND (?3 IS NULL OR e.account = ?3)
    AND (s.effect IS NULL OR s.ends = 'settled' AND s.at <= ?5)
ORDER BY e.seq
LIMIT ?4;

-- name: effect.count
SELECT count(*) FROM effects AS e LEFT JOIN settlements AS s ON s.effect = e.seq
WHERE (?1 IS NULL OR e.account = ?1) AND (s.effect IS NULL OR s.ends = 'settled' AND s.at <= ?2);

-- name: effect.duplicates
SELECT DISTINCT reference FROM (
    SELECT e.reference FROM effects AS e LEFT JOIN settlements AS s ON s.effect = e.seq
    WHERE e.reference <> '' AND (?1 IS NULL OR e.account = ?1) AND (s.effect IS NULL OR s.ends = 'settled' AND s.at <= ?2)
    GROUP BY e.account, e.reference
    HAVING count(*) > 1
)
ORDER BY reference;

-- name: settlement.insert
INSERT INTO settlements (effect, at, ends) VALUES (?1, ?2, ?3);

-- name: settlement.clear
DELETE FROM settlements;

-- name: effect.clear
DELETE FROM effects;

-- name: effect.clear_numbers
DELETE FROM counters;
