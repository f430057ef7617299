// Command clipage writes the reference page of the command line from the
// commands themselves: every command, argument, flag, environment variable and
// exit code. A test holds the page in the tree against what it writes.
package main
