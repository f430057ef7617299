-- name: transaction.commit
COMMIT;

-- Differs from the last answer on this connection if another connection has written since.
-- name: transaction.version
SELECT data_version FROM pragma_data_version;
