package sandbox

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A ledger that cannot be written must never look like one that has refused: 500, and nothing else.
func TestBrokenFileIsAnInternalError(t *testing.T) {
	t.Parallel()
	noon := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	s, err := Open(context.Background(), Options{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // its file is closed already
	body := `{"supplier":"S-1","number":"1","total":"1"}`
	send := func(method, path, body string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		s.Handler().ServeHTTP(answer, httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body)))
		return answer
	}
	if got := send("POST", "/bills", body); got.Code != http.StatusCreated {
		t.Fatalf("before: %d %s", got.Code, got.Body)
	}
	s.options.Received = func(Request) { _ = s.store.db.Close() } // the file breaks between log and ledger
	for _, when := range []string{"between log and ledger", "before the log"} {
		got := send("POST", "/bills", body)
		if got.Code != http.StatusInternalServerError || !strings.Contains(got.Body.String(), `"internal"`) {
			t.Errorf("%s: %d %s", when, got.Code, got.Body)
		}
		if text := got.Body.String(); strings.Contains(text, "sql") || strings.Contains(text, "database") {
			t.Errorf("%s: the answer talks about the file: %s", when, text)
		}
	}
	if got := send("GET", "/admin/effects", ""); got.Code != http.StatusInternalServerError {
		t.Errorf("admin: %d %s", got.Code, got.Body)
	}
}

// Every statement is prepared by opening; here each must also have the plan that its .sql file promises.
func TestStatementsUseTheIndexesTheyName(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	st, err := openStore(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.close(); err != nil {
			t.Error(err)
		}
	}()
	queries, err := loadQueries()
	if err != nil {
		t.Fatal(err)
	}
	if len(queries) == 0 || len(queries) != len(st.statements) {
		t.Fatalf("%d statements, %d prepared", len(queries), len(st.statements))
	}
	for _, q := range queries {
		if q.index == "" {
			continue
		}
		arguments := make([]any, strings.Count(q.text, "?"))
		for i := range arguments {
			if !strings.Contains(q.text, "?"+string(rune('1'+i))) {
				arguments = arguments[:i]
				break
			}
			arguments[i] = 1
		}
		plan := explain(t, st, q.text, arguments)
		if !strings.Contains(plan, q.index) {
			t.Errorf("%s does not use %s: %s", q.name, q.index, plan)
		}
	}
}

func explain(t *testing.T, st *store, text string, arguments []any) string {
	t.Helper()
	rows, err := st.db.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+text, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "; ")
}
