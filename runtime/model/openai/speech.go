package openai

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
)

const thinkStart, thinkEnd = "<think>", "</think>"

// A speech passes on the text of a reply. It keeps back <think>…</think> at the beginning, which
// servers send that do not separate the reasoning of a model from its answer.
type speech struct {
	draft *wire.Draft
	state speechState
	held  []byte // not passed on: what may be the beginning, or the reasoning so far
}

type speechState int

const (
	speechBegins  speechState = iota // the tag may follow
	speechThinks                     // inside of the tags
	speechPauses                     // after them: line breaks before the answer are dropped
	speechAnswers                    // the rest is the answer
)

// take adds a piece of the text.
func (s *speech) take(piece string) *wire.Failure {
	switch s.state {
	case speechBegins:
		return s.begin(piece)
	case speechThinks:
		return s.think(piece)
	case speechPauses:
		if piece = strings.TrimLeft(piece, " \t\r\n"); piece == "" {
			return nil
		}
		s.state = speechAnswers
	}
	return s.draft.Say(piece)
}

func (s *speech) begin(piece string) *wire.Failure {
	if f := s.draft.Grow(len(piece)); f != nil {
		return f
	}
	s.held = append(s.held, piece...)
	text := strings.TrimLeft(string(s.held), " \t\r\n")
	if rest, ok := strings.CutPrefix(text, thinkStart); ok {
		s.state, s.held = speechThinks, nil
		s.uncount(len(rest))
		return s.think(rest)
	}
	if strings.HasPrefix(thinkStart, text) {
		return nil
	}
	return s.release()
}

func (s *speech) think(piece string) *wire.Failure {
	if f := s.draft.Grow(len(piece)); f != nil {
		return f
	}
	from := max(0, len(s.held)-len(thinkEnd)) // the tag may be in two pieces
	s.held = append(s.held, piece...)
	i := strings.Index(string(s.held[from:]), thinkEnd)
	if i < 0 {
		return nil
	}
	rest := string(s.held[from+i+len(thinkEnd):])
	s.held, s.state = s.held[:from+i], speechPauses
	return s.take(rest)
}

// end passes on what was held back and is not reasoning. The reasoning of a reply that was cut
// off has no end.
func (s *speech) end(cut bool) {
	switch {
	case s.state == speechThinks && cut:
		s.state = speechPauses
	case s.state == speechThinks:
		s.held = append([]byte(thinkStart), s.held...)
		s.release()
	case s.state == speechBegins:
		s.release()
	}
}

// release passes on what was held back. It was counted before.
func (s *speech) release() *wire.Failure {
	text := string(s.held)
	s.state, s.held = speechAnswers, nil
	s.uncount(len(text))
	return s.draft.Say(text)
}

func (s *speech) uncount(n int) {
	_ = s.draft.Grow(-n) // never beyond the limit
}

// thought returns the reasoning at the beginning of the text.
func (s *speech) thought() string {
	if s.state == speechPauses || s.state == speechAnswers {
		return string(s.held)
	}
	return ""
}
