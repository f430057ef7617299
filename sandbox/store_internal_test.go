package sandbox

import (
	"context"
	"strings"
	"testing"
)

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
