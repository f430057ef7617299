package contract

import "testing"

func BenchmarkBindAndFingerprint(b *testing.B) {
	r := acme(b)
	request := []byte(exampleRequest)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			bound, err := r.Bind("acme", "bills.create", 0, "")
			if err != nil {
				b.Error(err)
				return
			}
			if _, _, err := bound.Fingerprint(request); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkBind(b *testing.B) {
	r := acme(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Bind("acme", "bills.create", 0, "acme-erp"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	bound, err := acme(b).Bind("acme", "bills.create", 0, "")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := bound.Validate([]byte(exampleRequest)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFreeze(b *testing.B) {
	bound, err := acme(b).Bind("acme", "bills.create", 0, "")
	if err != nil {
		b.Fatal(err)
	}
	op := exampleMaterials(b).op
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bound.Freeze(op, []byte(exampleRequest)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	bound, err := acme(b).Bind("acme", "bills.create", 0, "")
	if err != nil {
		b.Fatal(err)
	}
	op, x := exampleMaterials(b).op, whole(201, `{"id":"BILL-991","total":"1250.00"}`)
	b.ReportAllocs()
	for b.Loop() {
		if a, _ := bound.Judge(op, []byte(exampleRequest), x, true); a.Reference == "" {
			b.Fatal("not confirmed")
		}
	}
}

func BenchmarkJudgeLookup(b *testing.B) {
	bound, err := acme(b).Bind("acme", "bills.create", 0, "")
	if err != nil {
		b.Fatal(err)
	}
	op, x := exampleMaterials(b).op, whole(200, items(record("other", "B-1"), record(ours, "B-2")))
	b.ReportAllocs()
	for b.Loop() {
		if out, _ := bound.JudgeLookup(op, []byte(exampleRequest), x); out.Result != found {
			b.Fatal("not found")
		}
	}
}
