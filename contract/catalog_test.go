package contract

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

// What the interfaces list is what is published: newest versions, all versions,
// and only connections that serve.
func TestCatalogListsWhatIsPublished(t *testing.T) {
	t.Parallel()
	c := NewCatalog(acme(t), CatalogOptions{})
	var got []string
	for _, info := range c.Capabilities("twice") {
		if !json.Valid(info.Request) {
			t.Errorf("%s: no schema: %s", info.Name, info.Request)
		}
		got = append(got, info.Name+" "+asJSON(t, info.Version)+asJSON(t, info.Versions)+asJSON(t, info.Connections))
	}
	want := []string{`bills.create 3[1,3]["first","second"]`, `orders.create 1[1][]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}

	targets := c.Targets()
	if len(targets) != 2 || targets[0].Name != "bare" || targets[1].Name != "erp" {
		t.Fatalf("targets: %+v", targets)
	}
	if erp := targets[1]; erp.Version != 2 || asJSON(t, erp.Versions) != "[1,2]" || len(erp.Operations) != 1 || erp.Operations[0].Protection != onefold.ProtectionEnforced {
		t.Errorf("the newest erp: %+v", erp)
	}

	connections := c.Connections("twice")
	if len(connections) != 2 || connections[0].Name != "first" || connections[1].Name != "second" {
		t.Fatalf("connections: %+v", connections)
	}
	first, err := c.Connection("twice", "first")
	if err != nil || cmp.Diff(connections[0], first) != "" {
		t.Errorf("one of the list: %+v, %v", first, err)
	}
	if len(first.Serves) != 1 || first.Serves[0].Version != 3 || len(first.Serves[0].Plan) == 0 || first.Limits.InFlight != onefold.DefaultInFlight {
		t.Errorf("what it serves: %+v", first)
	}
	// A connection whose target is not published is listed, and serves nothing.
	if lost := c.Connections("lost"); len(lost) != 1 || asJSON(t, lost[0].Serves) != "[]" {
		t.Errorf("lost: %+v", lost)
	}
	if none := c.Connections("nobody"); asJSON(t, none) != "[]" {
		t.Errorf("a workspace without connections: %+v", none)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A weakly protected connection says wherever it is shown in which mode it
// really is, and why; an acknowledged one is what it declares.
//
// Proves: M27
func TestCatalogShowsTheModeInForce(t *testing.T) {
	t.Parallel()
	c := NewCatalog(acme(t), CatalogOptions{})
	weak, err := c.Connection("weak", "bare")
	if err != nil {
		t.Fatal(err)
	}
	served := weak.Serves[0]
	if weak.Acknowledged != nil || served.Mode != onefold.ModeApproval || !strings.Contains(strings.Join(served.Warnings, "\n"), "nobody acknowledged it") {
		t.Errorf("not acknowledged: %+v", weak)
	}
	known, err := c.Connection("known-weak", "bare")
	if err != nil {
		t.Fatal(err)
	}
	served = known.Serves[0]
	if known.Acknowledged == nil || known.Acknowledged.By != "maria@acme.example" || served.Mode != onefold.ModeAutonomous ||
		strings.Contains(strings.Join(served.Warnings, "\n"), "acknowledged") {
		t.Errorf("acknowledged: %+v", known)
	}
	for workspace, mode := range map[string]onefold.Mode{"weak": onefold.ModeApproval, "known-weak": onefold.ModeAutonomous} {
		a, err := c.Agreement(workspace, served.Capability, "bare")
		if err != nil || a.Mode != mode {
			t.Errorf("%s: %s, %v", workspace, a.Mode, err)
		}
	}
}

// The agreement's terms are those that an operation would run under now.
//
// Proves: I33
func TestAgreementIsOfWhatRuns(t *testing.T) {
	t.Parallel()
	r := acme(t)
	c := NewCatalog(r, CatalogOptions{})
	b, err := r.Bind("acme", "bills.create", 0, "acme-erp")
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Agreement("acme", "bills.create", "acme-erp")
	if err != nil {
		t.Fatal(err)
	}
	terms := b.Terms()
	got := onefold.Terms{
		Capability: a.Capability, ContractVersion: a.ContractVersion, Target: a.Target, TargetVersion: a.TargetVersion,
		Workspace: a.Workspace, Connection: a.Connection, Mode: a.Mode, Protection: a.Protection,
	}
	want := onefold.Terms{
		Capability: terms.Capability, ContractVersion: terms.ContractVersion, Target: terms.Target, TargetVersion: terms.TargetVersion,
		Workspace: terms.Workspace, Connection: terms.Connection, Mode: terms.Mode, Protection: terms.Protection,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-bound +agreed):\n%s", diff)
	}
	found := c.registry.set.Load()
	contract, of := found.capabilities["bills.create"].versions[3], found.connections[onefold.ConnectionRef{Workspace: "acme", Connection: "acme-erp"}]
	derived := Derive(contract.Capability, found.operation(of, contract), of.Connection, c.deployment())
	if diff := cmp.Diff(b.Policy(), derived.Policy); diff != "" {
		t.Errorf("the plan is of another policy than the binding's:\n%s", diff)
	}
}

// An older version is agreed on where the connection serves no newer one, and
// the page says how a caller asks for it.
//
// Proves: I33
func TestAgreementOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	s := agreementSamples()[0]
	text := s.source(t)
	pinned := strings.Replace(text, "  bills.create:\n", "  bills.create@3:\n", 1)
	newer := strings.Replace(strings.SplitN(text, "---\n", 2)[0], "version: 3", "version: 4", 1)
	a, err := catalogOf(t, CatalogOptions{}, pinned, newer).Agreement("acme", s.capability, s.connection)
	if err != nil || a.ContractVersion != 3 {
		t.Fatalf("version %d, %v", a.ContractVersion, err)
	}
	if overview := sectionText(t, &a, "overview"); !strings.Contains(overview, "has to say contract_version 3") {
		t.Errorf("no word of it:\n%s", overview)
	}
}

// A workspace sees its own connections alone, and a connection of another
// workspace is answered like one that does not exist.
//
// Proves: I5
func TestCatalogKeepsWorkspacesApart(t *testing.T) {
	t.Parallel()
	c := NewCatalog(acme(t), CatalogOptions{})
	agreed, err := c.Agreement("acme", "bills.create", "acme-erp")
	if err != nil {
		t.Fatal(err)
	}
	shown := asJSON(t, []any{c.Capabilities("acme"), c.Targets(), c.Connections("acme"), agreed})
	for _, foreign := range []string{"twice", "first", "second", "known-weak", "lost"} {
		if strings.Contains(shown, `"`+foreign+`"`) || strings.Contains(agreed.Markdown, "`"+foreign+"`") {
			t.Errorf("acme is shown %s", foreign)
		}
	}
	for _, name := range []string{"first", "nowhere"} {
		_, one := c.Connection("acme", name)
		_, two := c.Agreement("acme", "bills.create", name)
		for _, err := range []error{one, two} {
			if codeOf(err) != onefold.CodeConnectionUnknown || err.Error() != noSuchConnection().Error() {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := c.Agreement("acme", "bills.destroy", "acme-erp"); codeOf(err) != onefold.CodeCapabilityUnknown {
		t.Errorf("an unknown capability: %v", err)
	}
	if _, err := c.Agreement("acme", "orders.create", "acme-erp"); codeOf(err) != onefold.CodeConnectionUnknown {
		t.Errorf("a capability that the connection does not serve: %v", err)
	}
}

// The same documents give the same text, in whatever order they were loaded and
// however many ask at once.
//
// Proves: I33
func TestAgreementsAreDeterministic(t *testing.T) {
	t.Parallel()
	s := agreementSamples()[2]
	parts := strings.Split(s.source(t), "---\n")
	one := catalogOf(t, CatalogOptions{}, parts...)
	other := catalogOf(t, CatalogOptions{}, parts[2], parts[0], parts[1])
	want, err := one.Agreement("acme", s.capability, s.connection)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			got, err := other.Agreement("acme", s.capability, s.connection)
			if err != nil || cmp.Diff(want, got) != "" {
				t.Errorf("another text: %v\n%s", err, cmp.Diff(want, got))
			}
		})
	}
	group.Wait()
}
