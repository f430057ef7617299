package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// MaxBytes bounds a secret: a certificate chain with its key fits several
// times, and a reference to some large file costs nothing more.
const MaxBytes = 64 << 10

// Schemes of references.
const (
	schemeEnv   = "env"
	schemeFile  = "file"
	schemeStore = "store"
)

// envPrefix begins every environment name that a workspace's document may use.
const envPrefix = "ONEFOLD_S_"

// Errors of references, matched with errors.Is.
var (
	// ErrReference: the text is no reference.
	ErrReference = errors.New("not a secret reference")
	// ErrForbidden: the reference leads to what does not belong to the workspace.
	ErrForbidden = errors.New("secret of somebody else")
	// ErrMissing: nothing is there, or nothing that can be read.
	ErrMissing = errors.New("secret missing")
	// ErrUnsupported: a form of reference that this release does not know yet.
	ErrUnsupported = errors.New("secret reference not supported yet")
)

// Fault is why a reference gives no secret. Its text names the reference and
// never a value. errors.Is matches the kind (ErrForbidden, ErrMissing) and what
// the system said of a file.
type Fault struct {
	ref, why    string
	kind, cause error
}

// Error returns reference, reason and kind.
func (f *Fault) Error() string { return f.text() + ": " + f.kind.Error() }

// text is reference and reason. The reasons are worded so that none is taken for
// the value of a member that is called token, or basic, where such words are the
// end of a reference: redaction goes by the look of a text.
func (f *Fault) text() string { return f.ref + " " + f.why }

// Unwrap returns the kind and the cause.
func (f *Fault) Unwrap() []error {
	if f.cause == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.cause}
}

// Why says in words that may be shown to those who see the workspace's documents
// why a reference of one of them gives no secret: the reference and the reason,
// never a value, and nothing of a text that is no reference of that workspace,
// since it may be the secret itself. err is what Resolve said; of other errors
// nothing is repeated.
func Why(workspace, ref string, err error) string {
	if Check(workspace, ref) != nil {
		return "what stands in its place is no reference of this workspace"
	}
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.text()
	}
	return ref + " gives none"
}

var (
	workspaceName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	envName       = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Resolver resolves references. It keeps nothing: a secret that was changed is
// the changed one at its next use. The zero value knows no folder and no
// environment. It is safe for concurrent use if LookupEnv is.
type Resolver struct {
	// Folder is the secrets folder; without one, no file reference resolves.
	Folder string
	// LookupEnv reads the environment; the binary gives os.LookupEnv. Without
	// one, no env reference resolves.
	LookupEnv func(name string) (string, bool)
}

// EnvPrefix returns how the environment names of a workspace's secrets begin:
// ONEFOLD_S_ACME_EU__ for acme-eu.
func EnvPrefix(workspace string) string {
	return envPrefix + strings.ReplaceAll(strings.ToUpper(workspace), "-", "_") + "__"
}

// Check holds the form of a workspace's reference, and that it names something
// of that workspace, without reading anything. Errors: ErrReference,
// ErrForbidden, ErrUnsupported.
func Check(workspace, ref string) error {
	if !workspaceName.MatchString(workspace) {
		return fmt.Errorf("workspace %q: %w", workspace, ErrForbidden)
	}
	scheme, name, err := split(ref)
	if err != nil {
		return err
	}
	if scheme == schemeEnv {
		if prefix := EnvPrefix(workspace); !strings.HasPrefix(name, prefix) || name == prefix {
			return fmt.Errorf("env:%s does not begin with %s and a name: %w", name, prefix, ErrForbidden)
		}
		return nil
	}
	if !filepath.IsAbs(name) && !within(filepath.Clean(name), workspace) {
		return fmt.Errorf("file:%s is not below %s/: %w", name, workspace, ErrForbidden)
	}
	return nil
}

// Resolve returns the bytes behind a reference of a workspace's document.
// Errors: those of Check, and a *Fault of the kind ErrMissing or ErrForbidden.
func (r *Resolver) Resolve(ctx context.Context, workspace, ref string) ([]byte, error) {
	v, err := r.Value(ctx, workspace, ref)
	if err != nil {
		return nil, err
	}
	return v.Reveal(), nil
}

// Value is Resolve with a result that does not print.
func (r *Resolver) Value(ctx context.Context, workspace, ref string) (Value, error) {
	if err := Check(workspace, ref); err != nil {
		return Value{}, err
	}
	if err := ctx.Err(); err != nil {
		return Value{}, err
	}
	scheme, name, err := split(ref)
	if err != nil {
		return Value{}, err
	}
	if scheme == schemeEnv {
		return r.fromEnv(name)
	}
	return r.fromWorkspaceFile(workspace, name)
}

// Deployment returns the value behind a reference of the deployment's own
// settings, such as ONEFOLD_SECRET's: any environment name, and any file, a
// relative path counting from the secrets folder. It must never be given a
// reference that came out of a document. Errors: ErrReference, ErrMissing,
// ErrUnsupported.
func (r *Resolver) Deployment(ctx context.Context, ref string) (Value, error) {
	scheme, name, err := split(ref)
	if err != nil {
		return Value{}, err
	}
	if err := ctx.Err(); err != nil {
		return Value{}, err
	}
	if scheme == schemeEnv {
		return r.fromEnv(name)
	}
	if !filepath.IsAbs(name) {
		if r.Folder == "" {
			return Value{}, fileFault(name, noFolder, nil)
		}
		name = filepath.Join(r.Folder, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return Value{}, fileFault(name, reason(err), err)
	}
	return read(f, name)
}

// split takes a reference apart. Its errors never repeat the text, which may
// be a secret that was put in the wrong place.
func split(ref string) (scheme, name string, err error) {
	scheme, name, ok := strings.Cut(ref, ":")
	switch {
	case !ok:
		return "", "", fmt.Errorf("a secret is named by env:NAME or file:PATH: %w", ErrReference)
	case scheme == schemeEnv && !envName.MatchString(name):
		return "", "", fmt.Errorf("what follows env: is no environment name: %w", ErrReference)
	case scheme == schemeFile && (name == "" || strings.ContainsRune(name, 0)):
		return "", "", fmt.Errorf("what follows file: is no path: %w", ErrReference)
	case scheme == schemeStore:
		return "", "", fmt.Errorf("store: references: %w", ErrUnsupported)
	case scheme != schemeEnv && scheme != schemeFile:
		return "", "", fmt.Errorf("a secret is named by env:NAME or file:PATH: %w", ErrReference)
	}
	return scheme, name, nil
}

// fromEnv reads an environment variable, as it is.
func (r *Resolver) fromEnv(name string) (Value, error) {
	missing := func(why string) (Value, error) {
		return Value{}, &Fault{ref: "env:" + name, why: why, kind: ErrMissing}
	}
	if r.LookupEnv == nil {
		return missing("has no environment at hand")
	}
	text, ok := r.LookupEnv(name)
	switch {
	case !ok:
		return missing("is not set")
	case text == "":
		return missing("is empty")
	case len(text) > MaxBytes:
		return missing(tooLong())
	}
	return New([]byte(text)), nil
}

// noFolder is the reason where files have no place to lie in.
const noFolder = "is in no folder: no secrets folder is set"

func tooLong() string { return fmt.Sprintf("is longer than %d bytes", MaxBytes) }

// fileFault says why a file gives no secret.
func fileFault(name, why string, cause error) *Fault {
	return &Fault{ref: "file:" + name, why: why, kind: ErrMissing, cause: cause}
}

// fromWorkspaceFile reads a file below the workspace's folder. Links are
// resolved first and the place that they lead to is what is judged; then the
// resolved path is opened within that folder, so that a link which is changed
// in between leads nowhere else.
func (r *Resolver) fromWorkspaceFile(workspace, name string) (Value, error) {
	missing := func(err error) (Value, error) {
		return Value{}, fileFault(name, reason(err), err)
	}
	if r.Folder == "" {
		return Value{}, fileFault(name, noFolder, nil)
	}
	folder, err := filepath.Abs(r.Folder)
	if err != nil {
		return missing(err)
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return missing(err)
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	below := filepath.Join(folder, workspace)
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return missing(err)
	}
	if !within(path, below) {
		return Value{}, &Fault{ref: "file:" + name, why: "leads out of the workspace's folder", kind: ErrForbidden}
	}
	root, err := os.OpenRoot(below)
	if err != nil {
		return missing(err)
	}
	defer func() { _ = root.Close() }()
	inside, err := filepath.Rel(below, path)
	if err != nil {
		return missing(err)
	}
	// A pipe would hold up whoever opens it, so the kind of file is asked first.
	info, err := root.Stat(inside)
	if err != nil {
		return missing(err)
	}
	if !info.Mode().IsRegular() {
		return Value{}, fileFault(name, "is no regular file", nil)
	}
	f, err := root.Open(inside)
	if err != nil {
		return missing(err)
	}
	return read(f, name)
}

// read reads a secret's file to its end and closes it. One newline at the end
// is the editor's and not the secret's.
func read(f *os.File, name string) (Value, error) {
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return Value{}, fileFault(name, reason(err), err)
	}
	if !info.Mode().IsRegular() {
		return Value{}, fileFault(name, "is no regular file", nil)
	}
	content, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return Value{}, fileFault(name, reason(err), err)
	}
	if len(content) > MaxBytes {
		return Value{}, fileFault(name, tooLong(), nil)
	}
	if cut, ok := bytes.CutSuffix(content, []byte("\r\n")); ok {
		content = cut
	} else {
		content = bytes.TrimSuffix(content, []byte("\n"))
	}
	if len(content) == 0 {
		return Value{}, fileFault(name, "is empty", nil)
	}
	return New(content), nil
}

// within says whether a clean path lies below a clean folder.
func within(path, folder string) bool {
	return strings.HasPrefix(path, folder+string(filepath.Separator))
}

// reason says what was wrong with a file in words that hold no path of ours.
func reason(err error) string {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "is not there"
	case errors.Is(err, os.ErrPermission):
		return "may not be read"
	}
	return "could not be read"
}
