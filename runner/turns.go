package runner

import "github.com/onefold-dev/onefold"

// turns tells for each connection whether the operation that last got a place was
// one that sends. Those that send and those that ask take turns: a queue of new
// writes must not keep what is in doubt from being looked up, least of all at a
// target that is slow to answer and makes more doubts with each write; nor the other
// way round. It is the dispatcher's alone.
type turns map[onefold.ConnectionRef]bool

// took notes who got a place.
func (t turns) took(item onefold.DueItem) { t[item.Connection] = item.Sends }

// order puts due operations in the order of their turns: each connection keeps the
// places in the list that it had, and fills them with the two kinds by turns, each
// kind in the order in which it waits.
func (t turns) order(items []onefold.DueItem) []onefold.DueItem {
	type queue struct {
		kinds [2][]onefold.DueItem // that ask, that send
		sends bool                 // whose turn it is
	}
	queues := map[onefold.ConnectionRef]*queue{}
	for _, item := range items {
		q := queues[item.Connection]
		if q == nil {
			q = &queue{sends: !t[item.Connection]}
			queues[item.Connection] = q
		}
		kind := 0
		if item.Sends {
			kind = 1
		}
		q.kinds[kind] = append(q.kinds[kind], item)
	}
	out := make([]onefold.DueItem, len(items))
	for i, item := range items {
		q := queues[item.Connection]
		kind := 0
		if q.sends {
			kind = 1
		}
		if len(q.kinds[kind]) == 0 {
			kind = 1 - kind
		}
		out[i], q.kinds[kind] = q.kinds[kind][0], q.kinds[kind][1:]
		q.sends = kind == 0
	}
	return out
}
