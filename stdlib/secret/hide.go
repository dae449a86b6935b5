package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// patterns are what a value looks like in each view of a text that holds it. Each has at
// least MinLength bytes.
type patterns struct {
	plain, dense, joined, base64, hex, decimal [][]byte
}

// matchers find the patterns of all hidden values.
type matchers struct {
	plain, dense, joined, base64, hex, decimal matcher
}

func (m *matchers) add(val, instead string) {
	p := patternsOf(val)
	m.plain.add(p.plain, instead)
	m.dense.add(p.dense, instead)
	m.joined.add(p.joined, instead)
	m.base64.add(p.base64, instead)
	m.hex.add(p.hex, instead)
	m.decimal.add(p.decimal, instead)
}

// A span is a part of a text, and what replaces it.
type span struct {
	from, to int
	instead  string
}

// minJoined is how many letters and digits a value must have to be found with anything
// between them.
const minJoined = 16

// maxDecoded is how many layers of escapes are decoded: a value that was escaped twice,
// in a text that was, and one more.
const maxDecoded = 4

// escapeHTML escapes a text in JSON as Go and others do, so that HTML can hold it.
var escapeHTML = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)

func patternsOf(val string) patterns {
	wide := utf16.Encode([]rune(val))
	little, big := make([]byte, 0, 2*len(wide)), make([]byte, 0, 2*len(wide))
	for _, unit := range wide {
		little, big = binary.LittleEndian.AppendUint16(little, unit), binary.BigEndian.AppendUint16(big, unit)
	}
	back := []byte(val)
	slices.Reverse(back)
	var p patterns
	inForm := []byte(strings.ReplaceAll(val, " ", "+"))
	last := unescapeAll([]byte(val)) // an escape in the value is decoded with those of the text
	for _, data := range [][]byte{[]byte(val), back, little, big, inForm, last} {
		dense := project(nil, data, &denseBytes)
		if len(dense) >= MinLength {
			p.dense = append(p.dense, dense)
		}
		if len(data) >= MinLength && (len(dense) < MinLength || denseBytes[data[0]] == 0 || denseBytes[data[len(data)-1]] == 0) {
			p.plain = append(p.plain, data) // little of it or not its end is visible ASCII
		}
	}
	quoted := strings.Trim(value.FormatJSON(val, ""), `"`)
	if joined := project(nil, []byte(val), &joinedBytes); len(joined) >= minJoined {
		p.joined = append(p.joined, joined)
	}
	inside := [][]byte{
		[]byte(val), little, big, []byte(url.QueryEscape(val)), []byte(url.PathEscape(val)),
		[]byte(quoted), []byte(escapeHTML.Replace(quoted)), []byte(html.EscapeString(val)), []byte(hex.EncodeToString([]byte(val))),
	}
	for before := range 3 { // as in a header that was put in base64 with others
		seen := inBase64([]byte(val), before)
		inside = append(inside, seen, bytes.Map(toURL, seen))
	}
	slices.SortFunc(inside, bytes.Compare)
	for _, data := range slices.CompactFunc(inside, bytes.Equal) {
		for before := range 3 {
			if seen := project(nil, inBase64(data, before), &base64Bytes); len(seen) >= MinLength {
				p.base64 = append(p.base64, seen)
			}
		}
	}
	spaced := make([]byte, 0, 3*len(val)) // of 0x41, whose x is no digit
	var numbers []byte                    // of the bytes, as in [65, 66]
	for i := range len(val) {
		spaced = hex.AppendEncode(append(spaced, '0'), []byte{val[i]})
		numbers = strconv.AppendInt(append(numbers, ','), int64(val[i]), 10)
	}
	p.hex = [][]byte{hex.AppendEncode(nil, []byte(val)), spaced, hex.AppendEncode(nil, little), hex.AppendEncode(nil, big)}
	for before := range 3 {
		seen := inBase64([]byte(val), before)
		p.hex = append(p.hex, hex.AppendEncode(nil, seen), hex.AppendEncode(nil, bytes.Map(toURL, seen)))
	}
	p.decimal = [][]byte{numbers[1:]}
	return p
}

// toURL makes base64 that of URLs.
func toURL(r rune) rune {
	switch r {
	case '+':
		return '-'
	case '/':
		return '_'
	}
	return r
}

// unescapeAll decodes a value until it has no escapes, or returns nil if it has none.
func unescapeAll(val []byte) (last []byte) {
	for range maxDecoded {
		if val = unescape(val, nil); val == nil {
			break
		}
		last = val
	}
	return last
}

// inBase64 returns what of a value is seen in base64 of a text in which it is behind so
// many bytes.
func inBase64(val []byte, before int) []byte {
	text := base64.RawStdEncoding.AppendEncode(nil, slices.Concat(make([]byte, before), val))
	return text[(8*before+5)/6 : 8*(before+len(val))/6]
}

// find returns where values are in a text that was decoded so many times.
func (m *matchers) find(text []byte, decoded int) []span {
	f := finder{text: text, view: make([]byte, 0, len(text))}
	f.take(m.plain.find(text), nil)
	f.table(&denseBytes, &m.dense)
	f.table(&joinedBytes, &m.joined)
	f.table(&base64Bytes, &m.base64)
	f.table(&hexBytes, &m.hex)
	f.view = numbersIn(f.view[:0], text, nil)
	f.take(m.decimal.find(f.view), func(at []int) { numbersIn(nil, text, at) })
	if decoded == maxDecoded {
		return f.spans
	}
	if bytes.ContainsAny(text, `%&\`) {
		f.decoded(unescape, func(inner []byte) []span { return m.find(inner, decoded+1) })
	}
	if decoded < 2 && bytes.IndexByte(text, '=') >= 0 {
		f.decoded(unquote, func(inner []byte) []span {
			g := finder{text: inner}
			g.take(m.plain.find(inner), nil)
			g.table(&denseBytes, &m.dense)
			return g.spans
		})
	}
	return f.spans
}

// A matcher finds several patterns in one pass. It compares the first bytes of the
// patterns with each part of a text that has that length.
type matcher struct {
	filter  [1 << (filterBits - 6)]uint64 // a bit for the hash of each start of a pattern
	byStart map[uint64][]pattern          // the longest first
}

type pattern struct {
	text    []byte
	instead string
}

const filterBits = 14

// hash spreads the bytes of a start.
func hash(start uint64) uint64 { return start * 0x9E3779B97F4A7C15 >> (64 - filterBits) }

func (m *matcher) add(patterns [][]byte, instead string) {
	if m.byStart == nil {
		m.byStart = map[uint64][]pattern{}
	}
	for _, p := range patterns {
		start := binary.BigEndian.Uint64(p)
		h := hash(start)
		m.filter[h/64] |= 1 << (h % 64)
		list := append(m.byStart[start], pattern{p, instead})
		slices.SortStableFunc(list, func(x, y pattern) int { return cmp.Compare(len(y.text), len(x.text)) })
		m.byStart[start] = list
	}
}

// find returns where patterns are, by their starts.
func (m *matcher) find(view []byte) (spans []span) {
	if len(m.byStart) == 0 || len(view) < MinLength {
		return nil
	}
	start := binary.BigEndian.Uint64(view) >> 8
	for i, c := range view[MinLength-1:] {
		start = start<<8 | uint64(c)
		if h := hash(start); m.filter[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		for _, p := range m.byStart[start] {
			if !bytes.HasPrefix(view[i:], p.text) {
				continue
			}
			if n := len(spans); n > 0 && i < spans[n-1].to && spans[n-1].instead == p.instead {
				spans[n-1].to = max(spans[n-1].to, i+len(p.text)) // a value that repeats itself
			} else {
				spans = append(spans, span{i, i + len(p.text), p.instead})
			}
			break
		}
	}
	return spans
}

// A finder collects where values are in a text.
type finder struct {
	text  []byte
	view  []byte // scratch
	spans []span
}

// take adds spans of a view. back translates ascending offsets of the view to those of
// the text: the starts of spans and their ends in turn. Nil means that they are the same.
func (f *finder) take(spans []span, back func(offsets []int)) {
	if len(spans) == 0 || back == nil {
		f.spans = append(f.spans, spans...)
		return
	}
	spans = merge(spans)
	offsets := make([]int, 0, 2*len(spans))
	for _, s := range spans {
		offsets = append(offsets, s.from, s.to)
	}
	back(offsets)
	for i, s := range spans {
		f.spans = append(f.spans, span{offsets[2*i], offsets[2*i+1], s.instead})
	}
}

// table searches the view that a table makes of the text.
func (f *finder) table(table *[256]byte, m *matcher) {
	f.view = project(f.view[:0], f.text, table)
	f.take(m.find(f.view), func(offsets []int) {
		seen, next := 0, 0
		for i := 0; next < len(offsets); i++ {
			if table[f.text[i]] == 0 {
				continue
			}
			if seen++; next%2 == 0 && seen == offsets[next]+1 {
				offsets[next] = i
				next++
			}
			if next < len(offsets) && next%2 == 1 && seen == offsets[next] {
				offsets[next] = i + 1
				next++
			}
		}
	})
}

// decoded searches what a decoder makes of the text, if that is something else.
func (f *finder) decoded(decode func(text []byte, offsets []int) []byte, search func([]byte) []span) {
	inner := decode(f.text, nil)
	if inner != nil {
		f.take(search(inner), func(offsets []int) { decode(f.text, offsets) })
	}
}

// merge sorts spans, and makes one of those that overlap: with the placeholder of the
// longest.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(x, y span) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(y.to, x.to)) })
	merged, longest := spans[:0], 0
	for _, s := range spans {
		if len(merged) == 0 || s.from >= merged[len(merged)-1].to {
			merged, longest = append(merged, s), s.to-s.from
			continue
		}
		last := &merged[len(merged)-1]
		if s.to-s.from > longest {
			last.instead, longest = s.instead, s.to-s.from
		}
		last.to = max(last.to, s.to)
	}
	return merged
}

func replaceAll(text string, spans []span) string {
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range merge(spans) {
		b.WriteString(text[at:s.from])
		b.WriteString(s.instead)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}
