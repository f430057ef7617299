-- Most operations are admitted, begun and over within milliseconds, and each index that they pass through costs two
-- writes for each of them. What only a runner's start asks for is found by reading the live operations, which are few,
-- and operations that are out are found by the time at which their lease is over.

DROP INDEX live_operation_leased;

DROP INDEX live_operation_attempts;

DROP INDEX live_operation_by_state;

CREATE INDEX live_operation_by_state ON live_operation (workspace, state, created_at) WHERE state <> 'attempting';
