package doctor

import (
	"context"
	"fmt"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/sqlite"
)

// asChanged is what to do about a file that says two things.
const asChanged = "; this is a fault of onefold or a changed file: stop onefold, keep a copy of the file and of its -wal, compare it with the last good backup, and report it"

// papers are the published documents, compiled as the server compiles them, and the
// operations that lack theirs.
type papers struct {
	registry *contract.Registry
	err      error // why there is no registry
	known    map[paper]onefold.Binding
	lacking  map[paper]error
	missing  list
	open     int
}

// paper is what an operation's documents are found by.
type paper struct {
	workspace, capability, target, connection string
	version, targetVersion, revision          int
}

// read reads the published documents.
func (e *examination) read(ctx context.Context) {
	p := &e.papers
	p.known, p.lacking = map[paper]onefold.Binding{}, map[paper]error{}
	if !e.current {
		return
	}
	docs, err := e.health.Documents(ctx)
	registry := contract.NewRegistry(contract.Options{Secret: e.Secret, SecretID: e.SecretID})
	if err == nil {
		err = registry.Load(docs)
	}
	if p.err = err; err == nil {
		p.registry = registry
	}
}

// find finds the documents that an operation was admitted and frozen under.
func (p *papers) find(op *onefold.Operation) (onefold.Binding, error) {
	key := paper{
		op.Workspace, op.Capability, op.Target, op.Connection,
		op.ContractVersion, op.TargetVersion, op.ConnectionRevision,
	}
	if b, ok := p.known[key]; ok {
		return b, nil
	}
	if err, ok := p.lacking[key]; ok {
		return nil, err
	}
	b, err := p.registry.Pinned(op)
	if err != nil {
		p.lacking[key] = err
		return nil, err
	}
	p.known[key] = b
	return b, nil
}

// need notes an operation whose documents are not there.
func (p *papers) need(op *onefold.Operation) {
	if p.registry == nil {
		return
	}
	if _, err := p.find(op); err != nil {
		p.missing.add(op.ID + " (" + reason(err) + ")")
	}
}

// documents checks that the documents are there by which open operations go on and
// repeats of finished ones are compared.
func (e *examination) documents() {
	p := &e.papers
	switch {
	case !e.current:
		e.unread("documents", nil)
	case p.err != nil:
		e.add("documents", Failed, "the published documents cannot be read: "+reason(p.err), "use the release that published them, or a later one"+asChanged)
	case p.missing.n > 0:
		e.add("documents", Failed, fmt.Sprintf("%d operations lack what they were admitted under: %s", p.missing.n, p.missing.String()),
			"publish the very documents again, from where they are kept: until then such an operation is not sent, looked up or compared"+asChanged)
	default:
		e.add("documents", OK, fmt.Sprintf("%d open operations, and those that are over, have what they were admitted under", p.open), "")
	}
}

// sequence holds the counter of sequence numbers against what was written.
func (e *examination) sequence(ctx context.Context) {
	if !e.current {
		e.unread("sequence", nil)
		return
	}
	s, err := e.health.Sequence(ctx)
	switch {
	case err != nil:
		e.unread("sequence", err)
	case s.Counter < 0:
		e.add("sequence", Failed, fmt.Sprintf("the counter is gone; %d was the last number in use", s.Written),
			"nothing for the counter, which the next write sets again; but look what else was deleted"+asChanged)
	case s.Counter < s.Written:
		e.add("sequence", Failed, fmt.Sprintf("the counter says %d, and %d is in use", s.Counter, s.Written),
			"nothing for the counter, which the next write sets right; but look what else was changed"+asChanged)
	case s.Counter > s.Written:
		e.add("sequence", Failed, fmt.Sprintf("the counter says %d, and the newest line that is there is %d: the lines after it are gone, or the counter was changed", s.Counter, s.Written),
			"take the newest timelines for incomplete"+asChanged)
	default:
		e.add("sequence", OK, fmt.Sprintf("%d numbers are given, and the newest line has the last", s.Counter), "")
	}
}

// fingerprints holds the approved requests against the fingerprints of their
// admissions, within its time. It needs the secret that made them (I8).
func (e *examination) fingerprints(ctx context.Context) {
	const name = "fingerprints"
	switch {
	case !e.current:
		e.unread(name, nil)
		return
	case len(e.Secret) == 0:
		e.add(name, NotChecked, "they cannot be held against the requests without the secret", "give ONEFOLD_SECRET as serve has it")
		return
	case e.papers.registry == nil:
		e.add(name, NotChecked, "they cannot be held against the requests without the documents", "see documents")
		return
	}
	bounded, cancel := context.WithTimeout(ctx, e.Within)
	defer cancel()
	changed, compared, foreign := list{}, 0, 0
	s, err := e.health.EachRequest(bounded, func(op *onefold.Operation, request []byte) {
		if op.FingerprintKey != e.SecretID {
			foreign++
			return
		}
		b, err := e.papers.find(op)
		if err != nil {
			return // another finding
		}
		compared++
		if fingerprint, _, err := b.Fingerprint(request); err != nil || fingerprint != op.Fingerprint {
			changed.add(op.ID)
		}
	})
	e.compared(name, s, err, compared, foreign, &changed)
}

func (e *examination) compared(name string, s sqlite.Searched, err error, compared, foreign int, changed *list) {
	switch {
	case err != nil:
		e.unread(name, err)
	case changed.n > 0:
		e.add(name, Failed, fmt.Sprintf("the requests of %d of %s are not what was admitted: %s", changed.n, searched(s), changed.String()),
			"such an operation is not sent any more; look at the target for what was, and decide it with onefold ops resolve"+asChanged)
	case s.Seen == 0 && !s.All:
		e.add(name, NotChecked, "the search was not over within "+e.Within.String(), "give it more time with --within")
	case foreign > 0:
		e.add(name, NotChecked, fmt.Sprintf("%d of %s have fingerprints made under another secret than the one that was given", foreign, searched(s)), "see secret")
	default:
		e.add(name, OK, fmt.Sprintf("of %s the %d requests that can be compared are what was admitted", searched(s), compared), "")
	}
}
