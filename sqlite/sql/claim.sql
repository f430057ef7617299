-- The claim that holds a key.
-- name: claim.find
-- index: PRIMARY KEY
SELECT c.key, c.operation FROM claim AS c WHERE c.digest = ?1;

-- What is known of many claims at once, by their digests as a JSON array of hex texts: the operation, and its version
-- where it is finished, for then that tells whether anything changed; -1 where it is live.
-- name: claim.known
-- index: PRIMARY KEY
-- index: INTEGER PRIMARY KEY
SELECT c.digest, c.operation, coalesce(f.version, -1)
FROM claim AS c LEFT JOIN finished_operation AS f ON f.operation = c.operation
WHERE c.digest IN (SELECT unhex(value) FROM json_each(?1));

-- It changes no row where the key is held already.
-- name: claim.insert
INSERT INTO claim (digest, key, operation) VALUES (?1, ?2, ?3) ON CONFLICT (digest) DO NOTHING;

-- The history of the key first: without it the claim may not be deleted.
-- name: claim.record_release
INSERT INTO released_claim (digest, operation, key, released_at)
SELECT c.digest, c.operation, c.key, ?3 FROM claim AS c WHERE c.digest = ?1 AND c.operation = ?2;

-- name: claim.release
DELETE FROM claim WHERE digest = ?1 AND operation = ?2;
