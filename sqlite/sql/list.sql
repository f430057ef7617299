-- Every list takes the same parameters: 1 workspace, 2 capability, 3 connection's number, 4 state, 5 contradicted,
-- 6 created from, 7 created before, 8 submitted by, 9 and 10 the cursor (time, number), 11 the limit, 12 digests of
-- claims as a JSON array of hex texts, 13 key, 14 identity, 15 reference, 16 review. An empty text, a zero number and
-- a NULL do not filter. The lists differ in the index that they walk.

-- name: list.filter
o.workspace = ?1 AND o.created_at >= ?6 AND o.created_at < ?7
    AND o.created_at <= ?9 AND (o.created_at < ?9 OR o.num < ?10)
    AND (?2 = '' OR o.capability = ?2) AND (?3 = 0 OR o.connection = ?3) AND (?8 = '' OR o.submitted_by = ?8)
    AND (?4 = '' OR ?4 = coalesce((SELECT x.state FROM live_operation AS x WHERE x.operation = o.num),
        (SELECT x.state FROM finished_operation AS x WHERE x.operation = o.num)))
    AND (?5 IS NULL OR ?5 = EXISTS (SELECT 1 FROM live_operation AS x WHERE x.operation = o.num AND x.contradicted = 1))
    AND (?13 = '' OR o.key = ?13) AND (?14 = '' OR o.identity = ?14)
    AND (?15 = '' OR o.reference = ?15
        OR EXISTS (SELECT 1 FROM live_operation AS x WHERE x.operation = o.num AND x.result_reference = ?15)
        OR EXISTS (SELECT 1 FROM finished_operation AS x WHERE x.operation = o.num AND x.result_reference = ?15)
        OR EXISTS (SELECT 1 FROM earlier_result AS x WHERE x.reference = ?15 AND x.operation = o.num))
    AND (?16 = '' OR EXISTS (SELECT 1 FROM review AS x WHERE x.id = ?16 AND x.operation = o.num))
    AND (?12 IS NULL OR ?12 IS NOT NULL);

-- name: list.newest
ORDER BY o.created_at DESC, o.num DESC LIMIT ?11;

-- name: list.by_time
-- index: operation_by_time
WITH page AS (
    SELECT o.num FROM operation AS o INDEXED BY operation_by_time
    WHERE {list.filter} {list.newest}
)
{operation.loaded};

-- name: list.by_capability
-- index: operation_by_capability
WITH page AS (
    SELECT o.num FROM operation AS o INDEXED BY operation_by_capability
    WHERE o.capability = ?2 AND {list.filter} {list.newest}
)
{operation.loaded};

-- name: list.by_connection
-- index: operation_by_connection
WITH page AS (
    SELECT o.num FROM operation AS o INDEXED BY operation_by_connection
    WHERE o.connection = ?3 AND {list.filter} {list.newest}
)
{operation.loaded};

-- A state's operations lie in one or both of two tables; each is walked by its index and the two are merged. Those that
-- are out have a lease, and with it a time at which it is over.
-- name: list.by_state
-- index: live_operation_by_state
-- index: live_operation_wake
-- index: finished_operation_by_state
WITH page AS (
    SELECT num FROM (
        SELECT l.created_at AS created_at, l.operation AS num
        FROM live_operation AS l INDEXED BY live_operation_by_state CROSS JOIN operation AS o ON o.num = l.operation
        WHERE l.workspace = ?1 AND l.state = ?4 AND l.state <> 'attempting'
            AND l.created_at >= ?6 AND l.created_at < ?7 AND l.created_at <= ?9 AND {list.filter}
        UNION ALL
        SELECT l.created_at, l.operation
        FROM live_operation AS l INDEXED BY live_operation_wake CROSS JOIN operation AS o ON o.num = l.operation
        WHERE ?4 = 'attempting' AND l.wake_at IS NOT NULL AND l.state = 'attempting' AND l.workspace = ?1
            AND {list.filter}
        UNION ALL
        SELECT f.created_at, f.operation
        FROM finished_operation AS f INDEXED BY finished_operation_by_state CROSS JOIN operation AS o ON o.num = f.operation
        WHERE f.workspace = ?1 AND f.state = ?4 AND f.created_at >= ?6 AND f.created_at < ?7 AND f.created_at <= ?9
            AND {list.filter}
        ORDER BY created_at DESC, num DESC
        LIMIT ?11
    )
)
{operation.loaded};

-- name: list.by_key
-- index: PRIMARY KEY
WITH page AS (
    SELECT o.num FROM operation AS o
    WHERE o.num IN (
        SELECT c.operation FROM claim AS c WHERE c.digest IN (SELECT unhex(value) FROM json_each(?12))
        UNION
        SELECT r.operation FROM released_claim AS r WHERE r.digest IN (SELECT unhex(value) FROM json_each(?12))
    ) AND {list.filter} {list.newest}
)
{operation.loaded};

-- name: list.by_identity
-- index: operation_by_identity
-- index: operation_by_released_identity
WITH page AS (
    SELECT o.num FROM operation AS o
    WHERE o.num IN (
        SELECT a.num FROM operation AS a WHERE a.identity = ?14 AND a.released = 0
        UNION
        SELECT a.num FROM operation AS a WHERE a.identity = ?14 AND a.released = 1
    ) AND {list.filter} {list.newest}
)
{operation.loaded};

-- name: list.by_reference
-- index: operation_by_reference
-- index: operation_by_released_reference
-- index: live_operation_result
-- index: finished_operation_result
-- index: SEARCH e USING PRIMARY KEY
WITH page AS (
    SELECT o.num FROM operation AS o
    WHERE o.num IN (
        SELECT a.num FROM operation AS a WHERE a.reference = ?15 AND a.released = 0
        UNION
        SELECT a.num FROM operation AS a WHERE a.reference = ?15 AND a.released = 1
        UNION
        SELECT l.operation FROM live_operation AS l WHERE l.result_reference = ?15
        UNION
        SELECT f.operation FROM finished_operation AS f WHERE f.result_reference = ?15
        UNION
        SELECT e.operation FROM earlier_result AS e WHERE e.reference = ?15
    ) AND {list.filter} {list.newest}
)
{operation.loaded};

-- name: list.by_review
-- index: review_by_id
WITH page AS (
    SELECT o.num FROM operation AS o
    WHERE o.num IN (SELECT r.operation FROM review AS r WHERE r.id = ?16) AND {list.filter} {list.newest}
)
{operation.loaded};

-- name: list.contradicted
-- index: live_operation_contradicted
WITH page AS (
    SELECT o.num FROM operation AS o
    WHERE o.num IN (
        SELECT l.operation FROM live_operation AS l INDEXED BY live_operation_contradicted
        WHERE l.workspace = ?1 AND l.contradicted = 1
    ) AND {list.filter} {list.newest}
)
{operation.loaded};

-- The capabilities of a workspace that ever admitted an operation, jumping from one to the next.
-- name: list.capabilities
-- index: operation_by_capability
WITH RECURSIVE seen (capability) AS (
    SELECT min(o.capability) FROM operation AS o WHERE o.workspace = ?1
    UNION ALL
    SELECT (SELECT min(o.capability) FROM operation AS o WHERE o.workspace = ?1 AND o.capability > seen.capability)
    FROM seen WHERE seen.capability IS NOT NULL
)
SELECT capability FROM seen WHERE capability IS NOT NULL;

-- name: list.workspaces
-- index: connection_state_by_name
SELECT DISTINCT workspace FROM connection_state ORDER BY workspace;
