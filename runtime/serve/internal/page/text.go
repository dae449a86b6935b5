package page

import (
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/visible"
)

// text shows untrusted text on one line: what nobody can see, or takes for something else, is marked,
// and its direction ends where it ends. All untrusted text of pages passes here, through text, lines or
// spans.
func text(s string) template.HTML {
	return isolate(func(b *strings.Builder) { writeSpans(b, visible.Spans(s)) })
}

// lines is text for several lines, where white space is kept.
func lines(s string) template.HTML {
	return isolate(func(b *strings.Builder) {
		for _, l := range visible.Lines(s) {
			writeSpans(b, l.Spans)
			if l.Ended {
				b.WriteByte('\n')
			}
		}
	})
}

// spans shows what a review has already marked.
func spans(list []visible.Span) template.HTML {
	return isolate(func(b *strings.Builder) { writeSpans(b, list) })
}

// plain is text for an attribute or a title, where marks are characters.
func plain(s string) string { return visible.Line(s) }

func isolate(write func(*strings.Builder)) template.HTML {
	var b strings.Builder
	b.WriteString(`<bdi>`)
	write(&b)
	b.WriteString(`</bdi>`)
	return template.HTML(b.String()) // every character of it passed the escaper, or is ours
}

// markTitles say why a part is marked.
var markTitles = map[visible.Mark]string{
	visible.Space:     "white space that could hide what follows it",
	visible.Invisible: "not visible in the original",
	visible.Alike:     "looks like another character",
	visible.Invalid:   "a byte that is not text",
}

func writeSpans(b *strings.Builder, list []visible.Span) {
	for _, s := range list {
		switch {
		case s.Mark == "":
			template.HTMLEscape(writer{b}, []byte(s.Text))
		case !strings.HasPrefix(s.Text, "⟨"): // a tab or a line end
			b.WriteString(`<i class="ws">`)
			template.HTMLEscape(writer{b}, []byte(s.Text))
			b.WriteString(`</i>`)
		default:
			b.WriteString(`<mark title="` + markTitles[s.Mark] + `">`)
			template.HTMLEscape(writer{b}, []byte(s.Text))
			b.WriteString(`</mark>`)
		}
	}
}

// writer hides the other methods of a builder from the escaper.
type writer struct{ *strings.Builder }

// count writes how many there are, as in "1 file" and "1,284 runs".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return num(n) + " " + what
}

// num writes a number with commas.
func num[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size writes a number of bytes, as in "48.2 MB".
func size(n int64) string {
	units := []string{"KB", "MB", "GB", "TB"}
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, i := float64(n)/1000, 0
	for ; f >= 1000 && i < len(units)-1; i++ {
		f /= 1000
	}
	digits := 1
	if f >= 100 || f == float64(int(f)) {
		digits = 0
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + " " + units[i]
}

// cost writes US dollars, with a dash for nothing.
func cost(usd float64) string {
	switch {
	case usd == 0:
		return "–"
	case usd < 0.0001:
		return "<$0.0001"
	case usd < 1:
		return "$" + strconv.FormatFloat(usd, 'f', 4, 64)
	}
	return "$" + strconv.FormatFloat(usd, 'f', 2, 64)
}

// duration writes how long something took, with its two largest units.
func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1 ms"
	case d < 950*time.Millisecond:
		return d.Round(time.Millisecond).String()[:len(d.Round(time.Millisecond).String())-2] + " ms"
	case d < 9950*time.Millisecond:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	}
	units := []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.of {
			continue
		}
		s := strconv.FormatInt(int64(d/u.of), 10) + " " + u.name
		if i+1 < len(units) {
			if rest := d % u.of / units[i+1].of; rest > 0 {
				s += " " + strconv.FormatInt(int64(rest), 10) + " " + units[i+1].name
			}
		}
		return s
	}
	return ""
}

// short writes how long something took, with its largest unit.
func short(d time.Duration) string {
	words := strings.Fields(duration(d))
	return strings.Join(words[:min(2, len(words))], " ")
}

// day writes the heading of a day.
func day(t, now time.Time) string {
	name := t.Format("Monday 2 January")
	if t.Year() != now.In(t.Location()).Year() {
		name = t.Format("Monday 2 January 2006")
	}
	switch {
	case sameDay(t, now):
		return "Today, " + name
	case sameDay(t, now.In(t.Location()).AddDate(0, 0, -1)):
		return "Yesterday, " + name
	}
	return name
}

// sameDay reports whether it is still the day of t, where t is.
func sameDay(t, now time.Time) bool {
	now = now.In(t.Location())
	return t.Year() == now.Year() && t.YearDay() == now.YearDay()
}

// left writes how long it is until a deadline.
func left(d time.Duration) string {
	if d < time.Minute {
		return "less than a minute"
	}
	s := duration(d.Truncate(time.Minute))
	if d < time.Hour {
		s = strings.TrimSuffix(s, " m") + " min"
	}
	return s
}

// when writes a day and a time, with the year unless it is this one.
func when(t, now time.Time) string {
	if t.Year() != now.In(t.Location()).Year() {
		return t.Format("Mon 2 Jan 2006, 15:04")
	}
	return t.Format("Mon 2 Jan, 15:04")
}

// element makes a time that programs can read, too.
func element(t time.Time, shown string) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `">` + shown + `</time>`)
}
