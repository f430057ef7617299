package examples

import "embed"

// SandboxURL is the sandbox's address in the connection's document.
const SandboxURL = "http://127.0.0.1:8090"

// Workspace is the workspace of the connection.
const Workspace = "acme"

//go:embed *.yaml
var files embed.FS

// Files are the documents, by file name.
func Files() embed.FS { return files }
