-- Everything about the operations whose numbers the table page holds, newest first. Other queries end with it.
-- name: operation.loaded
SELECT o.num, o.id, o.workspace, o.capability, o.contract_version, o.target, o.target_version, c.name, o.connection,
    o.key, o.submitted_by, o.revision, o.not_before, o.start_deadline, o.metadata, o.fingerprint, o.fingerprint_key,
    o.identity, o.reference, o.identity_counter, o.owner, o.key_retention, o.created_at,
    l.operation IS NOT NULL, f.operation IS NOT NULL, coalesce(l.state, f.state), coalesce(l.standing, f.standing)
FROM page
CROSS JOIN operation AS o ON o.num = page.num
LEFT JOIN connection_state AS c ON c.num = o.connection
LEFT JOIN live_operation AS l ON l.operation = o.num
LEFT JOIN finished_operation AS f ON f.operation = o.num
ORDER BY o.created_at DESC, o.num DESC;

-- name: operation.by_id
-- index: operation_by_id
WITH page AS (SELECT num FROM operation WHERE id = ?1 AND (?2 = '' OR workspace = ?2))
{operation.loaded};

-- name: operation.by_number
-- index: INTEGER PRIMARY KEY
WITH page AS (SELECT ?1 AS num)
{operation.loaded};

-- name: operation.by_claim
-- index: PRIMARY KEY
WITH page AS (SELECT operation AS num FROM claim WHERE digest = ?1)
{operation.loaded};

-- name: operation.now
-- index: operation_by_id
SELECT o.num, o.workspace, coalesce(l.version, f.version), coalesce(l.state, f.state)
FROM operation AS o
LEFT JOIN live_operation AS l ON l.operation = o.num
LEFT JOIN finished_operation AS f ON f.operation = o.num
WHERE o.id = ?1;

-- Both conflicts mean that the derived identity or reference is taken (I13a); any other is an error.
-- name: operation.insert
INSERT INTO operation (
    num, id, workspace, capability, contract_version, target, target_version, connection, key, submitted_by,
    revision, not_before, start_deadline, metadata, fingerprint, fingerprint_key, identity, reference,
    identity_counter, owner, key_retention, created_at, released
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, 0)
ON CONFLICT (identity, connection) WHERE released = 0 DO NOTHING
ON CONFLICT (reference, connection) WHERE released = 0 DO NOTHING;

-- name: operation.release
-- index: INTEGER PRIMARY KEY
UPDATE operation SET released = 1 WHERE num = ?1;

-- name: payload.insert
INSERT INTO payload (operation, request) VALUES (?1, ?2);

-- name: payload.read
-- index: operation_by_id
SELECT p.request FROM operation AS o CROSS JOIN payload AS p ON p.operation = o.num WHERE o.id = ?1;

-- name: frozen.insert
INSERT INTO frozen (operation, method, path, headers, body, digest, timeout) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (operation) DO NOTHING;

-- name: frozen.read
-- index: operation_by_id
SELECT f.method, f.path, f.headers, f.body, f.digest, f.timeout
FROM operation AS o CROSS JOIN frozen AS f ON f.operation = o.num WHERE o.id = ?1;
