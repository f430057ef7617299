package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/onefold-dev/onefold"
)

// payslip is what the payroll system holds.
type payslip struct {
	Reference string `json:"reference"`
	Employee  string `json:"employee"`
	Month     string `json:"month"`
	Net       string `json:"net"`
}

var errLost = errors.New("payroll: the connection broke")

// payroll is somebody else's system, in memory.
type payroll struct {
	mu     sync.Mutex
	issued []payslip
	lose   int // how many answers get lost
}

// Issue issues a payslip. An error may come after it was issued.
func (p *payroll) Issue(_ context.Context, slip payslip) (number string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.issued = append(p.issued, slip)
	if p.lose > 0 {
		p.lose--
		return "", errLost
	}
	return fmt.Sprintf("SLIP-%d", len(p.issued)), nil
}

// Find looks a payslip up by its reference.
func (p *payroll) Find(_ context.Context, reference string) (number string, slip payslip, found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, slip := range p.issued {
		if slip.Reference == reference {
			return fmt.Sprintf("SLIP-%d", i+1), slip, true
		}
	}
	return "", payslip{}, false
}

// Count is how many payslips were issued.
func (p *payroll) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.issued)
}

// steps are how onefold speaks to the payroll system.
func (p *payroll) steps() onefold.Steps {
	return onefold.Steps{Write: p.write, Lookup: p.lookup}
}

func (p *payroll) write(ctx context.Context, c onefold.Call) (onefold.WriteReport, error) {
	slip := payslip{Reference: c.Reference}
	if read := json.Unmarshal(c.Request, &slip) == nil; !read {
		return onefold.NotSent("the request cannot be read"), nil
	}
	number, err := p.Issue(ctx, slip)
	if err != nil {
		return onefold.WriteReport{}, err
	}
	return onefold.Applied(number), nil
}

func (p *payroll) lookup(ctx context.Context, c onefold.Call) (onefold.LookupReport, error) {
	number, slip, found := p.Find(ctx, c.Reference)
	if !found {
		return onefold.Absent("payroll has no such reference"), nil
	}
	report := onefold.Found(number)
	var err error
	report.Record, err = json.Marshal(slip)
	return report, err
}
