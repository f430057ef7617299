package devfolder

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/onefold-dev/onefold/cmd/onefold/examples"
)

// Folder is the folder of one `onefold dev`.
type Folder struct{ path string }

// secretBytes is the chance in a secret that is made here.
const secretBytes = 32

// Open makes the folder where it is missing, and what is secret in it.
func Open(path string, random io.Reader) (Folder, error) {
	f := Folder{path}
	for _, dir := range []string{path, f.Secrets(), filepath.Join(f.Secrets(), examples.Workspace)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return f, fmt.Errorf("make the data folder: %w", err)
		}
	}
	for _, name := range []string{f.secretFile(), f.connectionSecret()} {
		if err := makeSecret(name, random); err != nil {
			return f, err
		}
	}
	return f, nil
}

// makeSecret makes a file with chance in it, unless it is there.
func makeSecret(name string, random io.Reader) error {
	chance := make([]byte, secretBytes)
	if _, err := io.ReadFull(random, chance); err != nil {
		return fmt.Errorf("chance for a secret: %w", err)
	}
	err := writeNew(name, hex.EncodeToString(chance)+"\n")
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// writeNew writes a file that must not be there yet, for its owner alone.
func writeNew(name, text string) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// Path is the folder's path, as it was given.
func (f Folder) Path() string { return f.path }

// Database is the path of the ledger's database.
func (f Folder) Database() string { return filepath.Join(f.path, "onefold.db") }

// Sandbox is the path of the sandbox's ledger.
func (f Folder) Sandbox() string { return filepath.Join(f.path, "sandbox.db") }

// Secrets is the folder of connections' secrets.
func (f Folder) Secrets() string { return filepath.Join(f.path, "secrets") }

// SecretReference is the reference to the deployment's secret.
func (f Folder) SecretReference() (string, error) {
	name, err := filepath.Abs(f.secretFile())
	return "file:" + name, err
}

func (f Folder) secretFile() string { return filepath.Join(f.path, "secret") }

func (f Folder) connectionSecret() string {
	return filepath.Join(f.Secrets(), examples.Workspace, "erp-token")
}

// TokenFile is where the token is kept.
func (f Folder) TokenFile() string { return filepath.Join(f.path, "token") }

// Token is the token that is kept, "" where there is none.
func (f Folder) Token() (string, error) {
	text, err := os.ReadFile(f.TokenFile())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// KeepToken keeps a token in the place of the one that was kept.
func (f Folder) KeepToken(token string) error {
	if err := os.Remove(f.TokenFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeNew(f.TokenFile(), token+"\n")
}

// What the folder's file on the story says: that its telling number N has begun,
// or that one came to its end.
const (
	storyBegun = "begun"
	storyTold  = "told"
)

func (f Folder) storyFile() string { return filepath.Join(f.path, "story") }

// BeginStory says which telling of the story is due, from 1, and notes that it
// begins; 0 if none is. A telling is due where nothing is yet (empty), and where
// one began and did not come to its end. Data that holds no note at all, or one
// that cannot be understood, is left alone.
func (f Folder) BeginStory(empty bool) (telling int, err error) {
	text, err := os.ReadFile(f.storyFile())
	switch {
	case errors.Is(err, fs.ErrNotExist) && empty:
		return 1, f.noteStory(storyBegun + " 1")
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	}
	number, begun := strings.CutPrefix(strings.TrimSpace(string(text)), storyBegun+" ")
	before, err := strconv.Atoi(number)
	if !begun || err != nil {
		return 0, nil //nolint:nilerr // it was told, or nobody knows
	}
	return before + 1, f.noteStory(storyBegun + " " + strconv.Itoa(before+1))
}

// EndStory notes that the story was told to its end.
func (f Folder) EndStory() error { return f.noteStory(storyTold) }

// noteStory puts a note in the place of the last one, whole or not at all.
func (f Folder) noteStory(text string) error {
	next := f.storyFile() + ".next"
	if err := os.WriteFile(next, []byte(text+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(next, f.storyFile())
}
