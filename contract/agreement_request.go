package contract

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// The sections about what callers send, and what they get for it.

func (a *agreement) keys() {
	a.begin("keys", "Keys")
	a.say("Each submission carries a key that its caller chose: one key for each intended effect, sent again with every repeat.")
	a.table([]string{"Rule", "What holds"},
		[]string{"Length", fmt.Sprintf("1 to %d characters", identity.MaxKeyLength)},
		[]string{"Alphabet", "visible ASCII (0x21 to 0x7E): letters, digits and punctuation, no white space"},
		[]string{"Header", code("Idempotency-Key") + ", once; bare (" + code("k-1") + ") and quoted (" + code(`"k-1"`) + ") are the same key, and a value that begins with a quote is a whole quoted string"},
		[]string{"Spelling", "case-sensitive; never trimmed, folded or truncated"},
		[]string{"Unique", "within workspace " + code(a.terms.Workspace) + " and capability " + code(a.terms.Capability) +
			", for all time: never by month, contract version or connection"},
	)
	a.list(
		"A key that breaks a rule is refused ("+code("key_invalid")+", naming the rule), a missing one too ("+code("key_required")+"); nothing is stored under it.",
		"A key becomes free in one case alone: its operation is withdrawn before any attempt was made, and the caller does not ask to keep the key.",
		"A key gives access to nothing: the workspace comes from the caller's credentials.",
	)
}

func (a *agreement) comparison() {
	a.begin("comparison", "Intent and comparison")
	a.say("Two submissions under one key are the same if their intent is the same.",
		"The intent is workspace, capability, contract version, connection and the request as the rules below leave it.",
		"onefold keeps its fingerprint, a keyed digest (HMAC-SHA-256, rule set v1) that shows a change and identifies nothing.")
	a.list(
		"Without a rule every member counts: text is compared character by character, the order of lists counts, and a missing member differs from "+code("null")+".",
		"Numbers are compared by their exact decimal value: "+code("1")+", "+code("1.0")+" and "+code("1e0")+" are equal, and no digit is ever rounded away.",
		"The order of an object's members and the white space between them never count.",
	)
	a.compareRules()
	ignored := "Ignored in the request: nothing; every member counts."
	if pointers := a.rules.Ignored(); len(pointers) > 0 {
		ignored = "Ignored in the request: " + andList(codes(pointers)) + "."
	}
	a.list(
		ignored,
		"Beside the intent "+code("revision")+", "+code("not_before")+" and "+code("start_deadline")+" are kept: a repeat that names one with another value conflicts. "+code("metadata")+" is not compared.",
		"What a repeat leaves out (contract version, connection) means what it meant the first time.",
		"A "+code("default")+" in the request's schema only documents: it is neither filled in nor compared. Where a missing member shall equal a value, a rule above says so.",
		"The target receives what was submitted, each number with its own digits, and not what was normalized for the comparison.",
		fmt.Sprintf("A request is strict JSON in UTF-8 without duplicate members, at most %s bytes and %d levels deep.", grouped(a.maxRequest), identity.DefaultMaxDepth),
	)
}

func (a *agreement) compareRules() {
	rules := a.rules.Describe()
	if len(rules) == 0 {
		a.say("This contract has no comparison rules.")
		return
	}
	rows := make([][]string, len(rules))
	for i, r := range rules {
		rows[i] = []string{memberAt(r.Pointer, "the whole request"), code(r.Rule), a.ruleWords(r)}
	}
	a.table([]string{"Member", "Rule", "How it is compared"}, rows...)
	a.say("A " + code("*") + " stands for every element of a list. A value that does not fit its rule is refused (" + code("request_invalid") + "), never rounded or guessed.")
}

// memberAt is a pointer for a reader; the empty one has a name.
func memberAt(pointer, whole string) string {
	if pointer == "" {
		return whole
	}
	return code(pointer)
}

func (a *agreement) ruleWords(r identity.RuleDescription) string {
	switch r.Rule {
	case identity.RuleIgnore:
		return "not part of the intent: it may differ freely"
	case identity.RuleText:
		group, _ := a.capability.Compare.Get(r.Pointer)
		list, _ := group.Get(r.Rule)
		steps, err := identity.CompileTextSteps(list)
		if err != nil {
			break
		}
		words := make([]string, len(steps))
		for i, step := range steps {
			words[i] = textStepWords(step)
		}
		return "text, compared " + strings.Join(words, ", then ")
	}
	return prose(r.Detail)
}

func textStepWords(s identity.TextStep) string {
	switch s.Operation {
	case identity.TextTrim:
		return "without white space at its ends"
	case identity.TextCollapseSpaces:
		return "with each run of white space as one space"
	case identity.TextCasefold:
		return "without regard to capital letters"
	case identity.TextNFC:
		return "with accents in one spelling (NFC)"
	case identity.TextNFKC:
		return "with look-alike characters in one spelling (NFKC)"
	case identity.TextStrip:
		return "without the characters " + code(s.Characters)
	case identity.TextStripLeadingZeros:
		return "without leading zeros"
	}
	return code(string(s.Operation))
}

// grouped writes a whole number with thousands apart.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func (a *agreement) repeats() {
	a.begin("repeats", "Concurrent requests and repeats")
	a.table([]string{"What comes", "What its caller gets"},
		[]string{"a new key", "201: the operation, stored durably before the answer and before anything is sent"},
		[]string{"the same key, the same intent", "200 with " + code("Idempotent-Replayed: true") + ": the original operation as it is now, in whatever state, also while it is being sent; nothing is started"},
		[]string{"many with one key at the same moment", "one is admitted, the others get its operation; none sees an error because of the race, and none waits for the effect unless it asked to (" + code("Prefer: wait") + ")"},
		[]string{"the same key, another intent", "422 " + code("key_conflict") + ": the operation's id, and by JSON Pointer what differs (both values for those who may read requests); nothing is changed or started, and the refusal is noted on the operation's timeline"},
		[]string{"the same key after its retention", "410 " + code("key_expired") + ", see Retention"},
		[]string{"no clear answer (503, a lost connection)", "the same request under the same key is safe to send again, always"},
	)
	a.list(
		"One attempt of an operation is under way at a time; the one exception stands in the last section.",
		"A key whose operation ended rejected or canceled goes on answering with that operation. Starting the same business again takes a new key, which is safe if the operation says "+code("new_key_safe")+".",
		"Where an operation is refused before it is admitted, its key is not used up.",
	)
}

func (a *agreement) duplicates() {
	a.begin("duplicates", "Business duplicates")
	a.say("This contract declares no business identity, and this release supports none yet.",
		"Two submissions under different keys are two operations, even if all else is equal: nothing is held as a suspected duplicate, nothing is merged, and there is no path of exceptions.",
		"Choosing the key from the business itself (a supplier's number and an invoice number, for instance) makes a double submission a repeat.")
}

func (a *agreement) retention() {
	kept := a.capability.Retention
	a.begin("retention", "Retention")
	a.say("Times count from the later of admission and last settlement: an operation that is not settled keeps its key, however long that takes.")
	row := func(what string, d time.Duration, then string) []string { return []string{what, span(d), then} }
	a.table([]string{"What", "The contract says", "What happens then in this release"},
		row("Key", kept.Key, afterwards(kept.Key, "the key answers 410 "+code("key_expired")+" and is never taken for a new one")),
		row("Trace of an expired key", kept.Tombstone, "kept: an expired key is recognised without end"),
		row("Request and outgoing request", kept.Payload, afterwards(kept.Payload, "kept: not deleted yet")),
		row("History (operation, attempts, evidence)", kept.History, afterwards(kept.History, "kept: not deleted yet")),
	)
	a.list(
		"This release keeps everything and deletes nothing: of the times above the key's alone has an effect. Plan storage, and what you owe to the people in the data, accordingly.",
		"Requests, outgoing requests and excerpts of answers lie in the database unencrypted. Credentials are never among them.",
		"When a later release deletes, deleting is logical only as long as payloads are not encrypted: files, write-ahead log and backups may still hold what was deleted.",
	)
	a.say("A caller whose key has expired finds in the answer the operation's id and, if it may read requests, its state, its reference and "+code("new_key_safe")+".",
		"Nothing was compared or started.",
		"It looks at the operation, and uses a new key only where "+code("new_key_safe")+" is true.")
}

// afterwards is what follows after a time, or that nothing does.
func afterwards(d time.Duration, then string) string {
	if d == onefold.Forever {
		return "never over"
	}
	return then
}
