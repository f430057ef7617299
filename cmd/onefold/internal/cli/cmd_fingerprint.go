package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/identity"
)

// fingerprintOrder is what fingerprint was asked for.
type fingerprintOrder struct{ path, workspace, connection, secret string }

func newFingerprint(a *app) *cobra.Command {
	var o fingerprintOrder
	c := &cobra.Command{
		Use: "fingerprint -f CAPABILITY.yaml REQUEST.json|-", Short: "Show how a request is compared with its repeats", Args: wants("REQUEST.json"),
		DisableFlagsInUseLine: true,
		Long: "Show the canonical form of a request under a capability's comparison rules, and its fingerprint: two requests\n" +
			"with one fingerprint are the same intent. It works offline, from the document alone.\n\n" +
			"Workspace and connection are part of the intent; where the file holds the only connection that serves the\n" +
			"capability, they are taken from it. Without a secret there is no fingerprint.",
		RunE: func(c *cobra.Command, args []string) error { return a.fingerprint(c, &o, args[0]) },
	}
	c.Flags().StringVarP(&o.path, "file", "f", "", "the `PATH` of the file or folder with the capability's document")
	c.Flags().StringVar(&o.workspace, "workspace", "", "`NAME` of the workspace")
	c.Flags().StringVar(&o.connection, "connection", "", "`NAME` of the connection")
	c.Flags().StringVar(&o.secret, "secret", "", "the secret, as a `REFERENCE`: env:NAME or file:PATH, of any length ("+envSecret+")")
	return c
}

func (a *app) fingerprint(c *cobra.Command, o *fingerprintOrder, name string) error {
	if err := required(c, "file", o.path, "the capability's document: -f bills.yaml"); err != nil {
		return err
	}
	docs, err := a.readDocuments(o.path)
	if err != nil {
		return err
	}
	capability, err := onlyCapability(docs, o.path)
	if err != nil {
		return err
	}
	secret, err := a.anySecret(c, o.secret)
	if err != nil {
		return err
	}
	request, err := a.readRequest(name)
	if err != nil {
		return err
	}
	normal, err := normalize(capability, request)
	if err != nil {
		return err
	}
	o.fromDocuments(docs, capability)
	fingerprint, err := a.fingerprintOf(c, o, capability, normal, secret)
	if err != nil {
		return err
	}
	canonical := string(identity.Canonical(normal))
	return a.answer(map[string]any{
		"canonical": canonical, "fingerprint": fingerprint, "identities": map[string]any{},
	}, func(w io.Writer) {
		pairs(w, [2]string{"canonical", canonical}, [2]string{"fingerprint", deref(fingerprint)})
	})
}

// fingerprintOf is the fingerprint, or nil where there is no secret.
func (a *app) fingerprintOf(c *cobra.Command, o *fingerprintOrder, capability *contract.Capability, normal *identity.Value, secret []byte) (*string, error) {
	if secret == nil {
		a.note("there is no secret, so there is no fingerprint; give --secret, or %s", envSecret)
		return nil, nil
	}
	if o.workspace == "" || o.connection == "" {
		a.note("without --workspace and --connection this is not the fingerprint of any operation; it only compares requests")
	}
	text := identity.Fingerprint(secret, identity.Intent{
		Workspace: o.workspace, Capability: capability.Name, ContractVersion: capability.Version, Connection: o.connection, Request: normal,
	})
	return &text, c.Context().Err()
}

// normalize applies the comparison rules; a refusal's pointer and offset are
// those of the request itself.
func normalize(capability *contract.Capability, request []byte) (*identity.Value, error) {
	rules, err := identity.CompileRules(capability.Compare)
	if err != nil {
		return nil, fmt.Errorf("the comparison rules: %w", err)
	}
	v, err := identity.Parse(request, identity.Limits{})
	if err != nil {
		return nil, syntaxFailure(err)
	}
	normal, err := rules.Normalize(v)
	if rule, ok := errors.AsType[*identity.RuleError](err); ok {
		f := fromError(&onefold.Error{
			Code: onefold.CodeRequestInvalid, Message: "the request does not fit the comparison rules: " + rule.Detail, Pointer: rule.Pointer,
			Faults: []onefold.Fault{{Pointer: rule.Pointer, Rule: rule.Rule, Detail: rule.Detail}}, Cause: err,
		})
		f.problem["pointer"] = rule.Pointer // also where it is the whole request
		if at, there := v.At(rule.Pointer); there {
			start, _ := at.Span()
			f.problem["offset"] = start
		}
		return nil, f
	}
	return normal, err
}

func syntaxFailure(err error) error {
	syntax, ok := errors.AsType[*identity.SyntaxError](err)
	if !ok {
		return err
	}
	code := onefold.CodeJSONInvalid
	if syntax.Reason == identity.ReasonTooLarge {
		code = onefold.CodeTooLarge
	}
	f := fromError(&onefold.Error{
		Code: code, Message: "the request is no acceptable JSON: " + syntax.Detail, Reason: syntax.Reason, Offset: &syntax.Offset, Cause: err,
	})
	f.problem["pointer"] = ""
	return f
}

// fromDocuments fills in what the file itself tells.
func (o *fingerprintOrder) fromDocuments(docs []contract.Document, capability *contract.Capability) {
	if o.workspace != "" && o.connection != "" {
		return
	}
	var only *contract.Connection
	for i := range docs {
		conn := docs[i].Connection
		fits := conn != nil && (o.workspace == "" || conn.Workspace == o.workspace) && (o.connection == "" || conn.Name == o.connection)
		if !fits || !deployment.Serves(docs, conn, capability) {
			continue
		}
		if only != nil {
			return
		}
		only = conn
	}
	if only != nil {
		o.workspace, o.connection = only.Workspace, only.Name
	}
}

// onlyCapability is the capability that documents hold; of several versions the
// newest.
func onlyCapability(docs []contract.Document, path string) (*contract.Capability, error) {
	var found *contract.Capability
	for i := range docs {
		switch next := docs[i].Capability; {
		case next == nil:
		case found == nil || found.Name == next.Name && found.Version < next.Version:
			found = next
		case found.Name != next.Name:
			return nil, usage("name a file that holds one capability", "%s holds several capabilities: %s, %s", path, found.Name, next.Name)
		}
	}
	if found == nil {
		return nil, usage("name a file that holds a document of the kind capability", "%s holds no capability", path)
	}
	return found, nil
}

// anySecret resolves the secret of --secret or the environment, of any length;
// nil where neither names one.
func (a *app) anySecret(c *cobra.Command, flag string) ([]byte, error) {
	ref := cmp.Or(flag, a.env(envSecret))
	if ref == "" {
		return nil, nil
	}
	secret, err := deployment.ResolveSecret(c.Context(), ref, a.LookupEnv)
	if err != nil {
		return nil, usage("a secret is named by env:NAME or file:PATH", "the secret: %s", err)
	}
	return secret, nil
}

// readRequest reads a request from a file, or from standard input for "-", up to
// one byte beyond what is accepted, so that the refusal is the parser's own.
func (a *app) readRequest(name string) ([]byte, error) {
	in := a.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, unreadable(name, err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, identity.DefaultMaxBytes+1))
	if err != nil {
		return nil, unreadable(name, err)
	}
	return text, nil
}

func unreadable(name string, err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		err = pathErr.Err
	}
	return usage("the request is a file, or - for standard input", "%s cannot be read: %s", name, err)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
