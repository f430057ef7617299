package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

func publicationStories() []story {
	return []story{
		{"a published version never changes", immutableVersions},
		{"a connection gets its next revision", connectionRevisions},
		{"documents are published together or not at all", publishedTogether},
	}
}

func document(kind, name string, version int, content string) onefold.Document {
	d := onefold.Document{
		Kind: kind, Name: name, Version: version, Source: []byte("# " + content), Canonical: []byte(content),
		PublishedBy: "ada",
	}
	if kind == "connection" {
		d.Workspace = Workspace
	}
	return d
}

// Proves: I12
func immutableVersions(t *testing.T, s *Subject) {
	ctx := context.Background()
	stored, err := s.Store.Publish(ctx, []onefold.Document{document("capability", "bills", 1, "one")})
	noError(t, err)
	if len(stored) != 1 || !stored[0].PublishedAt.Equal(s.Clock.Now()) {
		t.Fatalf("stored %+v", stored)
	}
	revision, err := s.Store.DocumentsRevision(ctx)
	noError(t, err)
	again := document("capability", "bills", 1, "one")
	again.Source = []byte("another spelling")
	stored, err = s.Store.Publish(ctx, []onefold.Document{again})
	noError(t, err)
	if same, err := s.Store.DocumentsRevision(ctx); err != nil || same != revision || len(stored) != 0 {
		t.Errorf("an equal document was stored again: revision %d after %d, %d stored", same, revision, len(stored))
	}
	_, err = s.Store.Publish(ctx, []onefold.Document{document("capability", "bills", 1, "other")})
	wantError(t, err, onefold.ErrVersionImmutable)
	_, err = s.Store.Publish(ctx, []onefold.Document{
		document("capability", "bills", 2, "other"), document("target", "bills", 1, "a target of the same name"),
	})
	noError(t, err)
	all, err := s.Store.AllDocuments(ctx)
	noError(t, err)
	want := []onefold.Document{
		document("capability", "bills", 1, "one"), document("capability", "bills", 2, "other"),
		document("target", "bills", 1, "a target of the same name"),
	}
	for i := range want {
		want[i].PublishedAt = s.Clock.Now()
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("the documents differ:\n%s", diff)
	}
	if later, err := s.Store.DocumentsRevision(ctx); err != nil || later <= revision {
		t.Errorf("the revision went from %d to %d, error %v", revision, later, err)
	}
}

func connectionRevisions(t *testing.T, s *Subject) {
	ctx := context.Background()
	publish := func(content string) int {
		t.Helper()
		stored, err := s.Store.Publish(ctx, []onefold.Document{document("connection", "books", 0, content)})
		noError(t, err)
		if len(stored) == 0 {
			return 0
		}
		return stored[0].Version
	}
	var got []int
	for _, content := range []string{"a", "a", "b", "a", "a"} {
		got = append(got, publish(content))
	}
	if diff := cmp.Diff([]int{1, 0, 2, 3, 0}, got); diff != "" {
		t.Errorf("the revisions differ:\n%s", diff)
	}
	other := document("connection", "books", 0, "theirs")
	other.Workspace = "umbrella"
	stored, err := s.Store.Publish(ctx, []onefold.Document{other})
	noError(t, err)
	if stored[0].Version != 1 {
		t.Errorf("another workspace's connection has the revision %d", stored[0].Version)
	}
	all, err := s.Store.AllDocuments(ctx)
	noError(t, err)
	if len(all) != 4 || all[1].Version != 2 || all[2].Version != 3 || string(all[2].Canonical) != "a" || all[3].Workspace != "umbrella" {
		t.Errorf("the documents are %+v", all)
	}
}

func publishedTogether(t *testing.T, s *Subject) {
	ctx := context.Background()
	_, err := s.Store.Publish(ctx, []onefold.Document{document("target", "erp", 1, "one")})
	noError(t, err)
	// Others that are stored in the same moment come to no harm.
	var group sync.WaitGroup
	for range 20 {
		a := s.Admission(s.IDs.New("key", s.Clock.Now()))
		group.Go(func() {
			if _, created, err := s.Store.Admit(ctx, a); err != nil || !created {
				t.Errorf("created %v, error %v", created, err)
			}
		})
	}
	_, err = s.Store.Publish(ctx, []onefold.Document{
		document("capability", "bills", 1, "good"), document("connection", "books", 0, "good"), document("target", "erp", 1, "bad"),
	})
	wantError(t, err, onefold.ErrVersionImmutable)
	group.Wait()
	all, err := s.Store.AllDocuments(ctx)
	noError(t, err)
	if len(all) != 1 {
		t.Errorf("%d documents are published", len(all))
	}
	s.Clock.Advance(time.Second)
	stored, err := s.Store.Publish(ctx, []onefold.Document{document("connection", "books", 0, "good")})
	noError(t, err)
	if stored[0].Version != 1 {
		t.Errorf("the first revision is %d", stored[0].Version)
	}
}
