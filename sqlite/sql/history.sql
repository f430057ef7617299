-- The last sequence number that was given, by the counter, and the greatest that any row carries. The counter repeats the
-- rows; where it is behind them the rows are right, and a number that one of them has is not given again.
-- name: timeline.last
-- index: INTEGER PRIMARY KEY
SELECT coalesce((SELECT last FROM sequence WHERE one = 1), -1), max(
    coalesce((SELECT max(seq) FROM timeline), 0), coalesce((SELECT max(num) FROM operation), 0),
    coalesce((SELECT max(operation) FROM live_operation), 0), coalesce((SELECT max(operation) FROM finished_operation), 0),
    coalesce((SELECT max(operation) FROM payload), 0), coalesce((SELECT max(operation) FROM frozen), 0)
);

-- name: timeline.restart
INSERT INTO sequence (one, last) VALUES (1, ?1);

-- name: timeline.remember
UPDATE sequence SET last = ?1 WHERE one = 1;

-- name: timeline.insert
INSERT INTO timeline (
    seq, operation, workspace, at, actor_kind, actor, event, rule, from_state, to_state, version, evidence, attempt,
    review, detail, reason, pointers
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17);

-- name: timeline.notes
-- index: timeline_notes
SELECT count(*) FROM timeline WHERE operation = ?1 AND event = 'noted';

-- name: timeline.read
-- index: timeline_by_operation
SELECT t.seq, o.id, t.at, t.actor_kind, t.actor, t.event, t.rule, t.from_state, t.to_state, t.version, t.evidence,
    t.attempt, t.review, t.detail, t.reason, t.pointers
FROM operation AS o CROSS JOIN timeline AS t ON t.operation = o.num
WHERE o.id = ?1 AND t.seq > ?2
ORDER BY t.seq
LIMIT ?3;

-- name: timeline.changes
-- index: timeline_by_workspace
SELECT t.seq, o.id, t.at, t.actor_kind, t.actor, t.event, t.rule, t.from_state, t.to_state, t.version, t.evidence,
    t.attempt, t.review, t.detail, t.reason, t.pointers
FROM timeline AS t CROSS JOIN operation AS o ON o.num = t.operation
WHERE t.workspace = ?1 AND t.seq > ?2
ORDER BY t.seq
LIMIT ?3;

-- Of all workspaces, for the engine alone.
-- name: timeline.all_changes
-- index: INTEGER PRIMARY KEY
SELECT t.seq, o.id, t.at, t.actor_kind, t.actor, t.event, t.rule, t.from_state, t.to_state, t.version, t.evidence,
    t.attempt, t.review, t.detail, t.reason, t.pointers
FROM timeline AS t CROSS JOIN operation AS o ON o.num = t.operation
WHERE t.seq > ?1
ORDER BY t.seq
LIMIT ?2;

-- name: evidence.insert
INSERT INTO evidence (operation, id, kind, asserts, seen_at, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: evidence.read
-- index: evidence_by_operation
SELECT e.document
FROM operation AS o CROSS JOIN evidence AS e ON e.operation = o.num
WHERE o.id = ?1
    AND e.num > CASE WHEN ?2 = '' THEN 0
        ELSE (SELECT a.num FROM evidence AS a WHERE a.operation = o.num AND a.id = ?2) END
ORDER BY e.num
LIMIT ?3;

-- name: event.remember
INSERT INTO delivered_event (connection, source, event) VALUES (?1, ?2, ?3);

-- name: event.delivered
-- index: PRIMARY KEY
SELECT 1 FROM delivered_event WHERE connection = ?1 AND source = ?2 AND event = ?3;
