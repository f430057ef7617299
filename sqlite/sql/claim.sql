-- The claim that holds a key.
-- name: claim.find
-- index: PRIMARY KEY
SELECT c.key, c.operation FROM claim AS c WHERE c.digest = ?1;

-- name: claim.insert
INSERT INTO claim (digest, key, operation) VALUES (?1, ?2, ?3);

-- The history of the key first: without it the claim may not be deleted.
-- name: claim.record_release
INSERT INTO released_claim (digest, operation, key, released_at)
SELECT c.digest, c.operation, c.key, ?3 FROM claim AS c WHERE c.digest = ?1 AND c.operation = ?2;

-- name: claim.release
DELETE FROM claim WHERE digest = ?1 AND operation = ?2;
