package story

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/remote"
)

const (
	// patience is how long a scene waits for its outcome: above the longest of the
	// example contracts' times.
	patience = 20 * time.Second
	// recounts is how often the ledgers are counted again while they disagree,
	// recountEvery how long apart: somebody may be submitting beside the story, and
	// an effect is there before it is known here.
	recounts     = 20
	recountEvery = 100 * time.Millisecond
)

// Options say where the story plays. All are required.
type Options struct {
	API, Sandbox *remote.Server
	// Tell is called for each scene that is over, one at a time.
	Tell func(Told)
	Now  func() time.Time
}

// Told is one scene as it went.
type Told struct {
	Number     int           `json:"step"`
	Title      string        `json:"title"`
	Tells      string        `json:"tells"`
	Capability string        `json:"capability"`
	Operation  string        `json:"operation"`
	State      onefold.State `json:"state"`
	// Result is the target's reference, "" where there is none.
	Result string `json:"result"`
	// Writes, Lookups and Effects are counted by the sandbox.
	Writes  int    `json:"writes"`
	Lookups int    `json:"lookups"`
	Effects int    `json:"effects"`
	Outcome string `json:"outcome"`
	// NeedsPerson tells that the operation waits for a person.
	NeedsPerson bool `json:"needs_person"`
	// Failed tells that the scene did not play as it should.
	Failed bool `json:"failed"`
}

// End is how the story ended: both ledgers counted.
type End struct {
	Effects   int `json:"effects"`   // performed by the sandbox
	Confirmed int `json:"confirmed"` // recorded by onefold
	// Waiting are the operations that wait for a person.
	Waiting []string `json:"waiting"`
	// Duplicates are references with more than one effect.
	Duplicates []string `json:"duplicates"`
	Text       string   `json:"text"`
}

// teller plays scenes.
type teller struct {
	Options
	mu sync.Mutex
}

// Run plays the story and counts. It returns early, with the context's error,
// where ctx ends.
func Run(ctx context.Context, o Options) (End, error) {
	t := &teller{Options: o}
	var group sync.WaitGroup
	all := scenes()
	for i := range all {
		if all[i].slow {
			group.Go(func() { t.tell(ctx, i, &all[i]) })
		}
	}
	for i := range all {
		if !all[i].slow {
			t.tell(ctx, i, &all[i])
		}
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return End{}, err
	}
	return t.count(ctx)
}

// tell plays one scene and tells how it went.
func (t *teller) tell(ctx context.Context, i int, s *scene) {
	told := Told{Number: i + 1, Title: s.title, Tells: s.tells, Capability: s.capability}
	if err := t.play(ctx, s, &told, fmt.Sprintf("story-%02d", i+1)); err != nil {
		told.Failed, told.Outcome = true, "this did not play as it should: "+err.Error()
	}
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Tell(told)
}

func (t *teller) play(ctx context.Context, s *scene, told *Told, key string) error {
	if len(s.faults) > 0 {
		if err := t.arrange(ctx, s, key); err != nil {
			return err
		}
	}
	op, before, err := t.act(ctx, s, key)
	if err != nil {
		return err
	}
	told.Operation, told.State = op.ID, op.State
	told.NeedsPerson = op.State == onefold.Uncertain || len(op.Holds) > 0
	if op.Result != nil {
		told.Result = op.Result.Reference
	}
	if err := t.look(ctx, op.Reference, told); err != nil {
		return err
	}
	told.Outcome = before + outcome(&op, told)
	return nil
}

// arrange queues a scene's faults at the sandbox, for this operation alone: a dry
// run tells the reference that it will have.
func (t *teller) arrange(ctx context.Context, s *scene, key string) error {
	rep, err := t.submit(ctx, s, key, s.request, nil, url.Values{"dry_run": {"true"}})
	if err != nil {
		return err
	}
	var preview struct {
		Operation operation `json:"operation"`
	}
	if err := json.Unmarshal(rep.Body, &preview); err != nil {
		return err
	}
	for _, f := range s.faults {
		f["external_ref"] = preview.Operation.Reference
	}
	body, err := json.Marshal(s.faults)
	if err != nil {
		return err
	}
	_, err = t.Sandbox.Call(ctx, remote.Request{Method: http.MethodPost, Path: "/admin/faults", Body: body})
	return err
}

// operation is as much of an operation as the story needs.
type operation struct {
	ID        string        `json:"id"`
	Reference string        `json:"reference"`
	State     onefold.State `json:"state"`
	Attempts  int           `json:"attempts"`
	Result    *struct {
		Reference  string `json:"reference"`
		LearntFrom string `json:"learnt_from"`
	} `json:"result"`
	Rejection *struct {
		Code string `json:"code"`
	} `json:"rejection"`
	Holds   []struct{} `json:"holds"`
	Reviews []struct {
		Owner  string `json:"owner"`
		Status string `json:"status"`
	} `json:"reviews"`
}

// act does what the scene is about and returns the operation as it ended, with
// what is to be told before that.
func (t *teller) act(ctx context.Context, s *scene, key string) (op operation, before string, err error) {
	switch s.play {
	case playTwice:
		return t.twice(ctx, s, key)
	case playCancel:
		op, err = t.withdraw(ctx, s, key)
		return op, "", err
	case playSubmit, playChange:
	}
	rep, err := t.submit(ctx, s, key, s.request, nil, nil)
	if err != nil {
		return op, "", err
	}
	if op, err = read(rep); err == nil && s.play == playChange {
		before, err = t.change(ctx, s, key)
	}
	return op, before, err
}

// submit makes one submission and waits for its outcome.
func (t *teller) submit(ctx context.Context, s *scene, key, request string, more map[string]any, query url.Values) (remote.Reply, error) {
	envelope := map[string]any{"capability": s.capability, "request": json.RawMessage(request), "metadata": map[string]string{"story": s.title}}
	for name, value := range more {
		envelope[name] = value
	}
	body, err := json.Marshal(envelope)
	if err != nil {
		return remote.Reply{}, err
	}
	header := http.Header{"Idempotency-Key": {key}}
	if query == nil && more == nil {
		header.Set("Prefer", fmt.Sprintf("wait=%d", int(patience.Seconds())))
	}
	return t.API.Call(ctx, remote.Request{
		Method: http.MethodPost, Path: "/v1/operations", Query: query, Header: header, Body: body, Wait: patience,
	})
}

func read(rep remote.Reply) (op operation, err error) {
	return op, json.Unmarshal(rep.Body, &op)
}

// twice submits the same intent two times at once.
func (t *teller) twice(ctx context.Context, s *scene, key string) (op operation, before string, err error) {
	var other remote.Reply
	var otherErr error
	var group sync.WaitGroup
	group.Go(func() { other, otherErr = t.submit(ctx, s, key, s.request, nil, nil) })
	rep, err := t.submit(ctx, s, key, s.request, nil, nil)
	group.Wait()
	if err := errors.Join(err, otherErr); err != nil {
		return op, "", err
	}
	second, err := read(other)
	if err != nil {
		return op, "", err
	}
	if op, err = read(rep); err != nil {
		return op, "", err
	}
	if op.ID != second.ID || rep.Replayed() == other.Replayed() {
		return op, "", fmt.Errorf("two submissions under one key gave %s and %s", op.ID, second.ID)
	}
	return op, "one admits it, the other is a replay of it. ", nil
}

// change submits another intent under the same key, which has to be refused.
func (t *teller) change(ctx context.Context, s *scene, key string) (string, error) {
	_, err := t.submit(ctx, s, key, strings.Replace(s.request, "310.00", "301.00", 1), nil, nil)
	problem, ok := errors.AsType[*remote.Problem](err)
	if !ok || problem.Code() != string(onefold.CodeKeyConflict) {
		return "", fmt.Errorf("a changed request under a known key was not refused as a conflict: %v", err)
	}
	list, _ := problem.Members["differences"].([]any)
	var told []string
	for _, entry := range list {
		if d, ok := entry.(map[string]any); ok {
			told = append(told, fmt.Sprintf("%v was %v, came as %v", d["pointer"], d["accepted"], d["submitted"]))
		}
	}
	return "refused as a conflict (" + strings.Join(told, "; ") + "). The first one: ", nil
}

// withdraw submits for later and cancels.
func (t *teller) withdraw(ctx context.Context, s *scene, key string) (op operation, err error) {
	later := t.Now().Add(withdrawnAfter).UTC().Format(time.RFC3339)
	rep, err := t.submit(ctx, s, key, s.request, map[string]any{"not_before": later}, nil)
	if err != nil {
		return op, err
	}
	if op, err = read(rep); err != nil {
		return op, err
	}
	rep, err = t.API.Call(ctx, remote.Request{
		Method: http.MethodPost, Path: remote.OperationPath(op.ID, "cancel"), Body: []byte(`{"reason":"the story withdraws it"}`),
	})
	if err != nil {
		return op, err
	}
	return read(rep)
}
