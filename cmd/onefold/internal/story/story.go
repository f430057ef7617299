package story

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
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
	API     *client.Client
	Sandbox Sandbox
	// Tell is called for each scene that is over, one at a time.
	Tell func(Told)
	Now  func() time.Time
	// Telling counts the tellings over the same data, from 1. Each has caller keys
	// of its own, so that it plays as the first one did.
	Telling int
}

// key is the caller key of the scene with index i.
func (o *Options) key(i int) string {
	if o.Telling <= 1 {
		return fmt.Sprintf("story-%02d", i+1)
	}
	return fmt.Sprintf("story-%d-%02d", o.Telling, i+1)
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
	if err := t.play(ctx, s, &told, t.key(i)); err != nil {
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
	told.Operation, told.State, told.NeedsPerson = op.ID, op.State, op.NeedsPerson()
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
	preview, err := t.API.DryRun(ctx, t.submission(s, key))
	if err != nil {
		return err
	}
	for _, f := range s.faults {
		f["external_ref"] = preview.Operation.Reference
	}
	return t.Sandbox.queue(ctx, s.faults)
}

// submission is a scene's, waiting for its outcome.
func (t *teller) submission(s *scene, key string) client.Submission {
	return client.Submission{Capability: s.capability, Key: key, Request: json.RawMessage(s.request), Wait: patience}
}

// act does what the scene is about and returns the operation as it ended, with
// what is to be told before that.
func (t *teller) act(ctx context.Context, s *scene, key string) (op client.Operation, before string, err error) {
	switch s.play {
	case playTwice:
		return t.twice(ctx, s, key)
	case playCancel:
		op, err = t.withdraw(ctx, s, key)
		return op, "", err
	case playSubmit, playChange:
	}
	answer, err := t.API.Submit(ctx, t.submission(s, key))
	if err == nil && s.play == playChange {
		before, err = t.change(ctx, s, key)
	}
	return answer.Operation, before, err
}

// twice submits the same intent two times at once.
func (t *teller) twice(ctx context.Context, s *scene, key string) (client.Operation, string, error) {
	var other client.Submitted
	var otherErr error
	var group sync.WaitGroup
	group.Go(func() { other, otherErr = t.API.Submit(ctx, t.submission(s, key)) })
	one, err := t.API.Submit(ctx, t.submission(s, key))
	group.Wait()
	if err := errors.Join(err, otherErr); err != nil {
		return one.Operation, "", err
	}
	if one.ID != other.ID || one.Replayed == other.Replayed {
		return one.Operation, "", fmt.Errorf("two submissions under one key gave %s and %s", one.ID, other.ID)
	}
	return one.Operation, "one admits it, the other is a replay of it. ", nil
}

// change submits another intent under the same key, which has to be refused.
func (t *teller) change(ctx context.Context, s *scene, key string) (string, error) {
	changed := t.submission(s, key)
	changed.Request = json.RawMessage(strings.Replace(s.request, "310.00", "301.00", 1))
	_, err := t.API.Submit(ctx, changed)
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok || problem.Code != onefold.CodeKeyConflict {
		return "", fmt.Errorf("a changed request under a known key was not refused as a conflict: %w", err)
	}
	var told []string
	for _, d := range problem.Differences {
		told = append(told, fmt.Sprintf("%s was %s, came as %s", d.Pointer, d.Accepted, d.Submitted))
	}
	return "refused as a conflict (" + strings.Join(told, "; ") + "). The first one: ", nil
}

// withdraw submits for later and cancels.
func (t *teller) withdraw(ctx context.Context, s *scene, key string) (client.Operation, error) {
	submission := t.submission(s, key)
	later := t.Now().Add(withdrawnAfter).UTC().Truncate(time.Second)
	submission.NotBefore, submission.Wait = &later, 0
	answer, err := t.API.Submit(ctx, submission)
	if err != nil {
		return answer.Operation, err
	}
	op, _, err := t.API.Cancel(ctx, client.Decision{Operation: answer.ID, Reason: "the story withdraws it"}, false)
	return op, err
}
