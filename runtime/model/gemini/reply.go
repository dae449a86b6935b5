package gemini

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A stream assembles the chunks of a reply. A reply that is not streamed is one chunk.
type stream struct {
	wire.Draft
	c         *conversation
	parts     value.List      // for the next request
	tail      strings.Builder // the text of the last part, while it grows
	made      []model.Call
	reasoning strings.Builder
	sources   []source
	finished  bool
	answered  bool // a chunk of a reply arrived
}

// whole reads a reply that is not streamed.
func (s *stream) whole(res *wire.Response) (*model.Reply, *wire.Failure) {
	body, f := res.Object()
	if f != nil {
		return nil, f
	}
	if _, f := s.Take(body); f != nil {
		return nil, f
	}
	if !s.answered {
		return nil, s.W.BadResponse("the candidates are missing")
	}
	reply, _ := s.Reply()
	return reply, nil
}

// Take reads a chunk. The end of the stream is that of the response, since chunks may follow
// the one that has the reason of the end.
func (s *stream) Take(chunk *value.Dict) (bool, *wire.Failure) {
	if f := s.W.FailIn(chunk); f != nil {
		return false, f
	}
	if u := wire.Child(chunk, "usageMetadata"); u != nil { // each one is of the full reply so far
		s.Usage, s.answered = usageOf(u), true
	}
	if wire.Child(chunk, "promptFeedback").Text("blockReason") != "" {
		s.Stop, s.finished, s.answered = model.StopRefuse, true, true
	}
	for _, candidate := range wire.Children(chunk, "candidates") {
		if candidate.Int("index") != 0 { // only one is requested
			continue
		}
		s.answered = true
		for _, part := range wire.Children(wire.Child(candidate, "content"), "parts") {
			if f := s.part(part); f != nil {
				return false, f
			}
		}
		s.cite(candidate)
		if f := s.finish(candidate); f != nil {
			return false, f
		}
	}
	return false, nil
}

// part reads a part of the reply.
func (s *stream) part(part *value.Dict) *wire.Failure {
	if signature := part.Text("thoughtSignature"); signature != "" {
		if f := s.Grow(len(signature)); f != nil {
			return f
		}
	}
	text, isText := part.Get("text")
	said, _ := text.(string)
	switch call := wire.Child(part, "functionCall"); {
	case call != nil:
		args, _ := call.Get("args")
		made := wire.NewCall(call.Text("id"), call.Text("name"), args)
		s.made = append(s.made, made)
		s.keep(part)
		return s.Grow(wire.PartSize + len(wire.ArgsText(&made)) + len(made.Tool))
	case !isText: // of a tool that the vendor runs
		s.keep(part)
		return s.Grow(wire.PartSize + len(part.String()))
	case part.Bool("thought"):
		s.keepText(part, s.W.Said(said))
		s.reasoning.WriteString(s.W.Said(said))
		return s.Grow(len(said))
	}
	s.keepText(part, s.W.Said(said))
	return s.Say(said)
}

// keepText keeps a part with a text. Pieces of one text are joined, but a part with a
// signature is kept as it came.
func (s *stream) keepText(part *value.Dict, said string) {
	signed := part.Has("thoughtSignature")
	if said == "" && !signed {
		return
	}
	if s.tail.Len() > 0 && !signed && s.parts[len(s.parts)-1].(*value.Dict).Bool("thought") == part.Bool("thought") {
		s.tail.WriteString(said)
		return
	}
	kept := part.Clone(0)
	kept.Put("text", said)
	s.keep(kept)
	if !signed {
		s.tail.WriteString(said)
	}
}

// keep keeps a part, after which the text before it is complete.
func (s *stream) keep(part *value.Dict) {
	s.endText()
	s.parts = append(s.parts, part)
}

func (s *stream) endText() {
	if s.tail.Len() > 0 {
		s.parts[len(s.parts)-1].(*value.Dict).Put("text", s.tail.String())
		s.tail.Reset()
	}
}

// finish reads why the reply ended, if it has.
func (s *stream) finish(candidate *value.Dict) *wire.Failure {
	reason := candidate.Text("finishReason")
	switch reason {
	case "", "FINISH_REASON_UNSPECIFIED":
		return nil
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE":
		if len(s.made) == 0 {
			return s.malformed(reason, candidate.Text("finishMessage"))
		}
	case "MISSING_THOUGHT_SIGNATURE":
		return s.W.FailStatus(400, "a thought signature is missing: "+s.W.Short(candidate.Text("finishMessage")))
	case "MAX_TOKENS", "CONTINUATION":
		s.Stop = model.StopLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		s.Stop = model.StopRefuse
	} // STOP, also with calls
	s.finished = true
	return nil
}

// A malformedError is a reply that the API could not read, such as a call of a tool that does
// not exist. It counts as an empty reply.
type malformedError struct {
	reason, message string
	reply           *model.Reply // what came before
}

func (e *malformedError) Error() string {
	return strings.TrimSuffix("the model wrote an invalid call: "+e.reason+": "+e.message, ": ")
}

// Is makes it a [model.ErrEmpty], after which the model is reminded.
func (e *malformedError) Is(target error) bool { return target == model.ErrEmpty }

func (s *stream) malformed(reason, message string) *wire.Failure {
	e := &malformedError{reason, s.W.Short(message), s.Draft.Reply()}
	f := s.W.Fail(value.Errorf(value.Unavailable, "%s", e.Error()).WithHint("ask again, or use another model"))
	f.Err.Err = e // fail keeps only the text
	return f
}

// cite adds the sources of a candidate.
func (s *stream) cite(candidate *value.Dict) {
	for _, chunk := range wire.Children(wire.Child(candidate, "groundingMetadata"), "groundingChunks") {
		for _, kind := range []string{"web", "retrievedContext", "maps"} {
			if d := wire.Child(chunk, kind); d != nil {
				s.source(d.Text("title"), cmp.Or(d.Text("uri"), d.Text("documentName"), d.Text("fileSearchStore")))
			}
		}
	}
	for _, d := range wire.Children(wire.Child(candidate, "urlContextMetadata"), "urlMetadata") {
		if d.Text("urlRetrievalStatus") == "URL_RETRIEVAL_STATUS_SUCCESS" {
			s.source("", d.Text("retrievedUrl"))
		}
	}
	for _, d := range wire.Children(wire.Child(candidate, "citationMetadata"), "citationSources") {
		s.source(d.Text("title"), d.Text("uri"))
	}
}

// A source is what a reply was made from: its title, and its address or the store that has it.
type source struct{ title, address string }

// source adds a source. It may be reported several times, at first without a title.
func (s *stream) source(title, address string) {
	one := source{s.W.Said(value.Clean(title, 500)), s.W.Said(value.Clean(address, 2000))}
	if one.title+one.address == "" || len(s.sources) == wire.MaxSources {
		return
	}
	for i := range s.sources {
		if have := &s.sources[i]; have.address == one.address && (one.title == "" || have.title == "" || have.title == one.title) {
			have.title = cmp.Or(have.title, one.title)
			return
		}
	}
	s.sources = append(s.sources, one)
}

// usageOf reads the usage of a reply. Reasoning is output; the results of tools that the
// vendor runs are input.
func usageOf(u *value.Dict) model.Usage {
	return model.Usage{
		InputTokens:  int(u.Int("promptTokenCount") + u.Int("toolUsePromptTokenCount")),
		OutputTokens: int(u.Int("candidatesTokenCount") + u.Int("thoughtsTokenCount")),
		CachedTokens: int(u.Int("cachedContentTokenCount")),
	}
}

// Reply implements [wire.Streamer].
func (s *stream) Reply() (*model.Reply, bool) {
	reply := s.Draft.Reply()
	reply.Calls, reply.Reasoning = s.made, s.reasoning.String()
	for i, one := range s.sources {
		reply.References = append(reply.References, "["+strconv.Itoa(i+1)+"] "+strings.TrimSpace(one.title+" "+one.address))
	}
	s.endText()
	if len(s.parts) > 0 {
		reply.Opaque = s.c.opaque(s.parts)
	}
	return reply, s.finished
}
