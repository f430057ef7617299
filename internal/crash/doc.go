// Package crash kills the real binary between its writes and holds the ledger
// against the sandbox's own afterwards: processes of their own, real sockets,
// SIGKILL at named places that prove that they fired. It has tests only.
package crash
