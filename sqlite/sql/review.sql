-- name: review.insert
INSERT INTO review (id, operation, workspace, reason, status, owner, opened_at, document)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: review.update
-- index: review_by_id
UPDATE review SET status = ?3, owner = ?4, document = ?5 WHERE id = ?1 AND operation = ?2;

-- The queries below take the same parameters: 1 workspace, 2 owner, 3 reason, 4 status, 5 opened before, 6 and 7 the
-- cursor, 8 the limit. An empty text and a NULL do not filter.

-- name: review.by_workspace
-- index: review_by_workspace
SELECT r.num, r.opened_at, r.id, r.document, o.id
FROM review AS r INDEXED BY review_by_workspace CROSS JOIN operation AS o ON o.num = r.operation
WHERE r.workspace = ?1 AND (?2 = '' OR r.owner = ?2) AND (?3 = '' OR r.reason = ?3) AND (?4 = '' OR r.status = ?4)
    AND r.opened_at < coalesce(?5, 9223372036854775807) AND r.opened_at <= ?6 AND (r.opened_at < ?6 OR r.num < ?7)
ORDER BY r.opened_at DESC, r.num DESC
LIMIT ?8;

-- name: review.by_status
-- index: review_by_status
SELECT r.num, r.opened_at, r.id, r.document, o.id
FROM review AS r INDEXED BY review_by_status CROSS JOIN operation AS o ON o.num = r.operation
WHERE r.workspace = ?1 AND (?2 = '' OR r.owner = ?2) AND (?3 = '' OR r.reason = ?3) AND r.status = ?4
    AND r.opened_at < coalesce(?5, 9223372036854775807) AND r.opened_at <= ?6 AND (r.opened_at < ?6 OR r.num < ?7)
ORDER BY r.opened_at DESC, r.num DESC
LIMIT ?8;

-- name: review.by_owner
-- index: review_by_owner
SELECT r.num, r.opened_at, r.id, r.document, o.id
FROM review AS r INDEXED BY review_by_owner CROSS JOIN operation AS o ON o.num = r.operation
WHERE r.workspace = ?1 AND r.owner = ?2 AND (?3 = '' OR r.reason = ?3) AND (?4 = '' OR r.status = ?4)
    AND r.opened_at < coalesce(?5, 9223372036854775807) AND r.opened_at <= ?6 AND (r.opened_at < ?6 OR r.num < ?7)
ORDER BY r.opened_at DESC, r.num DESC
LIMIT ?8;
