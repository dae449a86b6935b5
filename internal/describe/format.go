package describe

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TimeLayout is the format of times for people.
const TimeLayout = "2006-01-02 15:04:05"

// Moment writes a time for people, with milliseconds. The zero time is "".
func Moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(TimeLayout + ".000")
}

// Age writes how long ago something was, in its largest unit.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", max(0, int(d/time.Second)))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	}
	return fmt.Sprintf("%dd ago", d/day)
}

// stamp writes a time for programs. The zero time is nil.
func stamp(t time.Time) value.Value {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Duration writes how long something took, rounded for people.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		d = d.Round(time.Millisecond)
	case d < time.Minute:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Second)
	}
	return d.String()
}

// Took writes how long something worked, and how long it waited if that was long.
func Took(worked, waited time.Duration) string {
	if waited < time.Second {
		return Duration(worked)
	}
	return Duration(worked) + ", waited " + Duration(waited)
}

// bytesText writes a number of bytes.
func bytesText(n int) string {
	const kb = 1024
	switch {
	case n < kb:
		return strconv.Itoa(n) + " B"
	case n < kb*kb:
		return fmt.Sprintf("%.1f KB", float64(n)/kb)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(kb*kb))
}

// size returns the length of a value in bytes, as people see it.
func size(v value.Value) int {
	switch v := v.(type) {
	case nil:
		return 0
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return len(JSON(v))
}

// FirstLine returns the first line of a text that is not blank, or a value on one line.
func FirstLine(v value.Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		for line := range strings.Lines(v) {
			if line = strings.TrimSpace(line); line != "" {
				return line
			}
		}
		return ""
	}
	return value.FormatJSON(v, "")
}

// JSON writes a value as JSON on a line. A value that JSON cannot express, such as
// infinity, becomes a string.
func JSON(v value.Value) string {
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return value.FormatJSON(v, "")
	}
	return string(text)
}

// OrNil returns a dict as a value: nil, not a nil dict.
func OrNil(d *value.Dict) value.Value {
	if d == nil {
		return nil
	}
	return d
}

// ArgsText returns arguments, each of them cut. Untrusted text in it is not visible yet.
func ArgsText(args *value.Dict) string {
	const maxArg = 50 // characters of each
	var b strings.Builder
	for k, v := range args.All() {
		name, _ := k.(string)
		text := value.FormatJSON(v, "")
		if s, ok := v.(string); ok && !strings.ContainsAny(s, " \n\t\"") {
			text = s
		}
		b.WriteString(" " + name + "=" + visible.Cut(text, maxArg))
	}
	return b.String()
}
