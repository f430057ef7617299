-- What an inspection reads (onefold doctor). Each statement is one look at the file, consistent in itself while others
-- write; pages follow the primary key, so that no statement holds the write-ahead log back for long.

-- Live operations with what their rows and their lists say, in the order of their numbers. An operation that was never
-- admitted has an empty id; unlisted counts its open reviews that the list of reviews does not have as they are.
-- name: health.live
-- index: INTEGER PRIMARY KEY
-- index: review_by_id
SELECT l.operation, coalesce(o.id, ''), l.workspace, coalesce(c.name, ''), coalesce(o.owner, ''), o.start_deadline,
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
