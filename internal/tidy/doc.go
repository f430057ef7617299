// Package tidy holds the rules of the house as tests: who may import whom, how
// long a function and a file may be, which words and calls are not used, and
// that everything public is documented.
//
// It promises that each rule is checked over the whole tree, in files that
// exist today and in files that will be added, and that each check is shown
// once, against a small bad source, to be able to fail. A finding always names
// a file, a line and what to do about it.
//
// It does not promise style beyond those rules (gofumpt and the linter do
// that), it does not type-check anything, and it looks at no file that git
// would ignore. The package has no code outside its tests; nothing imports it.
package tidy
