package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
)

// lost looks for operations whose standing lies nowhere, within its time.
func (e *examination) lost(ctx context.Context) {
	if !e.current {
		e.unread("admitted", nil)
		return
	}
	bounded, cancel := context.WithTimeout(ctx, e.Within)
	defer cancel()
	a, err := e.health.Admitted(bounded)
	if err != nil {
		e.unread("admitted", err)
		return
	}
	seen := searched(a.Searched)
	lost, strays := list{}, list{}
	for _, id := range a.Lost {
		lost.add(id)
	}
	for _, num := range a.Strays {
		strays.add(fmt.Sprintf("row %d", num))
	}
	switch {
	case strays.n > 0:
		e.add("admitted", Failed, fmt.Sprintf("%d finished operations are gone but for their standing: %s", strays.n, strays.String()),
			"this is a fault of onefold or a changed file: keep a copy of the file and report it")
	case lost.n > 0:
		e.add("admitted", Failed, fmt.Sprintf("%d of %s have no standing, or two: %s", lost.n, seen, lost.String()),
			"this is a fault of onefold or a changed file: keep a copy of the file and report it")
	case a.Seen == 0 && !a.All:
		e.add("admitted", NotChecked, "the search was not over within "+e.Within.String(), "give it more time with --within")
	default:
		e.add("admitted", OK, seen+" have their one standing", "")
	}
}

// reviews holds the list of reviews against the reviews themselves.
func (e *examination) reviews(ctx context.Context) {
	if !e.current {
		e.unread("reviews", nil)
		return
	}
	open, bad := 0, list{}
	err := e.health.EachOpenReview(ctx, func(id, operation string, faults []string) {
		open++
		for _, f := range faults {
			bad.add(id + " of " + operation + " (" + f + ")")
		}
	})
	switch {
	case err != nil:
		e.unread("reviews", err)
	case bad.n > 0:
		e.add("reviews", Failed, fmt.Sprintf("%d faults in the list of reviews: %s", bad.n, bad.String()),
			"this is a fault of onefold or a changed file: keep a copy of the file and report it")
	default:
		e.add("reviews", OK, fmt.Sprintf("%d open, each with its owner", open), "")
	}
}

// pauses tells which connections are paused.
func (e *examination) pauses(ctx context.Context) {
	if !e.current {
		e.unread("pauses", nil)
		return
	}
	all, err := e.health.Pauses(ctx)
	if err != nil {
		e.unread("pauses", err)
		return
	}
	if len(all) == 0 {
		e.add("pauses", OK, "no connection is paused", "")
		return
	}
	paused := list{}
	for _, p := range all {
		text := p.Connection.Workspace + "/" + p.Connection.Connection + ", since " + p.Since.UTC().Format(time.RFC3339) + " by " + p.By.Name
		if p.Reason != "" {
			text += " (" + p.Reason + ")"
		}
		paused.add(text)
	}
	e.add("pauses", Warning, fmt.Sprintf("%d connections are paused: %s", paused.n, paused.String()),
		"when the reason is gone: onefold connections resume NAME")
}

// clock holds this machine's clock against the newest records and against a
// clock that never goes back. Leases are measured with it (M9).
func (e *examination) clock(ctx context.Context, began time.Time, boot time.Duration) {
	const do = "mend the machine's clock (NTP); operations of the time that is ahead wait until it has come"
	if !e.current {
		e.unread("clock", nil)
		return
	}
	t, err := e.health.Times(ctx)
	if err != nil {
		e.unread("clock", err)
		return
	}
	now, ran := e.Now(), e.Boot()-boot
	jumped := now.Sub(began.Round(0)) - ran
	switch ahead := t.Newest.Sub(now); {
	case ahead > e.ClockError:
		e.add("clock", Failed, fmt.Sprintf("the newest record is of %s, %s ahead of this machine's clock", t.Newest.Format(time.RFC3339), age(ahead)), do)
	case jumped.Abs() > e.ClockError:
		e.add("clock", Failed, fmt.Sprintf("the clock jumped by %s while it was looked at", age(jumped)), do)
	case t.Back > e.ClockError:
		e.add("clock", Warning, fmt.Sprintf("the clock went back by %s among the newest records", age(t.Back)), do)
	case t.Newest.IsZero():
		e.add("clock", OK, "it runs evenly; nothing is recorded yet", "")
	default:
		e.add("clock", OK, fmt.Sprintf("it runs evenly; the newest record is %s old", age(max(0, now.Sub(t.Newest)))), "")
	}
}

// secret holds the given secret against the check values of those that made the
// fingerprints (I8).
func (e *examination) secret(ctx context.Context) {
	installation, err := onefold.Installation{}, error(nil)
	if e.current {
		installation, err = e.health.Installation(ctx)
	}
	for _, id := range installation.KeyIDs {
		e.keyIDs[id] = true
	}
	lost := deployment.Unchecked(installation, slices.Sorted(maps.Keys(e.keyIDs)))
	switch {
	case e.current && err == nil && len(lost) > 0:
		e.add("secret", Failed, "operations have fingerprints made under the secret "+strings.Join(lost, ", ")+", of which the database has no check value",
			"start the server with that secret and no other: under another one every repeated key would look like a conflict; something has deleted from the file, so compare it with the last good backup")
		return
	case !e.SecretGiven:
		e.add("secret", NotChecked, "ONEFOLD_SECRET is not given", "give the one that serve has")
		return
	case e.SecretTrouble != "":
		e.add("secret", Failed, e.SecretTrouble, e.SecretHint)
		return
	case !e.current || err != nil:
		e.unread("secret", err)
		return
	}
	for id, check := range installation.Secrets {
		if check != e.SecretCheck {
			e.add("secret", Failed, "the database has fingerprints made under the secret "+id+", not under the one that was given ("+e.SecretID+")",
				"give the secret that this database was used with; under another one every repeated key would look like a conflict")
			return
		}
	}
	if len(installation.Secrets) == 0 {
		e.add("secret", OK, "the database has not been used with a secret yet", "")
		return
	}
	e.add("secret", OK, e.SecretID+" is the one that made the fingerprints", "")
}
