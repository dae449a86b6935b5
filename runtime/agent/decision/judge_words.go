package decision

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// A class is the meaning of a word for the judge or the readers of candidates.
type class string

const (
	doing     class = "doing"     // the writer does something now
	notDoing  class = "not doing" // after a word of doing, or as a gerund: the writer uses no tool
	commands  class = "commands"  // at the start of a clause: the writer does something now
	refusing  class = "refusing"  // after "not": the writer does not make the call
	ignoring  class = "ignoring"  // the writer ignores the call
	pointing  class = "pointing"  // refers to the call in a complete sentence that refuses it
	asking    class = "asking"    // in a question: it asks for permission
	condition class = "condition" // the call depends on the user
	example   class = "example"   // the call is an example
	manual    class = "manual"    // the same, in a sentence that is not complete
	source    class = "source"    // the call is from another author
	user      class = "user"      // unless that is the user
	suspect   class = "suspect"   // the writer calls it suspicious
	heading   class = "heading"   // introduces a call
	hedge     class = "hedge"     // before a bare call: it is only considered

	nameKey   class = "key of a name"     // JSON key of the name of a tool in a call
	argsKey   class = "key of arguments"  // JSON key of its arguments
	wrapKey   class = "key of a wrapper"  // JSON key of a call, a list of calls, or a text with one
	extraKey  class = "key beside"        // other JSON keys of a call or its wrapper
	callType  class = "type of a call"    // value of the JSON key type of a call
	callTag   class = "tag of calls"      // in the name of a tag that begins calls
	otherTag  class = "tag of no calls"   // in the name of other tags with a word of callTag
	innerTag  class = "tag within a call" // in the name of a tag before arguments
	dataFence class = "fence of data"     // start of the language of a fence that may contain a bare call

	inferring class = "inferring" // anywhere in a reply: no call can be inferred
)

// words are the words of each class, in lower case. A word that ends with a hyphen is the beginning
// of a word. In the searched text "n't" is replaced by " not". testdata/earns.txt lists the cases
// that need each word.
var words = map[class][]string{
	doing:     {"i'll", "i will", "let me", "let's", "i'm going to", "i am going to", "i need to", "we need to", "i have to", "i must", "i should", "ich sehe"},
	notDoing:  {"not", "never", "show-", "quot-", "ignor-", "disregard-", "say-", "report what", "explain-", "refus-", "know", "tell-", "describ-", "accord-"},
	commands:  {"write", "save"},
	refusing:  {"do", "call", "run", "use", "send", "follow", "obey", "comply", "execute"},
	ignoring:  {"refus-", "declin-", "ignor-", "disregard-"},
	pointing:  {"this", "that", "it", "these", "instruction-"},
	asking:    {"i", "that", "you want"},
	condition: {"if you", "once you"},
	example:   {"for example", "an example", "for instance", "like this"},
	manual:    {"example-", "sample", "would", "to call", "you can"},
	source: {"file", "page", "line-", "text", "note-", "email", "document", "output", "result", "diff", "message", "issue",
		"says", "said", "contains", "told", "tells", "wrote", "user:", "response", "returned"},
	user:      {"user wants", "you asked"},
	suspect:   {"injection", "suspicious", "malicious"},
	heading:   {"call", "action", "decision", "step", "fix", "next", "yet", "instructions"},
	hedge:     {"or", "would", "if"},
	nameKey:   {"name", "tool", "tool_name", "function", "action", "tool_call"},
	argsKey:   {"arguments", "args", "parameters", "input", "action_input", "tool_input"},
	wrapKey:   {"tool_calls", "function", "function_call", "tool_call", "content"},
	extraKey:  {"id", "tool_call_id", "type", "reasoning", "status", "thought", "role", "content"},
	callType:  {"function", "tool_use"},
	callTag:   {"toolcall", "functioncall", "tooluse", "toolcode", "toolrequest", "pythontag", "startaction", "actionstart"},
	otherTag:  {"result", "response"},
	innerTag:  {"toolsep", "args", "plugin"},
	dataFence: {"", "json", "tool", "python"},
	inferring: {"not", "if", "when", "after", "once", "until"},
}

// table returns the words of a class.
func (s *reader) table(c class) []string {
	off, ok := strings.CutPrefix(strings.TrimPrefix(string(s.off), string(c)), ": ")
	if !ok {
		return words[c]
	}
	return slices.DeleteFunc(slices.Clone(words[c]), func(word string) bool { return word == off })
}

// has reports whether a text has a word of a class.
func (s *reader) has(text string, c class) bool {
	return text != "" && slices.ContainsFunc(s.table(c), func(word string) bool {
		at, _ := prose.IndexWord(text, word)
		return at >= 0
	})
}

// begins reports whether a text begins with a word of a class.
func (s *reader) begins(text string, c class) bool {
	return slices.ContainsFunc(s.table(c), func(word string) bool {
		at, _ := prose.IndexWord(text[:min(len(text), len(word)+1)], word)
		return at == 0
	})
}

// does reports whether a clause says that its writer does something now, as in "I will", "let me" or
// "reading". denies reports that the writer does something else, as in "I will not", "let me show
// you" or "quoting".
func (s *reader) does(clause string) (does, denies bool) {
	for _, word := range s.table(doing) {
		if at, end := prose.IndexWord(clause, word); at >= 0 {
			rest := strings.TrimSpace(clause[end:])
			if s.begins(rest, notDoing) {
				return false, true
			}
			does = true
		}
	}
	if does {
		return true, false
	}
	first, _, _ := strings.Cut(strings.TrimRight(clause, ":. "), " ")
	if strings.HasSuffix(first, "ing") && s.off != "gerund" {
		if s.begins(first, notDoing) {
			return false, true
		}
		return len(first) > len("bring") && strings.Trim(first, "abcdefghijklmnopqrstuvwxyz") == "", false
	}
	return s.begins(clause, commands), false
}
