-- What an inspection reads (onefold doctor). Each statement is one look at the file, consistent in itself while others
-- write; pages follow the primary key, so that no statement holds the write-ahead log back for long.

-- Live operations with what their rows and their lists say, in the order of their numbers. An operation that was never
-- admitted has an empty id; unlisted counts its open reviews that the list of reviews does not have as they are.
-- name: health.live
-- index: INTEGER PRIMARY KEY
-- index: review_by_id
SELECT l.operation, coalesce(o.id, ''), l.workspace, coalesce(c.name, ''), coalesce(o.owner, ''), o.start_deadline,
    coalesce(o.capability, ''), coalesce(o.contract_version, 0), coalesce(o.target, ''), coalesce(o.target_version, 0),
    coalesce(l.workspace <> o.workspace OR l.connection <> o.connection OR l.created_at <> o.created_at, 0),
    l.created_at, l.state, l.version, l.sends, l.due_at, l.wake_at, l.lease_token, l.lease_worker, l.lease_until,
    l.open_attempts, l.unresolved, l.contradicted, l.result_reference, l.standing,
    CASE WHEN json_valid(l.standing) THEN (
        SELECT count(*) FROM json_each(l.standing, '$.reviews')
        WHERE json_each.value ->> 'status' = 'open' AND NOT EXISTS (
            SELECT 1 FROM review AS r
            WHERE r.id = json_each.value ->> 'id' AND r.status = 'open' AND r.owner = json_each.value ->> 'owner'
        )
    ) ELSE 0 END
FROM live_operation AS l
LEFT JOIN operation AS o ON o.num = l.operation
LEFT JOIN connection_state AS c ON c.num = l.connection
WHERE l.operation > ?1
ORDER BY l.operation
LIMIT ?2;

-- Open reviews in the list of reviews.
-- name: health.reviews
-- index: INTEGER PRIMARY KEY
SELECT r.num, r.id, coalesce(o.id, ''), r.owner, r.document
FROM review AS r LEFT JOIN operation AS o ON o.num = r.operation
WHERE r.num > ?1 AND r.status = 'open'
ORDER BY r.num
LIMIT ?2;

-- Operations from the newest on, each with the number of places in which its standing lies: one, or it was lost.
-- name: health.admitted
-- index: INTEGER PRIMARY KEY
SELECT o.num, o.id,
    (SELECT count(*) FROM live_operation AS l WHERE l.operation = o.num)
    + (SELECT count(*) FROM finished_operation AS f WHERE f.operation = o.num)
FROM operation AS o
WHERE o.num < ?1
ORDER BY o.num DESC
LIMIT ?2;

-- When the newest entries were written, newest first.
-- name: health.entries
-- index: INTEGER PRIMARY KEY
SELECT t.at FROM timeline AS t WHERE t.seq < ?1 ORDER BY t.seq DESC LIMIT ?2;

-- name: health.published
SELECT coalesce(max(d.published_at), 0) FROM document AS d;

-- name: health.runner
-- index: INTEGER PRIMARY KEY
SELECT r.worker, r.taken_at, r.released_at FROM runner AS r WHERE r.seq < ?1 ORDER BY r.seq DESC LIMIT 1;

-- Finished operations' standings from the newest on, each with whether the operation is there that it is of.
-- name: health.finished
-- index: INTEGER PRIMARY KEY
SELECT f.operation, EXISTS (SELECT 1 FROM operation AS o WHERE o.num = f.operation)
FROM finished_operation AS f
WHERE f.operation < ?1
ORDER BY f.operation DESC
LIMIT ?2;

-- Operations from the newest on, each with what has to be kept of it: whether its request is there, the digest of its
-- outgoing request, its standing, its timeline and its evidence; and of one that is finished what the columns beside its
-- standing say.
-- name: health.kept
-- index: INTEGER PRIMARY KEY
-- index: timeline_by_operation
-- index: evidence_by_operation
SELECT o.num, o.id, o.workspace, o.capability, o.contract_version, o.target, o.target_version, coalesce(c.name, ''),
    o.key, o.owner, o.created_at, o.start_deadline, o.fingerprint_key, l.operation IS NOT NULL, f.operation IS NOT NULL,
    coalesce(f.state, ''), coalesce(f.version, 0), f.result_reference, coalesce(f.settled_at, 0),
    coalesce(f.workspace <> o.workspace OR f.created_at <> o.created_at, 0),
    EXISTS (SELECT 1 FROM payload AS p WHERE p.operation = o.num),
    (SELECT z.digest FROM frozen AS z WHERE z.operation = o.num),
    coalesce(l.standing, f.standing),
    (SELECT json_group_array(json_object(
        'seq', t.seq, 'event', t.event, 'version', t.version, 'evidence', coalesce(t.evidence, ''),
        'attempt', coalesce(t.attempt, '')
    )) FROM timeline AS t WHERE t.operation = o.num),
    (SELECT json_group_array(json_object('id', e.id, 'kind', e.kind)) FROM evidence AS e WHERE e.operation = o.num)
FROM operation AS o
LEFT JOIN connection_state AS c ON c.num = o.connection
LEFT JOIN live_operation AS l ON l.operation = o.num
LEFT JOIN finished_operation AS f ON f.operation = o.num
WHERE o.num < ?1
ORDER BY o.num DESC
LIMIT ?2;

-- Those of the given operations that hold their key without a claim, or let it go without a word of it. They come as
-- pairs of number and claim's digest, as a JSON array of arrays.
-- name: health.unclaimed
-- index: INTEGER PRIMARY KEY
SELECT o.num
FROM json_each(?1) AS page CROSS JOIN operation AS o ON o.num = page.value ->> 0
WHERE CASE WHEN o.released = 0
    THEN NOT EXISTS (SELECT 1 FROM claim AS c WHERE c.digest = unhex(page.value ->> 1) AND c.operation = o.num)
    ELSE NOT EXISTS (SELECT 1 FROM released_claim AS r WHERE r.digest = unhex(page.value ->> 1) AND r.operation = o.num)
END;

-- Operations from the newest on that have their request, with what their fingerprints were made of.
-- name: health.requests
-- index: INTEGER PRIMARY KEY
SELECT o.num, o.id, o.workspace, o.capability, o.contract_version, o.target, o.target_version, coalesce(c.name, ''),
    o.fingerprint, o.fingerprint_key, p.request
FROM operation AS o
CROSS JOIN payload AS p ON p.operation = o.num
LEFT JOIN connection_state AS c ON c.num = o.connection
WHERE o.num < ?1
ORDER BY o.num DESC
LIMIT ?2;
