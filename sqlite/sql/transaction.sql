-- name: transaction.begin
BEGIN IMMEDIATE;

-- name: transaction.commit
COMMIT;

-- Differs from the last answer on this connection if another connection has written since.
-- name: transaction.version
PRAGMA data_version;
