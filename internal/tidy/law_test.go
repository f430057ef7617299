package tidy

import (
	"go/ast"
	"slices"
	"sort"
	"strings"
)

// layer is one row of the import law: what the packages at or below a folder
// may import besides the standard library and themselves. Tests are free to
// import more; only cmd is closed to them too.
type layer struct {
	folder string
	// module lists folders of this module, "." for the root package.
	module []string
	// external lists modules of others by the beginning of their import path.
	external []string
	// drivers says that the folder may import a database driver: it opens its
	// own file and is no part of the library that people embed.
	drivers bool
	// free rows may import what they like, but never cmd.
	free bool
}

// importLaw is the law of the architecture: imports go one way, from what
// wires to what decides. A folder without a row is refused, so that a new
// package has to say where it belongs.
//
// What lies in internal/ is plumbing. A layer may use it, and then answers for
// everything that the plumbing imports in turn as if it had imported it itself.
var importLaw = []layer{
	{folder: "."},
	{folder: "identity", module: []string{"."}, external: []string{"golang.org/x/text", "github.com/cockroachdb/apd"}},
	{folder: "contract", module: []string{".", "identity"}, external: []string{
		"github.com/goccy/go-yaml", "github.com/santhosh-tekuri/jsonschema", "golang.org/x/text",
		// Expressions in `when`: a language with a bounded cost and a type checker is
		// no thing to write oneself, and conditions are judged here and nowhere else.
		"cel.dev/cel-go",
	}},
	{folder: "contracts"},
	{folder: "sqlite", module: []string{"."}, external: []string{"golang.org/x/sync", "golang.org/x/sys"}},
	{folder: "postgres", module: []string{"."}, external: []string{"github.com/jackc/pgx", "golang.org/x/sync"}},
	{folder: "storetest", module: []string{"."}, external: []string{"github.com/google/go-cmp", "pgregory.net/rapid"}},
	{folder: "httptarget", module: []string{"."}, external: []string{
		// hpack: HTTP/2 is spoken by our own exchange, one stream at a time; only the coding of its heads is taken from others.
		"golang.org/x/net/http2/hpack", "golang.org/x/sys", "golang.org/x/text",
	}},
	{folder: "targettest", module: []string{"."}},
	{folder: "runner", module: []string{".", "contract"}, external: []string{"golang.org/x/time", "golang.org/x/sync"}},
	{folder: "retention", module: []string{".", "contract"}},
	// The interface reads keys and bodies as strictly as the ledger reads requests (I1, I10): identity has the one parser,
	// and knows nothing of the domain.
	{folder: "api", module: []string{".", "identity"}, external: []string{"golang.org/x/time"}},
	{folder: "console", module: []string{"."}, external: []string{"github.com/a-h/templ"}},
	{folder: "client", module: []string{"."}},
	{folder: "telemetry", module: []string{"."}, external: []string{"github.com/prometheus/client_golang", "go.opentelemetry.io"}},
	// What a program that embeds onefold takes from its machine: plumbing with a public name.
	{folder: "machine", module: []string{"."}, external: []string{"golang.org/x/sys"}},
	// The judge of every run: it must not know what it judges.
	{folder: "sandbox", external: []string{"modernc.org/sqlite"}, drivers: true},
	{folder: "internal", free: true},
	{folder: "examples", free: true},
	{folder: "cmd", free: true},
}

// drivers are packages that register themselves with database/sql. A library
// that imported one would panic the program of a user who imports another.
var drivers = []string{
	"modernc.org/sqlite", "github.com/mattn/go-sqlite3", "github.com/ncruces/go-sqlite3", "github.com/jackc/pgx/v5/stdlib",
}

// layerOf finds the row of a folder, and whether there is one.
func layerOf(dir string) (layer, bool) {
	top, _, _ := strings.Cut(dir, "/")
	i := slices.IndexFunc(importLaw, func(l layer) bool { return l.folder == top })
	if i < 0 {
		return layer{}, false
	}
	return importLaw[i], true
}

// edge is one import: where it is written and what it names.
type edge struct {
	from *file
	spec *ast.ImportSpec
	path string
}

// importsOf lists what each folder imports outside its tests.
func importsOf(t *tree) map[string][]edge {
	out := map[string][]edge{}
	for _, f := range t.goFiles() {
		if f.isTest() {
			continue
		}
		for _, spec := range f.syntax.Imports {
			out[f.dir()] = append(out[f.dir()], edge{f, spec, strings.Trim(spec.Path.Value, `"`)})
		}
	}
	return out
}

// checkImportLaw holds every package against its row of the law.
func checkImportLaw(t *tree) []finding {
	var out []finding
	imports := importsOf(t)
	dirs := make([]string, 0, len(imports))
	for dir := range t.packages() {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	for _, dir := range dirs {
		row, known := layerOf(dir)
		if !known {
			f := t.packages()[dir][0]
			out = append(out, t.at(f, f.syntax.Package, "folder %s has no row in the import law: add one to internal/tidy/law_test.go", dir))
			continue
		}
		for _, e := range imports[dir] {
			for _, why := range row.refuses(dir, e.path, imports, nil) {
				out = append(out, t.at(e.from, e.spec.Pos(), "%s", why))
			}
		}
	}
	return append(out, checkNothingImportsCmd(t)...)
}

// refuses says why the packages of the row may not import a path, following
// plumbing to what it imports in turn. via is the way that led here.
func (l layer) refuses(dir, imported string, imports map[string][]edge, via []string) []string {
	if l.free || isStandard(imported) {
		return nil
	}
	through := ""
	if len(via) > 0 {
		through = " (through " + strings.Join(via, ", ") + ")"
	}
	name := l.folder
	if name == "." {
		name = "the root package"
	}
	target, ours := moduleFolder(imported)
	if !ours {
		if !l.drivers && slices.ContainsFunc(drivers, func(d string) bool { return within(imported, d) }) {
			return []string{name + " imports the database driver " + imported + through + ": take a *sql.DB or a pool from the caller"}
		}
		if slices.ContainsFunc(l.external, func(e string) bool { return within(imported, e) }) {
			return nil
		}
		return []string{name + " may not import " + imported + through + ": it is not in its row of the import law"}
	}
	top, _, _ := strings.Cut(target, "/")
	switch {
	case top == l.folder && (top != "." || target == "."), slices.Contains(l.module, top):
		return nil
	case top == "internal":
		if slices.Contains(via, target) {
			return nil
		}
		var out []string
		for _, e := range imports[target] {
			out = append(out, l.refuses(dir, e.path, imports, append(slices.Clone(via), target))...)
		}
		return out
	}
	return []string{name + " may not import " + target + through + ": imports go one way"}
}

// checkNothingImportsCmd holds for tests as well: a command is wiring, and
// what only wiring can do cannot be tested from elsewhere.
func checkNothingImportsCmd(t *tree) []finding {
	var out []finding
	for _, f := range t.goFiles() {
		if within(f.dir(), "cmd") {
			continue
		}
		for _, spec := range f.syntax.Imports {
			if within(strings.Trim(spec.Path.Value, `"`), modulePath+"/cmd") {
				out = append(out, t.at(f, spec.Pos(), "nothing imports cmd: move what is needed into a package"))
			}
		}
	}
	return out
}

// isStandard says whether an import path belongs to the standard library:
// the only paths whose first element has no dot.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// moduleFolder is the folder of an import path of this module.
func moduleFolder(importPath string) (string, bool) {
	if importPath == modulePath {
		return ".", true
	}
	return strings.CutPrefix(importPath, modulePath+"/")
}

// within says whether a slash-separated path is at or below another.
func within(name, ancestor string) bool {
	return name == ancestor || strings.HasPrefix(name, ancestor+"/")
}
