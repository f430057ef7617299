// Command nethttp is a plain net/http service that has onefold inside: a handler
// submits an operation and waits a moment for it, a runner in the same process
// carries it out, whatever becomes of the request that started it.
//
// The payroll system is a fake of its own process, which loses its first answer.
//
//	go run ./examples/nethttp -listen 127.0.0.1:8070
//	curl -sS http://127.0.0.1:8070/payslips -H 'Idempotency-Key: 2026-11/E-1' -d '{"employee":"E-1","month":"2026-11","net":"2100.00"}'
package main
