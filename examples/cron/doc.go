// Command cron is a payroll run that comes back every so often, and uses onefold
// for the one thing that must not happen twice: each salary is paid by Ledger.Do
// under a key made of the month and the employee. What is not settled is left to
// the next round; nothing else has to be remembered.
//
// The bank is a fake of its own process, and a bad one: it loses the answer of the
// first payment, is down for the second, and refuses the third. The program ends
// when every salary is settled and the bank's books agree.
//
//	go run ./examples/cron
package main
