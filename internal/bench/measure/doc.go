// Package measure is what every benchmark of the house measures with, so that
// peers are measured alike: the numbers of callers, the request and the keys, the
// settings of a SQLite file, rates with their percentiles, and a disk that counts
// what is written and synced.
//
// What it promises: two cases that were measured with it differ in what they
// measure and in nothing else. What it does not: absolute figures mean nothing,
// only ratios of one run carry over to another machine.
package measure
