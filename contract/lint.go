package contract

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// Set is what Lint looks at: new documents together with those that are
// published already.
type Set struct {
	// New documents are judged; Published ones only give references their
	// meaning. Of a connection that is in both, the new one counts.
	New, Published []Document
	// Deployment's times are part of I27 and of the window's margin.
	Deployment Deployment
	// Today is the date that provenance is held against; zero: its age is not judged.
	Today time.Time
	// Principals are the names of those who can own something; nil: not known, and
	// nobody's name is judged.
	Principals []string
}

// Lint finds what the documents say that cannot be kept (faults: the documents
// are refused) and what somebody should look at (warnings: they go to standard
// error and never change an exit code). Section 3's lists are complete: besides
// them only references to what is not there, a changed published version (I12)
// and a changed account are refused.
func Lint(set *Set) (Faults, []Warning) {
	l := newLinter(set)
	for i := range set.New {
		l.document(&set.New[i])
	}
	l.retention()
	slices.SortStableFunc(l.warnings, func(a, b Warning) int { return comparePlaces(a.Place, b.Place) })
	return l.faults.sorted(), l.warnings
}

// linter collects over all documents of a set.
type linter struct {
	set       *Set
	published map[string]*Document // by handle
	targets   map[string]*Document // new or published, by name@version
	faults    Faults
	warnings  []Warning
}

func newLinter(set *Set) *linter {
	l := &linter{set: set, published: map[string]*Document{}, targets: map[string]*Document{}}
	for _, docs := range [][]Document{set.Published, set.New} {
		for i := range docs {
			if d := &docs[i]; d.Kind == KindTarget {
				l.targets[handle(d)] = d
			}
		}
	}
	for i := range set.Published {
		l.published[string(set.Published[i].Kind)+" "+handle(&set.Published[i])] = &set.Published[i]
	}
	return l
}

// handle is how a document is called: name@version, or workspace/name.
func handle(d *Document) string {
	if d.Kind == KindConnection {
		return d.Workspace + "/" + d.Name
	}
	return fmt.Sprintf("%s@%d", d.Name, d.Version)
}

func (l *linter) fault(d *Document, pointer, detail, hint string) {
	l.faults = append(l.faults, Fault{
		Code: onefold.CodeDocumentInvalid, Place: d.At(pointer), Pointer: pointer, Detail: detail, Hint: hint,
	})
}

func (l *linter) warn(d *Document, pointer, detail, hint string) {
	l.warnings = append(l.warnings, Warning{Place: d.At(pointer), Pointer: pointer, Detail: detail, Hint: hint})
}

func (l *linter) document(d *Document) {
	l.twice(d)
	switch d.Kind {
	case KindCapability:
		l.immutable(d)
		l.capability(d)
	case KindTarget:
		l.immutable(d)
		for i := range d.Target.Operations {
			l.operation(d, &d.Target.Operations[i])
		}
		l.provenance(d)
	case KindConnection:
		l.connection(d)
	}
}

// twice refuses two new documents of one name with different content.
func (l *linter) twice(d *Document) {
	for i := range l.set.New {
		first := &l.set.New[i]
		if first == d {
			return
		}
		if first.Kind == d.Kind && handle(first) == handle(d) && string(first.Canonical) != string(d.Canonical) {
			l.fault(d, "", fmt.Sprintf("%s %s is written twice with different content, first at %s", d.Kind, handle(d), first.At("")), "")
			return
		}
	}
}

// maxDifferencesNamed bounds how many differences of a changed version are named.
const maxDifferencesNamed = 5

// immutable refuses other content under a published version and names what
// differs (I12).
func (l *linter) immutable(d *Document) {
	old := l.published[string(d.Kind)+" "+handle(d)]
	if old == nil || string(old.Canonical) == string(d.Canonical) {
		return
	}
	found := identity.Diff(old.Tree, d.Tree, "")
	var names []string
	for i, difference := range found {
		if i == maxDifferencesNamed {
			names = append(names, fmt.Sprintf("%d more", len(found)-maxDifferencesNamed))
			break
		}
		name := difference.Pointer
		if name == "" {
			name = "the document"
		}
		names = append(names, name)
	}
	at := ""
	if len(found) > 0 {
		at = found[0].Pointer
	}
	l.faults = append(l.faults, Fault{
		Code: onefold.CodeVersionImmutable, Place: d.At(at), Pointer: at,
		Detail: fmt.Sprintf("%s %s is published and never changes; %s would differ", d.Kind, handle(d), andList(names)),
		Hint:   fmt.Sprintf("publish it as version %d", d.Version+1),
	})
}

func (l *linter) capability(d *Document) {
	if kept := d.Capability.Retention.Tombstone; kept != onefold.Forever {
		l.fault(d, "/retention/tombstone",
			fmt.Sprintf("a tombstone of %s: a key that comes back later would be new again (I30)", formatDuration(kept)), "write forever, or leave it out")
	}
}

func (l *linter) connection(d *Document) {
	c := d.Connection
	if l.targets[fmt.Sprintf("%s@%d", c.Target, c.TargetVersion)] == nil {
		l.fault(d, "/target", fmt.Sprintf("there is no target %s@%d", c.Target, c.TargetVersion), l.otherTarget(c))
	}
	if old := l.published[string(KindConnection)+" "+handle(d)]; old != nil && old.Connection.Account != c.Account {
		l.fault(d, "/account", fmt.Sprintf("the account of a connection never changes; it is %s", quoted(old.Connection.Account)),
			"another account is another connection")
	}
	l.protocol(d)
	l.principal(d)
}

// otherTarget is a hint about a target that is not there.
func (l *linter) otherTarget(c *Connection) string {
	var names, versions []string
	for _, d := range l.targets {
		names = append(names, d.Name)
		if d.Name == c.Target {
			versions = append(versions, handle(d))
		}
	}
	if len(versions) > 0 {
		slices.Sort(versions)
		return "there is " + andList(versions)
	}
	slices.Sort(names)
	return strings.TrimPrefix(suggest(c.Target, names), "; ")
}

// retention holds each capability's key retention against every target
// operation that serves it, where one of the two is new (I27).
func (l *linter) retention() {
	told := map[*Document]bool{}
	pairs := func(capabilities, targets []Document) {
		for i := range capabilities {
			for j := range targets {
				if c, t := &capabilities[i], &targets[j]; c.Kind == KindCapability && t.Kind == KindTarget && !told[c] {
					told[c] = l.keyOutlives(c, t)
				}
			}
		}
	}
	pairs(l.set.New, l.set.New)
	pairs(l.set.New, l.set.Published)
	pairs(l.set.Published, l.set.New)
	for i := range l.set.New {
		if c := &l.set.New[i]; c.Kind == KindCapability && !told[c] {
			// Even where nothing serves it yet, its own budgets have to fit.
			l.keyFits(c, c, "/retention/key", c.Capability, nil)
		}
	}
}

// keyOutlives says whether it told a fault.
func (l *linter) keyOutlives(c, t *Document) bool {
	op := t.Target.serves(c.Capability.Name, c.Capability.Version)
	if op == nil {
		return false
	}
	at, pointer := c, "/retention/key"
	if !l.isNew(c) {
		at, pointer = t, op.Pointer
	}
	return l.keyFits(c, at, pointer, c.Capability, op)
}

func (l *linter) isNew(d *Document) bool {
	return slices.ContainsFunc(l.set.New, func(n Document) bool { return n.Kind == d.Kind && handle(&n) == handle(d) })
}

// keyFits tells a key retention that is shorter than everything that may happen
// under the key, with the sum. It says whether it told a fault.
func (l *linter) keyFits(c, at *Document, pointer string, of *Capability, op *TargetOperation) bool {
	settle, processing, timeout, agreed := time.Duration(0), time.Duration(0), time.Duration(0), time.Duration(0)
	accepted := ""
	if op != nil {
		settle, processing, _ = absenceTerms(op)
		timeout = op.Write.Timeout
		if op.Accepted != nil {
			agreed, accepted = op.Accepted.Within, " + accepted "+formatDuration(op.Accepted.Within)
		}
	}
	straggler := max(l.set.Deployment.withDefaults().Straggler, timeout)
	sum := of.Retry.Within + agreed + of.Reconcile.Within + settle + processing + straggler
	if of.Retention.Key >= sum {
		return false
	}
	whose := "keys"
	if at != c {
		whose = "keys of " + handle(c)
	}
	l.fault(at, pointer, fmt.Sprintf("%s are kept for %s, but retry %s%s + reconcile %s + settle %s + processing %s + straggler %s = %s (I27)",
		whose, formatDuration(of.Retention.Key), formatDuration(of.Retry.Within), accepted, formatDuration(of.Reconcile.Within), formatDuration(settle),
		formatDuration(processing), formatDuration(straggler), formatDuration(sum)), "keep keys for at least "+formatDuration(sum))
	return true
}
