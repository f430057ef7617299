package api

import "github.com/onefold-dev/onefold"

// RouteRow is a row of the table of routes, as far as tests go through it.
type RouteRow struct {
	Method, Path string
	Roles        []onefold.Role // nil is open to everybody
	Body         bool           // it has one that must be there
	List         bool           // it takes a cursor
}

// RouteTable lists everything that is served.
func RouteTable() []RouteRow {
	var rows []RouteRow
	for _, rt := range routes() {
		row := RouteRow{Method: rt.method, Path: rt.path, Roles: rt.roles, Body: rt.body != nil && !rt.bodyOptional()}
		for _, p := range rt.query {
			row.List = row.List || p.name == "cursor"
		}
		rows = append(rows, row)
	}
	return rows
}

// MaxBatch, MaxBatchBody and BatchWorkers are the bounds of one batch.
const (
	MaxBatch     = maxBatch
	MaxBatchBody = maxBatchBody
	BatchWorkers = batchWorkers
)

// FillWaitingRoom makes the server answer at once whoever would wait for an
// operation, as it does when too many wait.
func (s *Server) FillWaitingRoom() { s.waiting.Store(maxWaiting) }
