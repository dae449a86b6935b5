package taint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxShown is how many sources a question shows: the last ones, which the model has read most
// recently.
const maxShown = 3

// String returns the source as people read it.
func (s Source) String() string {
	text := "the result of " + s.Tool
	switch {
	case s.Tool == "":
		text = s.What + ", which was attached"
	case s.What != "":
		text = s.Tool + " read " + s.What
	}
	text = oneLine(text)
	if len(s.At) == 0 {
		return text + " (earlier in this conversation)"
	}
	return text + " (step " + s.At.String() + ")"
}

// oneLine returns a text without line ends.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Why returns why a call asks, for people: what the model has read.
func Why(read []Source) string {
	var lines []string
	for _, s := range slices.Backward(read) {
		if text := s.String(); !slices.Contains(lines, text) {
			lines = append(lines, text)
		}
	}
	text := "the model has read untrusted text: " + strings.Join(lines[:min(len(lines), maxShown)], "; ")
	if more := len(lines) - maxShown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Kind identifies the sources in a permanent approval: it is valid until another one is read.
func Kind(read []Source) string {
	list := value.Map(read, func(s Source) string { return s.Tool + " " + s.What })
	slices.Sort(list)
	return "after " + tool.HashBytes([]byte(strings.Join(slices.Compact(list), "\n")))[:16]
}

// maxTrusting is how many entries a command adds to the list trusted_sources.
const maxTrusting = 8

// Trusting returns the entries of the list trusted_sources that would trust the sources. It is nil if they
// are too many, or if the list cannot name one of them.
func Trusting(read []Source) []string {
	var list []string
	for _, s := range read {
		entry := s.entry()
		if _, err := ParseSource(entry); err != nil {
			return nil
		}
		if !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	if len(list) > maxTrusting {
		return nil
	}
	return list
}

// entry returns the narrowest entry of the list trusted_sources for the source, or one that is invalid.
func (s Source) entry() string {
	name, at, _ := strings.Cut(s.What, " ")
	host := hostOf(at)
	switch {
	case s.What == "":
		return "tool:" + s.Tool
	case host != "" && strings.HasPrefix(name, "http."):
		return "http:" + host
	case strings.Contains(s.What, "/") && !strings.ContainsAny(s.What, "*?[]{}() …"):
		return "fs.read:" + s.What
	}
	return ""
}

// Because adds to the reason of a question, which may be "", what the model has read.
func Because(why string, read []Source) string {
	switch {
	case len(read) == 0:
		return why
	case why == "":
		return Why(read)
	}
	return why + "; " + Why(read)
}

// Unapproved returns the error of a question that nobody can answer, with a hint how to trust the
// sources.
func Unapproved(err *value.Error, read []Source) *value.Error {
	if how := trustHint(read); how != "" {
		return err.WithHint("run the command in a terminal; %s; in Go, set Options.Approver or Options.TrustedSources", how)
	}
	return err.WithHint("run the command in a terminal; in Go, set Options.Approver")
}

// NoRule returns why no rule answers a question about the sources, and what does instead.
func NoRule(read []Source) string {
	text := "after the model has read untrusted text, this asks whatever rules allow"
	if how := trustHint(read); how != "" {
		text += "; " + how
	}
	return text
}

// trustHint says how to trust the sources, or is "".
func trustHint(read []Source) string {
	list := Trusting(read)
	if len(list) == 0 {
		return ""
	}
	return hint.Trust(list)
}
