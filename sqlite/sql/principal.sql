-- name: workspace.insert
INSERT INTO workspace (name, created_at) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING;

-- name: workspace.find
-- index: PRIMARY KEY
SELECT 1 FROM workspace WHERE name = ?1;

-- name: workspace.all
SELECT name, created_at FROM workspace ORDER BY name;

-- name: token.insert
INSERT INTO token (id, hash, workspace, name, roles, connections, created_at, expires_at, revoked_at, last_used_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- name: token.by_workspace
-- index: token_by_workspace
SELECT id, hash, workspace, name, roles, connections, created_at, expires_at, revoked_at, last_used_at
FROM token WHERE workspace = ?1 ORDER BY created_at, id;

-- name: token.by_hash
-- index: token_by_hash
SELECT id, hash, workspace, name, roles, connections, created_at, expires_at, revoked_at, last_used_at
FROM token WHERE hash = ?1;

-- name: token.find
-- index: PRIMARY KEY
SELECT revoked_at FROM token WHERE id = ?1 AND workspace = ?2;

-- name: token.revoke
-- index: PRIMARY KEY
UPDATE token SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL;

-- name: token.last_used
-- index: PRIMARY KEY
SELECT last_used_at FROM token WHERE id = ?1;

-- name: token.touch
-- index: PRIMARY KEY
UPDATE token SET last_used_at = ?2 WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at <= ?3);

-- name: installation.read
SELECT deployment, epoch FROM installation WHERE one = 1;

-- name: secret.all
SELECT key_id, check_value FROM secret_check ORDER BY key_id;

-- The ids of the secrets that fingerprints were made under, at the oldest operation, the newest and 62 places between:
-- a start must not read a file of millions from end to end, and there is no index for it. A secret is changed at a start,
-- so that each stands in a stretch of operations.
-- name: secret.in_use
-- index: INTEGER PRIMARY KEY
WITH RECURSIVE page (oldest, newest) AS (SELECT (SELECT min(num) FROM operation), (SELECT max(num) FROM operation)),
seen (place) AS (SELECT 0 UNION ALL SELECT place + 1 FROM seen WHERE place < 63)
SELECT DISTINCT fingerprint_key FROM (
    SELECT (
        SELECT o.fingerprint_key FROM operation AS o
        WHERE o.num >= CASE place WHEN 63 THEN newest ELSE oldest + (newest - oldest) / 63 * place END
        ORDER BY o.num LIMIT 1
    ) AS fingerprint_key
    FROM page CROSS JOIN seen
)
WHERE fingerprint_key IS NOT NULL
ORDER BY fingerprint_key;

-- name: secret.find
-- index: PRIMARY KEY
SELECT check_value FROM secret_check WHERE key_id = ?1;

-- name: secret.insert
INSERT INTO secret_check (key_id, check_value, noted_at) VALUES (?1, ?2, ?3) ON CONFLICT (key_id) DO NOTHING;
