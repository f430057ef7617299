package doctor

import (
	"context"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
)

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	OK         Status = "ok"
	Warning    Status = "warning"     // worth a look; may be as it should be
	Failed     Status = "failed"      // something is wrong
	NotChecked Status = "not_checked" // it could not be looked at
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Found is what was found, Do what to do about it, "" where nothing is.
	Found string `json:"found"`
	Do    string `json:"do"`
}

// Report is the outcome of all checks, in a fixed order.
type Report struct {
	At     time.Time `json:"checked_at"`
	OK     bool      `json:"ok"` // no check failed
	Checks []Check   `json:"checks"`
}

// Health is what the checks need of a store; sqlite.Inspection is one.
type Health interface {
	Durability(ctx context.Context) (sqlite.Durability, error)
	Integrity(ctx context.Context) ([]string, error)
	Migrations(ctx context.Context) (int, error)
	Files() (sqlite.Files, error)
	Runner(ctx context.Context) (sqlite.RunnerPlace, error)
	EachLive(ctx context.Context, visit func(op *onefold.Operation, faults []string)) error
	EachOpenReview(ctx context.Context, visit func(id, operation string, faults []string)) error
	Admitted(ctx context.Context) (sqlite.Admitted, error)
	EachKept(ctx context.Context, visit func(op *onefold.Operation, gaps []sqlite.Gap)) (sqlite.Searched, error)
	EachRequest(ctx context.Context, visit func(op *onefold.Operation, request []byte)) (sqlite.Searched, error)
	Sequence(ctx context.Context) (sqlite.Sequence, error)
	Documents(ctx context.Context) ([]onefold.Document, error)
	Times(ctx context.Context) (sqlite.Times, error)
	Pauses(ctx context.Context) ([]onefold.Pause, error)
	Installation(ctx context.Context) (onefold.Installation, error)
}

// The limits where nobody names others.
const (
	// DefaultMaxLog is four times the size at which the log is copied back: below
	// it a busy moment may have come to, above it something pins the log.
	DefaultMaxLog = 128 << 20
	// DefaultMinFree is room for some hundred thousand operations: days, not hours.
	DefaultMinFree = 1 << 30
	// DefaultMaxAge is how old an unresolved operation may become: the time that a
	// contract gives to finding out, where it names no other.
	DefaultMaxAge = 24 * time.Hour
	// DefaultWithin bounds each of the searches that read everything.
	DefaultWithin = 10 * time.Second
	// DefaultGrace is how late housekeeping may be before it counts as missing: ten
	// of its scans.
	DefaultGrace = 10 * time.Second
	// DefaultClockError is how far ahead of this clock a record may be.
	DefaultClockError = 2 * time.Second
)

// Options are the limits, the clocks, the secret and where other secrets are. Now and Boot are required;
// a limit of zero is its default.
type Options struct {
	MaxLog, MinFree           int64
	MaxAge, Within            time.Duration
	Grace, ClockError         time.Duration
	Now                       func() time.Time
	Boot                      func() time.Duration // monotonic, counting suspended time
	SecretGiven               bool
	SecretID, SecretCheck     string // of the secret that was given
	Secret                    []byte // itself, for the fingerprints alone
	SecretTrouble, SecretHint string // why it cannot be used, "" where it can
	// SecretsFolder and LookupEnv are where the connections' secrets are looked for:
	// the folder that serve has, "" where nobody names it, and this process's own
	// environment.
	SecretsFolder string
	LookupEnv     func(name string) (string, bool)
}

func (o Options) filled() Options {
	fill := func(d *time.Duration, fallback time.Duration) {
		if *d == 0 {
			*d = fallback
		}
	}
	fill(&o.MaxAge, DefaultMaxAge)
	fill(&o.Within, DefaultWithin)
	fill(&o.Grace, DefaultGrace)
	fill(&o.ClockError, DefaultClockError)
	if o.MaxLog == 0 {
		o.MaxLog = DefaultMaxLog
	}
	if o.MinFree == 0 {
		o.MinFree = DefaultMinFree
	}
	return o
}

// examination is one run of all checks.
type examination struct {
	Options
	health Health
	report Report
	// current tells that the tables are those of this release and can be read.
	current bool
	// papers are the published documents, and what was found to lack them.
	papers papers
	// overdue is what nobody takes up in time.
	overdue overdue
	// keyIDs are the secrets' ids that stand beside fingerprints.
	keyIDs map[string]bool
}

// Examine makes all checks. It returns no error: what cannot be looked at is a
// check that says so.
func Examine(ctx context.Context, h Health, o Options) Report {
	e := &examination{Options: o.filled(), health: h, keyIDs: map[string]bool{}}
	e.report.At = e.Now().UTC()
	boot := e.Boot()
	e.durability(ctx)
	e.integrity(ctx)
	e.migrations(ctx)
	e.files()
	e.read(ctx)
	e.work(ctx)
	e.lost(ctx)
	e.kept(ctx)
	e.documents()
	e.sequence(ctx)
	e.fingerprints(ctx)
	e.reviews(ctx)
	e.pauses(ctx)
	e.clock(ctx, e.report.At, boot)
	e.secret(ctx)
	e.connectionSecrets(ctx)
	e.report.OK = true
	for _, c := range e.report.Checks {
		e.report.OK = e.report.OK && c.Status != Failed
	}
	return e.report
}

func (e *examination) add(name string, status Status, found, do string) {
	if status == OK {
		do = ""
	}
	e.report.Checks = append(e.report.Checks, Check{name, status, found, do})
}

// unread adds a check that could not be made. The reason is told once, by the
// check of the migrations, where it is that the tables are not ours.
func (e *examination) unread(name string, err error) {
	switch {
	case !e.current:
		e.add(name, NotChecked, "the tables are not those of this release", "see migrations")
	case err != nil:
		e.add(name, Failed, "it cannot be read: "+reason(err), "look at the disk and at integrity")
	}
}

// reason is an error with its cause, for a person on this machine.
func reason(err error) string {
	if e, ok := asProblem(err); ok && e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return err.Error()
}
