package identity

// MaxDifferences is how many differences Diff returns at most. A reader needs a
// few; an answer with more would repeat the payload.
const MaxDifferences = 100

// EqualJSON says whether two values have the same canonical form (I9): members
// in any order, numbers by value, nil equal to nil only.
func EqualJSON(a, b *Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	d := differ{limit: 1}
	d.compare(a, b)
	return len(d.found) == 0
}

// Difference is one place where two requests differ. Pointer names it in both;
// a nil value means that the member is absent on that side.
type Difference struct {
	Pointer             string
	Accepted, Submitted *Value
}

// Diff returns where two requests differ (I4): the deepest members that do, each
// once, with the prefix in front of each pointer. Members come in canonical
// order, elements by index, and there are at most MaxDifferences: that many mean
// that there may be more. Arrays are compared element by element. The result is
// empty if and only if EqualJSON is true. A nil request is an absent one.
func Diff(accepted, submitted *Value, prefix string) []Difference {
	d := differ{limit: MaxDifferences, prefix: prefix, describe: true}
	switch {
	case accepted == nil && submitted == nil:
	case accepted == nil || submitted == nil:
		d.differs(accepted, submitted)
	default:
		d.compare(accepted, submitted)
	}
	return d.found
}

// differ walks two values side by side and stops at its limit.
type differ struct {
	limit    int
	describe bool
	prefix   string
	path     []step
	order    []int32
	found    []Difference
}

func (d *differ) full() bool { return len(d.found) >= d.limit }

func (d *differ) differs(a, b *Value) {
	if !d.describe {
		d.found = append(d.found, Difference{})
		return
	}
	d.found = append(d.found, Difference{Pointer: pointerOf(d.prefix, d.path), Accepted: a, Submitted: b})
}

func (d *differ) compare(a, b *Value) {
	if a == b {
		return
	}
	if a.Kind() != b.Kind() {
		d.differs(a, b)
		return
	}
	switch a.Kind() {
	case Null:
	case Bool:
		if a.truth != b.truth {
			d.differs(a, b)
		}
	case String:
		if a.text != b.text {
			d.differs(a, b)
		}
	case Number:
		if a.text != b.text && decimalOf(a.text) != decimalOf(b.text) {
			d.differs(a, b)
		}
	case Array:
		d.arrays(a.Items(), b.Items())
	case Object:
		d.objects(a.Members(), b.Members())
	}
}

func (d *differ) arrays(a, b []*Value) {
	for i := 0; i < max(len(a), len(b)) && !d.full(); i++ {
		d.path = append(d.path, step{index: i})
		switch {
		case i >= len(a):
			d.differs(nil, b[i])
		case i >= len(b):
			d.differs(a[i], nil)
		default:
			d.compare(a[i], b[i])
		}
		d.path = d.path[:len(d.path)-1]
	}
}

// objects merges the two lists of members in canonical order. The places of
// both lie on the order stack, a's first.
func (d *differ) objects(a, b []Member) {
	baseA := len(d.order)
	d.order = appendOrder(d.order, a)
	baseB := len(d.order)
	d.order = appendOrder(d.order, b)
	for i, j := 0, 0; (i < len(a) || j < len(b)) && !d.full(); {
		var left, right *Member
		if i < len(a) {
			left = &a[d.order[baseA+i]]
		}
		if j < len(b) {
			right = &b[d.order[baseB+j]]
		}
		first := 0
		switch {
		case right == nil:
			first = -1
		case left == nil:
			first = 1
		default:
			first = compareNames(left.Name, right.Name)
		}
		switch {
		case first < 0:
			d.path = append(d.path, step{name: left.Name, index: -1})
			d.differs(left.Value, nil)
			i++
		case first > 0:
			d.path = append(d.path, step{name: right.Name, index: -1})
			d.differs(nil, right.Value)
			j++
		default:
			d.path = append(d.path, step{name: left.Name, index: -1})
			d.compare(left.Value, right.Value)
			i++
			j++
		}
		d.path = d.path[:len(d.path)-1]
	}
	d.order = d.order[:baseA]
}
