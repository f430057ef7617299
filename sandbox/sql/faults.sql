-- name: fault.insert
INSERT INTO faults (queued_at, spec, remaining) VALUES (?1, ?2, ?3);

-- name: fault.queued
-- index: faults_queued
SELECT number, spec FROM faults WHERE remaining > 0 ORDER BY number;

-- name: fault.count_queued
-- index: faults_queued
SELECT count(*) FROM faults WHERE remaining > 0;

-- name: fault.use
-- index: INTEGER PRIMARY KEY
UPDATE faults SET remaining = remaining - 1 WHERE number = ?1;

-- name: fault.fire
INSERT INTO firings (fault, request_seq, at) VALUES (?1, ?2, ?3);

-- name: fault.list
-- index: INTEGER PRIMARY KEY
SELECT number, queued_at, spec, remaining, cleared FROM faults WHERE number > ?1 ORDER BY number LIMIT ?2;

-- name: fault.firings
-- index: PRIMARY KEY
SELECT f.request_seq, f.at, (
    SELECT count(*) FROM effects AS e LEFT JOIN settlements AS s ON s.effect = e.seq
    WHERE e.request_seq = f.request_seq AND (s.effect IS NULL OR s.ends = 'settled' AND s.at <= ?2)
)
FROM firings AS f
WHERE f.fault = ?1
ORDER BY f.request_seq;

-- name: fault.clear_queued
-- index: faults_queued
UPDATE faults SET remaining = 0, cleared = 1 WHERE remaining > 0;

-- name: fault.clear
DELETE FROM faults;

-- name: fault.clear_firings
DELETE FROM firings;
