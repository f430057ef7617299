package cli

import (
	"cmp"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/httptarget"
)

// The environment variables. A flag wins over its variable.
const (
	envServer    = "ONEFOLD_SERVER"
	envToken     = "ONEFOLD_TOKEN" //nolint:gosec // the name of a variable, not its value
	envDB        = "ONEFOLD_DB"
	envListen    = "ONEFOLD_LISTEN"
	envAllowCIDR = "ONEFOLD_ALLOW_CIDR"
	envProxy     = "ONEFOLD_PROXY"
	envSecret    = "ONEFOLD_SECRET" //nolint:gosec // the name of a variable, not its value
)

// Variable is an environment variable that the binary reads.
type Variable struct{ Name, Meaning string }

// Variables lists the environment variables, for the reference page.
func Variables() []Variable {
	return []Variable{
		{envServer, "Address of the HTTP API for client commands; `--server` wins. Default: `" + defaultServer + "`."},
		{envToken, "The bearer token of client commands. There is no flag for it: command lines are visible to others."},
		{envDB, "The database, `sqlite:PATH`; `--db` wins."},
		{envListen, "Where `serve` listens; `--listen` wins. Default: `" + defaultListen + "`."},
		{envAllowCIDR, "Address ranges that targets may lie in although they are special (loopback, private, …), separated by commas; `--allow-cidr` adds to them."},
		{envProxy, "Forward proxy through which `serve` and `worker` reach every target, `http://[USER:PASSWORD@]HOST:PORT`; `--proxy` wins. `HTTP_PROXY` and its like are not read."},
		{envSecret, "Reference to the deployment's secret, `env:NAME` or `file:PATH`: the key of fingerprints, at least 16 bytes. Required by `serve` and `worker`."},
		{"ONEFOLD_S_<WORKSPACE>__…", "Secrets that a workspace's connections may refer to, as `env:ONEFOLD_S_<WORKSPACE>__NAME`."},
		{"NO_COLOR", "Set to anything: no colours on a terminal."},
	}
}

// Defaults of addresses. Loopback: who opens onefold to a network says so.
const (
	defaultServer        = "http://127.0.0.1:8080"
	defaultListen        = "127.0.0.1:8080"
	defaultSandboxListen = "127.0.0.1:8090"
)

func (a *app) env(name string) string {
	value, _ := a.LookupEnv(name)
	return value
}

// addServer gives a command the flag of client commands.
func (a *app) addServer(c *cobra.Command) {
	c.Flags().StringVar(&a.server, "server", "", "`URL` of the HTTP API ("+envServer+"; default "+defaultServer+")")
}

// addDB gives a command the flag of commands that work on the database.
func addDB(c *cobra.Command, db *string) {
	c.Flags().StringVar(db, "db", "", "the database, as a `URL`: sqlite:PATH ("+envDB+")")
}

// database is the address of the database that a command works on.
func (a *app) database(c *cobra.Command, flag string) (deployment.Database, error) {
	text := cmp.Or(flag, a.env(envDB))
	if text == "" {
		return deployment.Database{}, usage("for example: --db sqlite:onefold.db", "%s wants --db, or %s", c.CommandPath(), envDB)
	}
	db, err := deployment.ParseDatabase(text)
	if err != nil {
		return db, usage("for example: --db sqlite:onefold.db", "--db: %s", err)
	}
	return db, nil
}

// installation is how a command reaches the database.
func (a *app) installation(db deployment.Database) deployment.Access {
	return deployment.Access{Database: db, Now: a.Now, IDs: a.IDs}
}

// allowed reads the address ranges of the flag and of the environment.
func (a *app) allowed(flags []string) ([]netip.Prefix, error) {
	texts := flags
	for text := range strings.SplitSeq(a.env(envAllowCIDR), ",") {
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, text)
		}
	}
	prefixes := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			if addr, single := netip.ParseAddr(text); single == nil {
				p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
			}
		}
		if err != nil {
			return nil, usage("for example: --allow-cidr 10.0.0.0/8", "%q is no address range", text)
		}
		prefixes = append(prefixes, p.Masked())
	}
	return prefixes, nil
}

// proxy reads the forward proxy of the flag or of the environment, nil for none.
func (a *app) proxy(flag string) (*url.URL, error) {
	const hint = "for example: --proxy http://proxy.internal:3128"
	text := cmp.Or(flag, a.env(envProxy))
	if text == "" {
		return nil, nil //nolint:nilnil // no proxy and no error
	}
	u, err := httptarget.ParseProxy(text)
	if err != nil {
		return nil, usage(hint, "--proxy: %s", err)
	}
	if flag != "" && u.User != nil {
		return nil, usage("set "+envProxy+" instead", "--proxy holds a password: command lines are visible to others")
	}
	return u, nil
}
