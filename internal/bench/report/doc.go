// Command report reads what `go test -bench` printed, any number of runs of it,
// and writes one table: medians, peers side by side, and what each goal says of
// them. `make bench` ends with it.
//
// What it promises: a figure that was not measured is a dash and its goal "not
// measured", never a pass. What it does not: it fails no build, because one busy
// minute of a machine would.
package main
