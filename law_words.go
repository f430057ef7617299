package onefold

import "slices"

// What the law says to a person of evidence that disagrees. Words of others stand in
// it as Named and Shown have them.

// contradiction says in what evidence disagrees with what is recorded.
func contradiction(reference string, effect bool, ms []Mismatch) string {
	of := ""
	if reference != "" {
		of = " " + Named(reference)
	}
	switch {
	case !effect && of != "":
		return "evidence that there is no effect" + of + " disagrees with what is recorded"
	case !effect:
		return "evidence that there is no effect disagrees with what is recorded"
	case of == "":
		of = "evidence of an effect disagrees with what is recorded"
	default:
		of = "evidence of the effect" + of + " disagrees with what is recorded"
	}
	if len(ms) > 0 {
		of += ": " + describeMismatches(ms)
	}
	return of
}

func describeMismatches(ms []Mismatch) string {
	text := "the target's record differs from the approved request"
	for i, m := range ms {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		text += sep + Shown(m.Pointer) + " is " + Shown(m.Found) + ", approved was " + Shown(m.Approved)
	}
	return text
}

func describeReferences(refs []string) string {
	sorted := slices.Sorted(slices.Values(refs))
	text := "the target holds more than one record for this operation"
	for i, r := range sorted {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		text += sep + Named(r)
	}
	return text
}
