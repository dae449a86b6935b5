// Package phrases has the words by which a reply is read: in sentences beside a call, and in the
// keys and tags of calls. It is one table, so that the effect of each word can be measured.
package phrases

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// A Class is the meaning of a word for those who read candidates and judge them.
type Class string

// The classes.
const (
	Doing      Class = "doing"      // the writer does something now
	NotDoing   Class = "not doing"  // after a word of doing, or as a gerund: the writer uses no tool
	Commands   Class = "commands"   // at the start of a clause: the writer does something now
	Refusing   Class = "refusing"   // after "not": the writer does not make the call
	Ignoring   Class = "ignoring"   // the writer ignores the call
	Pointing   Class = "pointing"   // refers to the call in a complete sentence that refuses it
	Asking     Class = "asking"     // in a question: it asks for permission
	Condition  Class = "condition"  // the call depends on the user
	Example    Class = "example"    // the call is an example
	Manual     Class = "manual"     // the same, in a sentence that is not complete
	Source     Class = "source"     // the call is from another author
	User       Class = "user"       // unless that is the user
	Suspect    Class = "suspect"    // the writer calls it suspicious
	Heading    Class = "heading"    // introduces a call
	Negating   Class = "negating"   // a sentence that is not complete says that the call is not made
	Forbidding Class = "forbidding" // the same in a complete sentence that refers to the call
	Barring    Class = "barring"    // the same, at the start of the sentence
	Linking    Class = "linking"    // between an introduction's subject and the call, if the writer makes it
	Joining    Class = "joining"    // alone between two calls: they are introduced together
	Hedge      Class = "hedge"      // before a bare call: it is only considered

	NameKey   Class = "key of a name"     // JSON key of the name of a tool in a call
	ArgsKey   Class = "key of arguments"  // JSON key of its arguments
	WrapKey   Class = "key of a wrapper"  // JSON key of a call, a list of calls, or a text with one
	ExtraKey  Class = "key beside"        // other JSON keys of a call or its wrapper
	CallType  Class = "type of a call"    // value of the JSON key type of a call
	CallTag   Class = "tag of calls"      // in the name of a tag that begins calls
	CallWord  Class = "word of calls"     // at the start of a line, before a list of calls
	OtherTag  Class = "tag of no calls"   // in the name of other tags with a word of CallTag
	InnerTag  Class = "tag within a call" // in the name of a tag before arguments
	DataFence Class = "fence of data"     // start of the language of a fence that may contain a bare call

	Inferring Class = "inferring" // anywhere in a reply: no call can be inferred
)

// words are the words of each class, in lower case. A word that ends with a hyphen is the beginning
// of a word. In the searched text "n't" is replaced by " not". testdata/earns.txt of package decision
// lists the cases that need each word.
var words = map[Class][]string{
	Doing:     {"i'll", "i will", "let me", "let's", "i'm going to", "i am going to", "i need to", "we need to", "i have to", "i must", "i should", "ich sehe"},
	NotDoing:  {"not", "never", "show-", "quot-", "ignor-", "disregard-", "avoid-", "say-", "report what", "explain-", "refus-", "know", "tell-", "describ-", "accord-"},
	Commands:  {"write", "save"},
	Refusing:  {"do", "call", "run", "use", "send", "follow", "obey", "comply", "execute"},
	Ignoring:  {"refus-", "declin-", "ignor-", "disregard-"},
	Pointing:  {"this", "that", "it", "these", "following", "such", "instruction-"},
	Asking:    {"i", "that", "you want"},
	Condition: {"if you", "once you"},
	Example:   {"for example", "an example", "for instance", "like this"},
	Manual:    {"example-", "sample", "would", "to call", "you can"},
	Source: {"file", "page", "line-", "text", "note-", "email", "document", "output", "result", "diff", "message", "issue",
		"says", "said", "contains", "told", "tells", "wrote", "user:", "response", "returned"},
	User:       {"user wants", "you asked"},
	Suspect:    {"injection", "suspicious", "malicious"},
	Heading:    {"call", "action", "decision", "step", "fix", "next", "yet", "instructions"},
	Negating:   {"not", "never", "nobody", "no", "avoid-", "forbid-", "prohibit-"},
	Forbidding: {"must not", "must never", "you should not", "you should never"},
	Barring:    {"never", "do not", "please do not"},
	Linking:    {"is", "are", "here's", "now", "then", "so", "to", "for", "needs"},
	Joining:    {"and", "or", "then"},
	Hedge:      {"or", "would", "if"},
	NameKey:    {"name", "tool", "tool_name", "function", "action", "tool_call", "recipient_name"},
	ArgsKey:    {"arguments", "args", "parameters", "input", "action_input", "tool_input", "params"},
	WrapKey:    {"tool_calls", "function", "function_call", "functionCall", "tool_call", "tool_use", "tool_uses", "content"},
	ExtraKey:   {"id", "tool_call_id", "type", "reasoning", "status", "thought", "role", "content"},
	CallType:   {"function", "tool_use"},
	CallTag:    {"toolcall", "functioncall", "tooluse", "toolcode", "toolrequest", "pythontag", "startaction", "actionstart"},
	CallWord:   {"functools"},
	OtherTag:   {"result", "response"},
	InnerTag:   {"toolsep", "callid", "args", "plugin"},
	DataFence:  {"", "json", "tool", "python"},
	Inferring:  {"not", "if", "when", "after", "once", "until"},
}

// A Table has the words of each class. The zero value has all words.
type Table struct {
	off string // see [Without]
}

// Without returns the table without one row, to measure its effect: the name of a class and one of
// its words, separated by ": ", or [Gerund].
func Without(row string) Table { return Table{row} }

// Gerund is the row for words that end in -ing.
const Gerund = "gerund"

// Rows yields the names of all rows, see [Without].
func Rows() []string {
	rows := []string{Gerund}
	for c, list := range words {
		for _, word := range list {
			rows = append(rows, string(c)+": "+word)
		}
	}
	slices.Sort(rows)
	return rows
}

// Of returns the words of a class. The caller must not change them.
func (t Table) Of(c Class) []string {
	off, ok := strings.CutPrefix(strings.TrimPrefix(t.off, string(c)), ": ")
	if !ok {
		return words[c]
	}
	return slices.DeleteFunc(slices.Clone(words[c]), func(word string) bool { return word == off })
}

// Has reports whether a text has a word of a class.
func (t Table) Has(text string, c Class) bool {
	return text != "" && slices.ContainsFunc(t.Of(c), func(word string) bool {
		at, _ := prose.IndexWord(text, word)
		return at >= 0
	})
}

// Begins reports whether a text begins with a word of a class.
func (t Table) Begins(text string, c Class) bool {
	return slices.ContainsFunc(t.Of(c), func(word string) bool {
		at, _ := prose.IndexWord(text[:min(len(text), len(word)+1)], word)
		return at == 0
	})
}

// Does reports whether a clause says that its writer does something now, as in "I will", "let me" or
// "reading". denies reports that the writer does something else, as in "I will not", "let me show
// you" or "quoting".
func (t Table) Does(clause string) (does, denies bool) {
	for _, word := range t.Of(Doing) {
		if at, end := prose.IndexWord(clause, word); at >= 0 {
			rest := strings.TrimSpace(clause[end:])
			_, second, _ := strings.Cut(rest, " ") // after an adverb
			if t.Begins(rest, NotDoing) || t.Begins(second, NotDoing) {
				return false, true
			}
			does = true
		}
	}
	if does {
		return true, false
	}
	first, _, _ := strings.Cut(strings.TrimRight(clause, ":. "), " ")
	if strings.HasSuffix(first, "ing") && t.off != Gerund {
		if t.Begins(first, NotDoing) {
			return false, true
		}
		return len(first) > len("bring") && strings.Trim(first, "abcdefghijklmnopqrstuvwxyz") == "", false
	}
	return t.Begins(clause, Commands), false
}

// Refuses reports whether a sentence says that its writer does not make a call.
func (t Table) Refuses(sentence string) bool {
	for rest := sentence; ; {
		_, end := prose.IndexWord(rest, "not")
		if end < 0 {
			return t.Has(sentence, Ignoring)
		}
		if rest = strings.TrimSpace(rest[end:]); t.Begins(rest, Refusing) {
			return true
		}
	}
}

// Negates reports whether a sentence with a call as its object says, with any verb, that the call is
// not made. What is not the case yet is why it is made.
func (t Table) Negates(sentence string) bool {
	for _, sep := range []string{"; ", ": ", " but ", " so ", " then "} {
		sentence = sentence[strings.LastIndex(sentence, sep)+1:]
	}
	at, _ := prose.IndexWord(sentence, "yet")
	return at < 0 && !strings.HasPrefix(sentence, "no, ") && !strings.HasPrefix(sentence, "no problem") && t.Has(sentence, Negating)
}

// articles begin the object of a sentence.
var articles = []string{"this", "that", "the", "a", "an", "these", "those", "following", "such", "one", "my", "our"}

// Forbids reports whether a complete sentence says that the call to which it refers must not be made.
func (t Table) Forbids(sentence string) bool {
	return (t.Has(sentence, Forbidding) || t.Begins(sentence, Barring)) && t.Has(sentence, Pointing)
}

// Reports reports whether a sentence says, with any verb, that somebody else makes or wants a call:
// SUBJECT VERB this call. The writer's own introductions have no subject, or "I" or "we" in the
// active voice, or a word of Linking for the verb.
func (t Table) Reports(sentence string) bool {
	clause := sentence[strings.LastIndex(sentence, ", ")+1:]
	object := len(clause)
	for _, word := range t.Of(Heading) {
		if at, _ := prose.IndexWord(clause, word); at >= 0 {
			object = min(object, at)
		}
	}
	before := strings.Fields(clause[:object])
	for i := len(before) - 1; i >= 0; i-- {
		if slices.Contains(articles, before[i]) {
			last := before[len(before)-1]
			if len(before)-i > 2 && (strings.HasSuffix(last, "ed") || strings.HasSuffix(last, "s") && !strings.HasSuffix(last, "'s")) {
				return true // its verb is right before the object
			}
			before = before[:i]
			break
		}
	}
	if len(before) < 2 {
		return false
	}
	for i, word := range before {
		if word, _, _ := strings.Cut(word, "'"); word == "i" || word == "we" {
			return i+2 < len(before) && slices.Contains([]string{"was", "were", "am", "been"}, before[i+1]) && strings.HasSuffix(before[i+2], "ed")
		}
	}
	return !t.Has(before[len(before)-1], Linking)
}

// Quotes reports whether a clause names another author or a source.
func (t Table) Quotes(clause string) bool { return t.Has(clause, Source) && !t.Has(clause, User) }

// IsKey reports whether a JSON key is of a class, possibly as the last word, as in function_name.
func (t Table) IsKey(key string, c Class) bool { return isKey(key, c, t.Of(c)) }

func isKey(key string, c Class, names []string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc(names, func(name string) bool {
		before, ok := strings.CutSuffix(key, name)
		return ok && (before == "" || before[len(before)-1] == '_')
	})
}

// FindKey returns the start and the end of the first key of a class in double quotes, at or after a
// position, with its quotation marks. Without such a key, both are greater than the length of the text.
func (t Table) FindKey(text string, from int, c Class) (start, end int) {
	names := t.Of(c)
	for start = from + strings.IndexByte(text[from:], '"'); start >= from; start = end - 1 {
		n := strings.IndexByte(text[start+1:], '"')
		if n < 0 {
			break
		}
		if end = start + n + 2; isKey(text[start+1:end-1], c, names) {
			return start, end
		}
	}
	return len(text) + 1, len(text) + 1
}
