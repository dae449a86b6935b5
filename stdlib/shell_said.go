package stdlib

import (
	"errors"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// errShellFull ends a command that has said enough.
var errShellFull = errors.New("the command said more than is kept")

// A shellSaid keeps what a command says, and tells it while it runs.
type shellSaid struct {
	mu      sync.Mutex
	limit   int // bytes of both streams
	emit    func(tool.Report)
	streams [2]shellStream
	full    bool
}

// A shellStream is one of a command's outputs.
type shellStream struct {
	text []byte
	told int // how much of it listeners have
}

// A shellWriter is where one stream comes in.
type shellWriter struct {
	said   *shellSaid
	stream int
}

func (s *shellSaid) out() io.Writer { return shellWriter{s, 0} }
func (s *shellSaid) err() io.Writer { return shellWriter{s, 1} }

// Write implements [io.Writer].
func (w shellWriter) Write(b []byte) (int, error) {
	s := w.said
	s.mu.Lock()
	defer s.mu.Unlock()
	room := s.limit - len(s.streams[0].text) - len(s.streams[1].text)
	kept := b[:min(len(b), room)]
	st := &s.streams[w.stream]
	st.text = append(st.text, kept...)
	s.tell(st, false)
	if len(kept) < len(b) {
		s.full = true
		return len(kept), errShellFull
	}
	return len(b), nil
}

// tell brings what is new to who listens, up to the last whole character.
func (s *shellSaid) tell(st *shellStream, all bool) {
	end := len(st.text)
	for i := 1; !all && i < utf8.UTFMax && i <= end-st.told; i++ {
		if utf8.RuneStart(st.text[end-i]) {
			if !utf8.FullRune(st.text[end-i:]) {
				end -= i
			}
			break
		}
	}
	if end == st.told {
		return
	}
	chunk := st.text[st.told:end]
	st.told = end
	if s.emit != nil {
		s.emit(tool.ToolOutput{Chunk: shellText(chunk)})
	}
}

// flush tells what is left of characters that never became whole.
func (s *shellSaid) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.streams {
		s.tell(&s.streams[i], true)
	}
}

func shellText(b []byte) string { return strings.ToValidUTF8(string(b), "�") }

// result is what the script gets.
func (s *shellSaid) result(exit int) *value.Dict {
	return value.NewDict("exit_code", int64(exit), "stdout", shellText(s.streams[0].text), "stderr", shellText(s.streams[1].text), "truncated", s.full)
}

// shellTail is how much of what a command said stands in an error: its end,
// where a program says what went wrong.
const shellTail = 1000

// failure gives the error of a command that was ended, with the last that it
// said. One that said too much is no failure: what came is the result.
func (s *shellSaid) failure(name string, err error) error {
	if err == nil || errors.Is(err, errShellFull) {
		return nil
	}
	e := *value.ErrorOf(err, value.Failed)
	tail := s.tail()
	if tail != "" {
		e.Err = value.Errorf(e.Kind, "%s: %w; the last that it said: %s", name, err, tail)
	} else {
		e.Err = value.Errorf(e.Kind, "%s: %w", name, err)
	}
	e.Op = ""
	return &e
}

func (s *shellSaid) tail() string {
	text := strings.TrimSpace(shellText(s.streams[1].text))
	if text == "" {
		text = strings.TrimSpace(shellText(s.streams[0].text))
	}
	if len(text) > shellTail {
		text = "…" + strings.ToValidUTF8(text[len(text)-shellTail:], "")
	}
	return text
}
