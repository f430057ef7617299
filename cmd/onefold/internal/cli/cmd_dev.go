package cli

import "github.com/spf13/cobra"

func newDev(a *app) *cobra.Command { return &cobra.Command{Use: "dev"} }
