package identity

import (
	"strings"
	"time"
)

// maxFraction is how many fraction digits an instant may have (I11): a
// nanosecond is the finest that stores and languages around us keep.
const maxFraction = 9

// parseDate reads YYYY-MM-DD and says whether that day exists. Years are 0000
// to 9999, as in RFC 3339.
func parseDate(s string) (time.Time, bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return time.Time{}, false
	}
	year, okY := fixedInt(s[0:4], 0, 9999)
	month, okM := fixedInt(s[5:7], 1, 12)
	day, okD := fixedInt(s[8:10], 1, 31)
	if !okY || !okM || !okD {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	// time.Date carries a day that does not exist into the next month.
	return t, t.Day() == day
}

// normalizeInstant reads RFC 3339 section 5.6 as I11 narrows it and returns the
// point in time in UTC as I11a writes it; otherwise why it is none.
func normalizeInstant(s string) (canonical, complaint string) {
	const shape = "an instant is written like 2026-11-29T08:00:00.5Z or with an offset like +02:00"
	const clock = len("2026-11-29T08:00:00")
	if len(s) <= clock {
		return "", shape
	}
	day, ok := parseDate(s[:10])
	if !ok {
		return "", "an instant begins with a date that exists"
	}
	hour, okH := fixedInt(s[11:13], 0, 23)
	minute, okM := fixedInt(s[14:16], 0, 59)
	second, okS := fixedInt(s[17:19], 0, 59)
	if (s[10] != 'T' && s[10] != 't') || s[13] != ':' || s[16] != ':' || !okH || !okM || !okS {
		return "", shape + ", from 00:00:00 to 23:59:59"
	}
	rest, fraction := s[clock:], ""
	if rest[0] == '.' {
		fraction = digitsAt(rest, 1)
		if fraction == "" || len(fraction) > maxFraction {
			return "", "an instant's fraction has one to nine digits"
		}
		rest = rest[1+len(fraction):]
	}
	offset, ok := parseOffset(rest)
	if !ok {
		return "", "an instant ends with Z or an offset like +02:00"
	}
	t := day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute +
		time.Duration(second)*time.Second - offset)
	if t.Year() < 0 || t.Year() > 9999 {
		return "", "an instant lies in the years 0000 to 9999 in UTC"
	}
	canonical = t.Format("2006-01-02T15:04:05")
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		canonical += "." + fraction
	}
	return canonical + "Z", ""
}

// parseOffset reads Z, z or ±hh:mm. -00:00 (offset unknown) is the same point
// in time as Z.
func parseOffset(s string) (time.Duration, bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if len(s) != 6 || (s[0] != '+' && s[0] != '-') || s[3] != ':' {
		return 0, false
	}
	hours, okH := fixedInt(s[1:3], 0, 23)
	minutes, okM := fixedInt(s[4:6], 0, 59)
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if s[0] == '-' {
		offset = -offset
	}
	return offset, okH && okM
}

// fixedInt reads digits only, within bounds.
func fixedInt(s string, low, high int) (int, bool) {
	if s == "" || digitsAt(s, 0) != s {
		return 0, false
	}
	n := boundedInt(s, high)
	return n, n >= low && n <= high
}
