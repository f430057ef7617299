// Package failpoint names the places at which a test may end, stop or hold the
// process. In a normal build all of it does nothing and cannot be switched on;
// built with the tag failpoint it reads its variables from the environment, so
// that crash tests can kill the real binary between any two of its writes, prove
// that they did, know which attempts had come to their first byte, and turn the
// wall clock while the binary works.
package failpoint
