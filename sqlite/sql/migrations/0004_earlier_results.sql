-- What an operation had recorded as its result before a person resolved a contradiction with another reference (M20):
-- the index over results holds one reference for each operation, and it has to be found by all of them (I32). A row is
-- written with such a decision alone.
CREATE TABLE earlier_result (
    reference TEXT NOT NULL CHECK (reference <> ''),
    operation INTEGER NOT NULL,
    PRIMARY KEY (reference, operation)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER earlier_result_is_kept BEFORE UPDATE ON earlier_result BEGIN
    SELECT RAISE(ABORT, 'an earlier result is only ever added');
END;

-- Decisions of earlier releases. A standing that cannot be read is left alone.
WITH RECURSIVE before (operation, result) AS (
    SELECT s.operation, json_extract(s.standing, '$.result.earlier')
    FROM (
        SELECT l.operation, CASE WHEN json_valid(l.standing) THEN l.standing ELSE '{}' END AS standing
        FROM live_operation AS l WHERE instr(l.standing, '"earlier":') > 0
        UNION ALL
        SELECT f.operation, CASE WHEN json_valid(f.standing) THEN f.standing ELSE '{}' END AS standing
        FROM finished_operation AS f WHERE instr(f.standing, '"earlier":') > 0
    ) AS s
    UNION ALL
    SELECT b.operation, json_extract(b.result, '$.earlier') FROM before AS b WHERE b.result IS NOT NULL
)
INSERT OR IGNORE INTO earlier_result (reference, operation)
SELECT json_extract(b.result, '$.reference'), b.operation FROM before AS b
WHERE json_extract(b.result, '$.reference') <> '';
