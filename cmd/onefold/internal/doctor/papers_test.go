package doctor_test

import (
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/doctor"
	"github.com/onefold-dev/onefold/contract"
)

// TestWhatAnOperationCannotGoOnWithoutIsMissed takes the documents away that
// operations were admitted under, and changes the counter that numbers them.
//
// Proves: I12, M28
func TestWhatAnOperationCannotGoOnWithoutIsMissed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, check, found string }{
		"the capability":             {"DELETE FROM document WHERE kind = 'capability'", "documents", "4 operations lack what they were admitted under"},
		"the target":                 {"DELETE FROM document WHERE kind = 'target'", "documents", "4 operations lack"},
		"the connection":             {"DELETE FROM document WHERE kind = 'connection'", "documents", "connection"},
		"documents that are damaged": {"DROP TRIGGER document_is_immutable; UPDATE document SET canonical = x'00', source = x'00' WHERE kind = 'target'", "documents", "cannot be read"},
		"the counter, behind":        {"DROP TRIGGER sequence_rises; UPDATE sequence SET last = 1", "sequence", "the counter says 1, and "},
		"the counter, ahead":         {"UPDATE sequence SET last = last + 5", "sequence", "the lines after it are gone, or the counter was changed"},
		"the counter itself":         {"DELETE FROM sequence", "sequence", "the counter is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			a.sql(c.sql)
			want := failed(c.check)
			if strings.HasPrefix(c.sql, "DROP TRIGGER document_is_immutable; UPDATE document SET canonical") {
				want["connection_secrets"] = doctor.Failed
			}
			if found := a.finds(want)[c.check]; !strings.Contains(found.Found, c.found) || !strings.Contains(found.Do, "keep a copy of the file") {
				t.Errorf("it says %s, and to do %s", found.Found, found.Do)
			}
		})
	}
}

// TestARequestThatIsNotWhatWasAdmittedIsFound holds stored requests against the
// fingerprints of their admissions, with the secret at hand.
//
// Proves: I8, I13
func TestARequestThatIsNotWhatWasAdmittedIsFound(t *testing.T) {
	t.Parallel()
	secret := []byte("a secret of this test alone")
	c := newClinic(t)
	c.running()
	docs, faults := contract.DecodeFile("documents.yaml", []byte(documents))
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	registry := contract.NewRegistry(contract.Options{Secret: secret, SecretID: "k1"})
	var published []onefold.Document
	for i := range docs {
		d := &docs[i]
		published = append(published, onefold.Document{
			Kind: string(d.Kind), Workspace: d.Workspace, Name: d.Name, Version: max(1, d.Version), Source: d.Source, Canonical: d.Canonical,
		})
	}
	if err := registry.Load(published); err != nil {
		t.Fatal(err)
	}
	// Admitted as the ledger admits: with the fingerprint of what is stored.
	admit := func(key string) onefold.Operation {
		return c.Admit(t, key, func(op *onefold.Operation) {
			b, err := registry.Pinned(op)
			if err != nil {
				t.Fatal(err)
			}
			if op.Fingerprint, op.FingerprintKey, err = b.Fingerprint(c.Admission(key).Request); err != nil {
				t.Fatal(err)
			}
		})
	}
	sound, hurt := admit("sound"), admit("hurt")
	c.options.SecretGiven, c.options.SecretID, c.options.SecretCheck, c.options.Secret = true, "k1", "v1:one", secret
	if found := c.finds(nil)["fingerprints"].Found; !strings.Contains(found, "the 2 requests that can be compared") {
		t.Errorf("before: %s", found)
	}
	c.sql("DROP TRIGGER payload_is_fixed", `UPDATE payload SET request = CAST(replace(CAST(request AS TEXT), '12.50', '92.50') AS BLOB) WHERE `+of(&hurt))
	if found := c.finds(failed("fingerprints"))["fingerprints"].Found; !strings.Contains(found, "the requests of 1 of all 2 operations") ||
		!strings.Contains(found, hurt.ID) || strings.Contains(found, sound.ID) {
		t.Errorf("after: %s", found)
	}
	c.sql(`UPDATE payload SET request = x'00' WHERE ` + of(&hurt))
	c.finds(failed("fingerprints"))
}
