-- A runner that had to make the lock file, while the one before it never left in good order, proves nothing about that
-- one: its lock file may have been removed under it (M12a).
ALTER TABLE runner ADD COLUMN unproven INTEGER NOT NULL DEFAULT 0 CHECK (unproven IN (0, 1));
