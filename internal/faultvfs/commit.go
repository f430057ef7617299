package faultvfs

import (
	"context"
	"database/sql/driver"
)

// statement is what a statement of the driver can do.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// commit is a COMMIT that can lose its answer.
type commit struct {
	statement
	disk *Disk
}

// ExecContext implements driver.StmtExecContext.
func (c *commit) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := c.disk.at(CommitBegin); err != nil {
		return nil, err
	}
	r, err := c.statement.ExecContext(ctx, args)
	if err != nil {
		return nil, err
	}
	if err := c.disk.at(CommitAnswer); err != nil {
		return nil, err
	}
	return r, nil
}
