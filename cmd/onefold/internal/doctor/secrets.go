package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/internal/secret"
)

// connectionSecrets looks for every secret that an enabled connection names. What
// it sees of the environment is its own, and the server's may be another; a file
// is the same for both, if it is looked for in the server's folder and may be read
// by whoever examines.
func (e *examination) connectionSecrets(ctx context.Context) {
	const name = "connection_secrets"
	if !e.current {
		e.unread(name, nil)
		return
	}
	published, err := e.health.Documents(ctx)
	if err != nil {
		e.unread(name, err)
		return
	}
	docs, faults := contract.DecodePublished(published)
	if err := faults.Err(); err != nil {
		e.add(name, Failed, "the published documents cannot be read: "+reason(err), "use the release that published them, or a later one")
		return
	}
	var connections []*contract.Connection
	for i := range docs {
		if docs[i].Kind == contract.KindConnection {
			connections = append(connections, docs[i].Connection)
		}
	}
	named := deployment.SecretsOf(connections)
	bounded, cancel := context.WithTimeout(ctx, e.Within)
	defer cancel()
	missing, err := deployment.MissingSecrets(bounded, &secret.Resolver{Folder: e.SecretsFolder, LookupEnv: e.LookupEnv}, named)
	if err != nil {
		e.add(name, NotChecked, "the search was not over within "+e.Within.String(), "look at the disk of the secrets folder, or give it more time with --within")
		return
	}
	e.missingSecrets(name, named, missing)
}

// missingSecrets tells what is missing, the surest first.
func (e *examination) missingSecrets(name string, named []deployment.NamedSecret, missing []deployment.MissingSecret) {
	const then = "; then: onefold connections resume NAME"
	var gone, unseen, foreign, unsought list
	for _, m := range missing {
		text := m.String() + " (" + m.Why + ")"
		switch {
		case !m.FromFile():
			foreign.add(text)
		case e.SecretsFolder == "":
			unsought.add(m.String() + " (" + m.Reference + ")")
		case errors.Is(m.Err, fs.ErrPermission):
			unseen.add(text)
		default:
			gone.add(text)
		}
	}
	of := fmt.Sprintf("of %d secrets that enabled connections name", len(named))
	switch {
	case gone.n > 0:
		e.add(name, Failed, fmt.Sprintf("%d %s are missing: %s", gone.n, of, gone.String()),
			"put the files into their places below the secrets folder: they are read at their next use"+then)
	case unseen.n > 0:
		e.add(name, Warning, fmt.Sprintf("%d %s may not be read from here: %s; the server's user may be another", unseen.n, of, unseen.String()),
			"examine as the user that the server runs as")
	case foreign.n > 0:
		e.add(name, Warning, fmt.Sprintf("%d %s are not in this process's environment: %s; the server's may be another", foreign.n, of, foreign.String()),
			"examine with the environment that the server has; where it is missing there, set it and start the server anew"+then)
	case unsought.n > 0:
		e.add(name, NotChecked, fmt.Sprintf("%d %s lie in files, and where is not known: %s", unsought.n, of, unsought.String()),
			"give --secrets-dir as serve has it")
	case len(named) == 0:
		e.add(name, OK, "no enabled connection names a secret", "")
	default:
		e.add(name, OK, fmt.Sprintf("all %d secrets that enabled connections name are there, as this process sees files and its environment", len(named)), "")
	}
}
