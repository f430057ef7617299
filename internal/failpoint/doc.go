// Package failpoint names the places at which a test may end the process. In a
// normal build Point does nothing and cannot be switched on; built with the tag
// failpoint it reads ONEFOLD_FAILPOINT, so that crash tests can kill the real
// binary between any two of its writes and prove that they did.
package failpoint
