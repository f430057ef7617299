package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/onefold-dev/onefold"
)

// app is one run of the command line.
type app struct {
	Process
	// json: answers and errors are JSON.
	json bool
	// exit is how a command that answered ends the process.
	exit int
	// server is the address of the HTTP API, for client commands.
	server string
}

// New builds the whole tree of commands, for pages that describe it.
func New(p Process) *cobra.Command { return newRoot(&app{Process: p}) }

// newRoot builds the tree of commands.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "onefold",
		Short: "Carry each write to another system, and know what became of it",
		Long: "onefold carries writes to other systems so that each intended effect happens at most one time, or stands as an\n" +
			"unresolved operation with a named owner. `onefold dev` shows it on this machine, with a target that misbehaves.",
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.PersistentFlags().VarP(&outputFlag{a}, "output", "o", "form of the answer: text, or json")
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetIn(a.Stdin)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return usage(helpHint(c), "%s", err)
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { a.help(c) })
	root.SetHelpCommand(newHelp(a, root))
	root.AddCommand(
		newDev(a), newServe(a), newWorker(a), newSandbox(a), newMigrate(a), newApply(a), newSchema(a), newRender(a),
		newWorkspace(a), newToken(a), newSubmit(a), newOps(a), newReviews(a), newConnections(a), newFingerprint(a),
		newAgreement(a), newDoctor(a), newVersion(a), newCompletion(a),
	)
	for _, c := range slices.Concat([]*cobra.Command{root}, root.Commands()) {
		group(c)
	}
	return root
}

// outputFlag is --output.
type outputFlag struct{ app *app }

// String returns the form that is set.
func (o *outputFlag) String() string {
	if o.app != nil && o.app.json {
		return outputJSON
	}
	return outputText
}

// Set takes text or json.
func (o *outputFlag) Set(value string) error {
	if value != outputText && value != outputJSON {
		return fmt.Errorf("it is %s or %s", outputText, outputJSON)
	}
	o.app.json = value == outputJSON
	return nil
}

// Type names the flag's values in help texts.
func (o *outputFlag) Type() string { return "FORM" }

// group makes a command with sub-commands refuse to run without one.
func group(c *cobra.Command) {
	if !c.HasSubCommands() {
		return
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		var names []string
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		if len(args) == 0 {
			return usage(helpHint(c), "%s wants a command: %s", c.CommandPath(), strings.Join(names, ", "))
		}
		hint := helpHint(c)
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		return usage(hint, "there is no command %q under %s", args[0], c.CommandPath())
	}
}

func helpHint(c *cobra.Command) string { return "see: " + c.CommandPath() + " --help" }

// wants is the rule for positional arguments: one for each name; a name in
// brackets may be left out.
func wants(names ...string) cobra.PositionalArgs {
	least := 0
	for _, name := range names {
		if !strings.HasPrefix(name, "[") {
			least++
		}
	}
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage("usage: "+c.UseLine(), "%s wants %s", c.CommandPath(), names[len(args)])
		case len(args) > len(names):
			return usage("usage: "+c.UseLine(), "%s takes no argument %q", c.CommandPath(), args[len(names)])
		}
		return nil
	}
}

// required refuses a flag that is missing, or that says nothing: of a blank text
// nobody could read a name or a reason.
func required(c *cobra.Command, name, value, hint string) error {
	switch {
	case value == "":
		return usage(hint, "%s wants --%s", c.CommandPath(), name)
	case onefold.Blank(value):
		return usage(hint, "--%s must not be blank", name)
	}
	return nil
}

// help prints a command's help: text for a person, or one JSON object that
// holds it.
func (a *app) help(c *cobra.Command) {
	if a.json {
		_ = a.line(map[string]any{"command": c.CommandPath(), "usage": c.UseLine(), "help": helpText(c)})
		return
	}
	_, _ = io.WriteString(a.Stdout, helpText(c))
}

func helpText(c *cobra.Command) string {
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	return about + "\n\n" + c.UsageString()
}

// newHelp is the command help, which shows what --help shows.
func newHelp(a *app, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]...", Short: "Show what a command does", Args: cobra.ArbitraryArgs, DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usage("see: onefold --help", "there is no command %q", strings.Join(args, " "))
			}
			a.help(c)
			return nil
		},
	}
}
