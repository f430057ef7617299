// Package docstest runs the documentation: every snippet of README.md and of the
// pages under docs, in the order of its page, in a fresh folder, against the real
// binary. It has tests only.
//
// What a snippet means is said by its fence, and by a comment directly above it:
//
//	```sh                       is run by bash, and must succeed. Variables that it exports and its folder last to
//	                            the end of the page. A line that begins with onefold dev, serve, worker or sandbox
//	                            runs until the page ends, or until another one needs its address
//	<!-- exits 3 -->            above sh: it must end with that exit code
//	<!-- after a moment -->     above sh: it is run again until the output that follows it is there
//	<!-- output -->             above text or json: what the snippet before it, or the program that it started, has
//	                            written. … stands for any text within a line, and alone for any lines
//	<!-- output in part -->     the same, but other lines may stand between, and in any order
//	```yaml file=a.yaml         is written to that file (so is any other kind of text); a document of onefold's must
//	                            pass onefold apply --check
//	```yaml                     must stand, line for line, in a file of the page or in an example of the binary
//	```json                     must be JSON
//	```go                       must stand, line for line, in a Go file of this module
//	```markdown                 is a pattern to copy, and not looked at
//
// A fence of another kind, or a text that nothing explains, is refused.
//
// A page is written for a reader with the default addresses in a clone of the
// repository. So that pages can be run beside each other, the addresses
// 127.0.0.1:8080 and 127.0.0.1:8090 are replaced by free ones, go run and go build
// of the binary by the binary that was built for the test, and op_… and rev_…, as
// a reader does, by the last such id that was shown. A line that begins with make
// is left out: make test is what runs this.
//
// It promises as well that every relative link between pages leads to a file. It
// does not look at docs/reference, whose pages are generated and have drift tests
// of their own.
package docstest
