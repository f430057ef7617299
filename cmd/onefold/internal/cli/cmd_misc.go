package cli

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold/contract"
)

// version is what the binary says of itself.
type version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// thisVersion reads what the build wrote into the binary.
func thisVersion() version {
	v := version{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which version this is", Args: wants(),
		RunE: func(*cobra.Command, []string) error {
			v := thisVersion()
			return a.answer(v, func(w io.Writer) {
				fmt.Fprintf(w, "onefold %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			})
		},
	}
}

func newSchema(a *app) *cobra.Command {
	var kinds []string
	for _, kind := range contract.Kinds() {
		kinds = append(kinds, string(kind))
	}
	return &cobra.Command{
		Use: "schema [KIND]", Short: "Print the JSON Schema of a kind of document", Args: wants("[KIND]"), ValidArgs: kinds,
		Long: "Print the JSON Schema (2020-12) of a kind of document, for editors: " + strings.Join(kinds, ", ") + ".\n" +
			"Without a kind, the kinds are listed.",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.answer(map[string]any{"kinds": kinds}, func(w io.Writer) {
					for _, kind := range kinds {
						fmt.Fprintln(w, kind)
					}
				})
			}
			if !slices.Contains(kinds, args[0]) {
				return usage("the kinds are "+strings.Join(kinds, ", "), "there is no kind of document %q", args[0])
			}
			_, err := a.Stdout.Write(contract.Schema(args[0]))
			return err
		},
	}
}

func newCompletion(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a script that completes command lines in a shell", Args: wants("SHELL"), ValidArgs: shells,
		Long: "Print a script that completes command lines in a shell: " + strings.Join(shells, ", ") + ".\n" +
			"For example: source <(onefold completion bash)",
		RunE: func(c *cobra.Command, args []string) error {
			var script bytes.Buffer
			var err error
			switch root := c.Root(); args[0] {
			case "bash":
				err = root.GenBashCompletionV2(&script, true)
			case "zsh":
				err = root.GenZshCompletion(&script)
			case "fish":
				err = root.GenFishCompletion(&script, true)
			case "powershell":
				err = root.GenPowerShellCompletionWithDesc(&script)
			default:
				return usage("the shells are "+strings.Join(shells, ", "), "there is no completion for %q", args[0])
			}
			if err != nil {
				return fmt.Errorf("write the script: %w", err)
			}
			return a.answer(map[string]any{"shell": args[0], "script": script.String()}, func(w io.Writer) {
				_, _ = w.Write(script.Bytes())
			})
		},
	}
}
