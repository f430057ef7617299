package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/doctor"
)

// doctorOrder is what doctor was asked for.
type doctorOrder struct {
	db      string
	options doctor.Options
}

func newDoctor(a *app) *cobra.Command {
	var o doctorOrder
	c := &cobra.Command{
		Use: "doctor", Short: "Examine an installation's database", Args: wants(),
		Long: "Examine an installation's database, also beside a running server, and change nothing in it: the settings that\n" +
			"durability rests on, integrity, migrations, the size of the write-ahead log, free space, whether somebody runs the\n" +
			"file, expired leases, attempts without an end, operations and reviews without an owner, the oldest operation that\n" +
			"is unknown at its target, rows that are gone or disagree with each other, documents that operations need, paused\n" +
			"connections, the clock, the secret and, where " + envSecret + " is given, the requests that it made fingerprints\n" +
			"of, and the secrets of connections: files below --secrets-dir, and variables as this process has them, which the\n" +
			"server's may differ from.\n\n" +
			"Each check is ok, warning, failed or not_checked. The exit code is 1 where one failed, else 0.",
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c, &o) },
	}
	addDB(c, &o.db)
	d := &o.options
	d.MaxLog, d.MinFree, d.MaxAge, d.Within, d.Grace = doctor.DefaultMaxLog, doctor.DefaultMinFree, doctor.DefaultMaxAge, doctor.DefaultWithin, doctor.DefaultGrace
	d.ClockError = doctor.DefaultClockError
	f := c.Flags()
	addRanged(f, bytesFlag{&d.MaxLog}, "max-wal", "how large the write-ahead log may be; `BYTES`, also as 64MiB")
	addRanged(f, bytesFlag{&d.MinFree}, "min-free", "how much space must be free where the database lies; `BYTES`, also as 1GiB")
	addRanged(f, durationFlag{&d.MaxAge, time.Second, mostAge}, "max-age", "how old an operation may be that is unknown at its target, before it is warned of")
	addRanged(f, durationFlag{&d.Grace, leastTiming, mostTiming}, "grace", "how late the runner may be with expired leases and due work")
	addRanged(f, durationFlag{&d.ClockError, leastTiming, mostTiming}, "clock-error", "how far ahead of this machine's clock a record may be")
	addRanged(f, durationFlag{&d.Within, leastTiming, mostTiming}, "within", "how long each of the searches may take that read everything: integrity, lost operations, rows that are gone, requests, secrets")
	f.StringVar(&d.SecretsFolder, "secrets-dir", "", "`FOLDER` of file: secrets, as serve has it")
	return c
}

func (a *app) doctor(c *cobra.Command, o *doctorOrder) error {
	db, err := a.database(c, o.db)
	if err != nil {
		return err
	}
	inspection, err := a.installation(db).Inspect(c.Context())
	if err != nil {
		return err
	}
	a.doctorSecret(c.Context(), &o.options)
	o.options.Now, o.options.Boot, o.options.LookupEnv = a.Now, a.Boot, a.LookupEnv
	report := doctor.Examine(c.Context(), inspection, o.options)
	if err := errors.Join(c.Context().Err(), inspection.Close()); err != nil {
		return err
	}
	if !report.OK {
		a.exit = ExitFailed
	}
	return a.answer(struct {
		DB string `json:"db"`
		doctor.Report
	}{db.String(), report}, func(w io.Writer) { a.doctorText(w, report) })
}

// doctorSecret takes the secret, where one is given. What is wrong with it is a
// finding.
func (a *app) doctorSecret(ctx context.Context, o *doctor.Options) {
	ref := a.env(envSecret)
	if ref == "" {
		return
	}
	o.SecretGiven = true
	o.SecretHint = envSecret + " is env:NAME or file:PATH, as serve has it"
	bytes, err := deployment.ResolveSecret(ctx, ref, a.LookupEnv)
	if err != nil {
		o.SecretTrouble = err.Error()
		return
	}
	secret, err := deployment.NewSecret(bytes)
	if err != nil {
		o.SecretTrouble = err.Error()
		return
	}
	o.SecretID, o.SecretCheck, o.Secret = secret.ID, secret.Check, bytes
}

// doctorText shows the report to a person.
func (a *app) doctorText(w io.Writer, r doctor.Report) {
	count := map[doctor.Status]int{}
	rows := make([][]string, 0, len(r.Checks))
	for _, c := range r.Checks {
		count[c.Status]++
		rows = append(rows, []string{doctorSign(c.Status), c.Name, plain(c.Found)})
		if c.Do != "" {
			rows = append(rows, []string{"", "", "→ " + plain(c.Do)})
		}
	}
	table(w, []string{"STATUS", "CHECK", "FOUND"}, rows)
	summary := fmt.Sprintf("%d ok, %d warnings, %d failed, %d not checked",
		count[doctor.OK], count[doctor.Warning], count[doctor.Failed], count[doctor.NotChecked])
	paint := green
	if !r.OK {
		paint = yellow
	}
	fmt.Fprintf(w, "\n%s\n", a.color(paint, summary))
}

// doctorSign is a status as a word with a sign.
func doctorSign(s doctor.Status) string {
	switch s {
	case doctor.OK:
		return "✓ ok"
	case doctor.Warning:
		return "! warning"
	case doctor.Failed:
		return "✗ failed"
	case doctor.NotChecked:
	}
	return "− not checked"
}
