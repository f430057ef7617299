package main

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// queue is a job queue as programs have it: rows, taken for a while, put back
// until they are done. It may hand a job out more than one time, and does.
type queue struct{ db *sql.DB }

// job is one row.
type job struct {
	id      int64
	order   order
	outcome string
}

// visibility is how long a taken job is hidden. It is shorter than a call may
// take, so that slow jobs are handed out again while they are at work.
const visibility = 50 * time.Millisecond

func openQueue(ctx context.Context, path string) (*queue, error) {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS job (
		id INTEGER PRIMARY KEY, number TEXT NOT NULL, item TEXT NOT NULL, quantity INTEGER NOT NULL,
		visible_at INTEGER NOT NULL DEFAULT 0, outcome TEXT NOT NULL DEFAULT '')`)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &queue{db}, nil
}

func (q *queue) enqueue(ctx context.Context, o order) error {
	_, err := q.db.ExecContext(ctx, `INSERT INTO job (number, item, quantity) VALUES (?, ?, ?)`, o.Order, o.Item, o.Quantity)
	return err
}

// take hands out a job that is due; ok is false if there is none.
func (q *queue) take(ctx context.Context, now time.Time) (j job, ok bool, err error) {
	err = q.db.QueryRowContext(ctx, `UPDATE job SET visible_at = ?1
		WHERE id = (SELECT id FROM job WHERE outcome = '' AND visible_at <= ?2 ORDER BY visible_at, id LIMIT 1)
		RETURNING id, number, item, quantity`, now.Add(visibility).UnixNano(), now.UnixNano(),
	).Scan(&j.id, &j.order.Order, &j.order.Item, &j.order.Quantity)
	if errors.Is(err, sql.ErrNoRows) {
		return job{}, false, nil
	}
	return j, err == nil, err
}

// later puts a job back until a time.
func (q *queue) later(ctx context.Context, id int64, at time.Time) error {
	_, err := q.db.ExecContext(ctx, `UPDATE job SET visible_at = ? WHERE id = ? AND outcome = ''`, at.UnixNano(), id)
	return err
}

// done ends a job.
func (q *queue) done(ctx context.Context, id int64, outcome string) error {
	_, err := q.db.ExecContext(ctx, `UPDATE job SET outcome = ? WHERE id = ?`, outcome, id)
	return err
}

// open counts the jobs that are not done.
func (q *queue) open(ctx context.Context) (n int, err error) {
	err = q.db.QueryRowContext(ctx, `SELECT count(*) FROM job WHERE outcome = ''`).Scan(&n)
	return n, err
}

// all lists the jobs.
func (q *queue) all(ctx context.Context) (jobs []job, err error) {
	rows, err := q.db.QueryContext(ctx, `SELECT id, number, item, quantity, outcome FROM job ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var j job
		if err := rows.Scan(&j.id, &j.order.Order, &j.order.Item, &j.order.Quantity, &j.outcome); err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, rows.Err()
}
