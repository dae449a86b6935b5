package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// errFull ends a command that has written more than is kept.
var errFull = errors.New("the output of the command is larger than the limit")

// An output keeps what a command writes, and reports it while the command runs.
type output struct {
	ctx     context.Context // of the effect
	mu      sync.Mutex
	held    membudget.Growing // the memory for both streams
	limit   int               // bytes of both streams
	emit    func(tool.Report)
	streams [2]stream
	full    bool
}

// A stream is one of a command's outputs.
type stream struct {
	text     []byte
	reported int // how much of it was emitted
}

// A writer is where one stream comes in.
type writer struct {
	output *output
	stream int
}

func (s *output) stdout() io.Writer { return writer{s, 0} }
func (s *output) stderr() io.Writer { return writer{s, 1} }

// Write implements [io.Writer]. The command waits while other calls hold the memory for what it writes.
func (w writer) Write(b []byte) (int, error) {
	s := w.output
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.limit - len(s.streams[0].text) - len(s.streams[1].text)
	kept := b[:min(len(b), left)]
	if err := s.held.To(s.ctx, int64(s.limit-left+len(kept))); err != nil {
		return 0, membudget.Acted("stopped, since there is no memory for its output", err)
	}
	st := &s.streams[w.stream]
	st.text = append(st.text, kept...)
	s.report(st, false)
	if len(kept) < len(b) {
		s.full = true
		return len(kept), errFull
	}
	return len(b), nil
}

// report emits what is new, up to the last complete character.
func (s *output) report(st *stream, all bool) {
	end := len(st.text)
	for i := 1; !all && i < utf8.UTFMax && i <= end-st.reported; i++ {
		if utf8.RuneStart(st.text[end-i]) {
			if !utf8.FullRune(st.text[end-i:]) {
				end -= i
			}
			break
		}
	}
	if end == st.reported {
		return
	}
	chunk := st.text[st.reported:end]
	st.reported = end
	if s.emit != nil {
		s.emit(tool.ToolOutput{Chunk: validText(chunk)})
	}
}

// flush reports the rest: characters that are not complete.
func (s *output) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.streams {
		s.report(&s.streams[i], true)
	}
}

func validText(b []byte) string { return strings.ToValidUTF8(string(b), "�") }

// result is what the script gets.
func (s *output) result(exit int) *value.Dict {
	return value.NewDict("exit_code", int64(exit), "stdout", validText(s.streams[0].text), "stderr", validText(s.streams[1].text), "truncated", s.full)
}

// maxShown bounds the output in an error, in bytes: an error has 4 KB.
const maxShown = 3500

// shown returns the output for an error, the middle left out where it is long: programs
// report what went wrong at the end of stderr, and what it is about at the beginning.
func (s *output) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	stdout, stderr := s.streams[0].text, s.streams[1].text
	forErr := min(len(stderr), max(maxShown/2, maxShown-len(stdout)))
	forOut := min(len(stdout), maxShown-forErr)
	text := ""
	for _, part := range []struct {
		name string
		text []byte
		most int
	}{{"stdout", stdout, forOut}, {"stderr", stderr, forErr}} {
		if len(part.text) > 0 {
			text += "\n" + part.name + ":\n" + strings.TrimRight(cutMiddle(part.text, part.most), "\n")
		}
	}
	return text
}

// cutMiddle returns a text with at most a number of its bytes, one quarter from the
// beginning.
func cutMiddle(b []byte, most int) string {
	if len(b) <= most {
		return validText(b)
	}
	head := most / 4
	return fmt.Sprintf("%s\n… (%d bytes omitted) …\n%s",
		strings.ToValidUTF8(string(b[:head]), ""), len(b)-most, strings.ToValidUTF8(string(b[len(b)-most+head:]), ""))
}

// failure gives the error of a command that was ended, with its output until then. One
// that wrote too much is not a failure: what came is the result.
func (s *output) failure(name string, err error) error {
	if err == nil || errors.Is(err, errFull) {
		return nil
	}
	e := *value.ErrorOf(err, value.Failed)
	if shown := s.shown(); shown != "" {
		e.Err = value.Errorf(e.Kind, "%s: %w; output:%s", name, err, shown)
	} else {
		e.Err = value.Errorf(e.Kind, "%s: %w", name, err)
	}
	e.Op = ""
	return &e
}

// exitError returns the error of a command that failed, or was killed as it wrote too much.
func (s *output) exitError(name string, exit int, killed bool) error {
	shown := s.shown()
	if killed {
		return value.Errorf(value.Command, "%s: killed: more than %d bytes of output%s", name, s.limit, shown).
			WithHint("write the output to a file, or filter it, for example with: | tail -n 100")
	}
	if shown == "" {
		shown = " and no output"
	}
	return value.Errorf(value.Command, "%s: exit code %d%s", name, exit, shown)
}
