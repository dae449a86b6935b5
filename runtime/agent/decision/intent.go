package decision

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// What a model means by a call that it writes is told by where it stands and by
// the words around it.
//
// What stands where only quoted things do is none, whatever is said (quote.go).
//
// In our own format, or between a vendor's tags, a call is meant unless the
// sentence before it (or the one after) shows it as an example, quotes it, or
// says that it is not made; and where that sentence says that the model does it
// now, it is meant.
//
// Bare JSON and calls as in a program are also how models explain things, so
// they must be the substance of the reply: on lines of their own or filling a
// fence of data, with little said around them, none of it presenting them as an
// example, a choice, a question, a quotation, a refusal or a supposition. In a
// longer reply they count only as its end, after words that say what is being
// done.

// maxAround is how much may be said around a bare call, in bytes: a short
// paragraph before it and a sentence after.
const maxAround = 600

// maxLead is how long words before a bare call may be that do not say what is
// done: a sentence. What comes after it may be a quarter of that.
const maxLead = 160

// wordsWindow is how far before and after a call the words are looked at, in bytes.
const wordsWindow = 400

var (
	doingWords = []string{"i'll", "i’ll", "i will", "let me", "let's", "let’s", "i'm going to", "i am going to", "i need to", "i'm calling",
		"i am calling", "i'm using", "i am using", "i should", "i must", "i have to", "calling", "going to"}
	explainingWords = []string{"show", "explain", "describe", "demonstrate", "illustrate", "give you", "give an", "outline", "present", "write down", "walk", "tell", "suggest", "propose", "need you"}

	// unmeantWords follow "I will" where it does nothing with a tool.
	unmeantWords = []string{"not ", "never ", "know", "need you", "ignore", "disregard", "refuse", "decline", "reject", "say ", "report what", "warn you", "quote", "cite", "repeat"}

	// startingWords begin a sentence of one who is doing something.
	startingWords = []string{"trying", "retrying", "reading", "checking", "searching", "running", "fetching", "looking", "listing", "writing", "sending", "getting",
		"opening", "calling", "using", "now ", "first, i"}

	exampleWords = []string{"for example", "for instance", "an example", "example", "examples", "e.g.", "would look like", "looks like", "look like",
		"how to", "usage", "sample", "hypothetical", "hypothetically", "placeholder", "illustration", "illustrates", "demonstrates",
		"zum beispiel", "z.b.", "beispiel", "par exemple", "por ejemplo", "per esempio", "例如", "例えば"}
	plainExamples = []string{"for example", "for instance", "an example", "example of", "e.g.", "would look like", "looks like this", "look like this", "like this"}
	quotingWords  = []string{"file says", "file contains", "file contained", "contains", "contained", "page says", "it says", "says", "said", "wrote", "you sent", "you pasted",
		"quoted", "quote", "quotes", "returned", "injected", "injection", "attacker", "malicious", "suspicious", "i called", "i previously", "i already", "was called", "reads", "responded", "answered", "replied", "produced", "generated", "observation", "previous reply", "previous decision", "your message"}
	refusingWords = []string{"not call", "not run", "not use", "not execute", "not invoke", "not send", "not make", "not follow", "n't call", "n't run", "n't use",
		"n't execute", "n't invoke", "n't send", "n't make", "n't follow", "n’t call", "n’t run", "n’t use", "n’t execute", "not going to", "refuse", "never"}
	instructingWords = []string{"to use", "to call", "to invoke", "to trigger", "you can", "you could", "you should", "you would", "you need", "you must", "you may",
		"emit", "emits", "like this", "like so", "wrap", "wraps", "wrapped", "models write", "model writes", "model would", "write a", "documented", "documentation"}
	formatWords  = []string{"format", "formats", "syntax", "template", "schema", "structure", "definition", "shape", "object with"}
	showingWords = []string{"would call", "would use", "would be", "would run",
		"would write", "would then", "i would", "could", "might", "if you", "if i", "if we", "one can", "such as",
		"either", "alternatively", "alternative", "alternatives", "option", "options", "instead", "another way", "config", "configuration", "settings",
		"output", "response", "result was", "results", "log", "logs", "previous", "previously", "earlier", "last time", "suppose", "imagine", "not", "cannot",
		"without", "unable", "rather than", "avoid", "snippet", "code", "documentation", "docs", "manual", "tutorial", "json for",
		"the json", "your json", "json object", "your code", "your config", "you asked for", "you requested", "as requested", "available", "supported", "functions", "signature", "signatures",
		"commands", "here's how", "here is how", "how you", "you'd", "steps", "plan", "if the", "when the", "whenever", "in case"}
	afterWords = []string{"is an example", "just an example", "only an example", "was an example", "as an example", "for example", "is how", "hypothetical",
		"not follow", "not followed", "n't follow", "not obey", "not call it", "not call this", "not run it", "not run this", "not execute it", "not execute this",
		"ignored", "ignore it", "ignore this", "tries to", "tried to", "prompt injection", "would have"}
	askingWords = []string{"should i", "shall i", "would you like", "do you want", "want me to", "is that ok", "is this ok", "let me know", "confirm", "please tell",
		"could you", "can you", "would", "could", "might", "alternatively", "either", "or", "instead", "option", "example", "which one", "which of", "which would", "which do", "this would", "you can", "if you",
		"not", "note that", "replace", "where", "means", "this call", "this json", "this snippet", "the above", "above"}
)

// quotingTags are around what somebody else wrote.
var quotingTags = []string{"tool_response", "tool_result", "tool_results", "tool_output", "function_results", "function_result", "result", "results", "output",
	"observation", "document", "file", "quote", "blockquote", "example", "examples", "user", "page", "email", "message"}

// speakers begin the lines of a dialogue.
var speakers = []string{"assistant:", "user:", "human:", "ai:", "model:", "bot:", "system:"}

// dataFences are the languages in which a fence may hold a call.
var dataFences = []string{"", "json", "json5", "jsonc", "jsonl", "text", "txt", "plaintext", "xml", "python", "py", "tool", "tools", "tool_code",
	"tool_call", "tool_calls", "tool_use", "function", "function_call", "function_calls", "tool_decision", "tool_request", "action"}

// meant returns the candidates of a rank that are meant. One that follows another
// without a word between them shares its fate where that is shown.
func (s *reader) meant(r rank) []candidate {
	var meant []candidate
	from, shown := 0, false
	for i, c := range s.found {
		next := len(s.text)
		if i+1 < len(s.found) {
			next = s.found[i+1].start
		}
		if c.rank == r {
			shown = shown && s.before(c, from) == "" || !s.isMeant(c, from, next)
			if !shown {
				meant = append(meant, c)
			}
		}
		from = c.end
	}
	return meant
}

// isMeant looks at the words between the things before and after a candidate.
func (s *reader) isMeant(c candidate, from, next int) bool {
	before, after := s.before(c, from), s.after(c, next)
	sentence := prose.LastSentence(before)
	if s.inSentence(c, from) || s.isQuoted(c, from, next) {
		return false
	}
	if tag := endingTag(before); tag != "" && (c.rank == bare || slices.Contains(quotingTags, tag)) {
		return false
	}
	first := prose.FirstSentence(after)
	if shows(before, sentence, after, c.rank) || hasAny(first, afterWords) || strings.HasSuffix(strings.TrimSpace(first), "?") && asksLeave(first) {
		return false
	}
	switch {
	case c.rank == ours:
		return true
	case c.rank == tagged:
		return saysItDoes(sentence) || !hasAny(sentence, formatWords)
	case !s.standsAlone(c, from) || hasAny(after, askingWords) || strings.HasSuffix(before, "?"):
		return false
	case saysItDoes(sentence):
		return !hasAny(sentence, refusingWords) && (s.said <= maxAround || after == "")
	}
	for _, presenting := range [][]string{formatWords, showingWords, exampleWords, quotingWords, instructingWords} {
		if hasAny(before, presenting) {
			return false
		}
	}
	return len(before) <= maxLead && (len(after) <= maxLead/4 || hasAny(after, doingWords) || hasAny(after, []string{"i", "once"})) &&
		s.said <= maxAround
}

// inSentence reports whether a sentence goes on behind a candidate, as in "... is
// how a call is written".
func (s *reader) inSentence(c candidate, from int) bool {
	i := skipBlank(s.text, c.end)
	if c.fence > 0 || i >= len(s.text) {
		return false
	}
	goesOn := 'a' <= s.text[i] && s.text[i] <= 'z'
	if c.rank == ours && goesOn {
		head := strings.ToLower(strings.TrimLeft(s.lineHead(c, from), " \t-*"))
		goesOn = head != "" && !saysItDoes(lastClause(prose.LastSentence(head)))
	}
	return goesOn || strings.HasPrefix(s.text[i:], "is ")
}

// presents reports whether a sentence shows, quotes or refuses what follows it. One
// that is complete only tells something, as in "The search returned two files.",
// unless it says that it shows an example, or refuses what it calls "this".
func presents(sentence string, r rank) bool {
	if r != bare && (strings.HasSuffix(sentence, ".") || strings.HasSuffix(sentence, "!")) {
		return hasAny(sentence, plainExamples) || hasAny(sentence, refusingWords) && hasAny(sentence, []string{"this", "it", "that"})
	}
	return hasAny(sentence, exampleWords) || hasAny(sentence, quotingWords) || hasAny(sentence, instructingWords) || hasAny(sentence, refusingWords)
}

// endingTag returns the name of the opening tag that a text ends with, or "".
func endingTag(text string) string {
	i := strings.LastIndexByte(text, '<')
	if i < 0 || !strings.HasSuffix(text, ">") {
		return ""
	}
	name, _, _ := strings.Cut(text[i+1:len(text)-1], " ")
	name = name[strings.IndexByte(name, ':')+1:]
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_-") != "" {
		return ""
	}
	return name
}

// before returns the words before a candidate, in lower case.
func (s *reader) before(c candidate, from int) string {
	end := c.start
	if c.fence > 0 {
		if f := s.fences[c.fence-1]; strings.TrimSpace(s.text[f.start:max(f.start, c.start)]) == "" {
			end = f.mark
		}
	}
	for _, t := range s.thoughts {
		if t[1] <= end {
			from = max(from, t[1])
		}
	}
	from = max(from, end-wordsWindow)
	if from >= end {
		return ""
	}
	text := strings.ToLower(strings.TrimSpace(strings.Trim(s.text[from:end], "`")))
	for slices.Contains(callTags, "<"+endingTag(text)+">") {
		text = strings.TrimSpace(text[:strings.LastIndexByte(text, '<')])
	}
	return text
}

// after returns the words after it.
func (s *reader) after(c candidate, next int) string {
	from := c.end
	for _, t := range s.thoughts {
		if t[0] >= from {
			next = min(next, t[0])
		}
	}
	next = min(next, from+wordsWindow)
	if from >= next {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(strings.TrimLeft(s.text[from:next], "` \t\r\n")))
}

// around counts what the reply says, up to a place, beside its candidates and its
// thinking.
func (s *reader) around(end int) int {
	n := 0
	from := 0
	for _, c := range s.found {
		n += s.saidBetween(from, c.start)
		from = max(from, c.end)
	}
	return n + s.saidBetween(from, end)
}

func (s *reader) saidBetween(from, to int) int {
	n := to - from
	for _, t := range s.thoughts {
		if lo, hi := max(from, t[0]), min(to, t[1]); lo < hi {
			n -= hi - lo
		}
	}
	return max(n, 0)
}

// standsAlone reports whether a bare candidate has its lines, or its fence, to
// itself and to others, and is no item of a list.
func (s *reader) standsAlone(c candidate, from int) bool {
	if c.fence > 0 {
		return s.fillsFence(c.fence)
	}
	lineStart := max(c.start-column(s.text, c.start), min(from, c.start)) // or the end of another
	head := strings.TrimSpace(strings.Trim(s.text[lineStart:c.start], "`"))
	tail := strings.TrimSpace(strings.Trim(s.text[c.end:prose.LineEnd(s.text, c.end)], "`;}] \t\r"))
	if head != "" && (isListItem(head) || !strings.HasSuffix(head, ":") && !strings.HasSuffix(head, ".") && !strings.HasSuffix(head, "!") && !strings.HasSuffix(head, ">") || tail != "") {
		return false
	}
	if slices.Contains(speakers, strings.ToLower(strings.Trim(head, "*"))) && lineStart > s.replyStart() {
		return false // the reply plays a dialogue
	}
	return tail == "" || 'A' <= tail[0] && tail[0] <= 'Z' || tail[0] == '<' || tail[0] == '{'
}

// isListItem reports whether a line begins as the item of a list does.
func isListItem(head string) bool {
	return strings.IndexByte("-*+", head[0]) >= 0 || strings.Trim(head, "0123456789.)") == ""
}

// fillsFence reports whether a fence of data holds bare calls and nothing else.
func (s *reader) fillsFence(n int) bool {
	f := s.fences[n-1]
	if !slices.Contains(dataFences, f.info) {
		return false
	}
	from := f.start
	for _, c := range s.found {
		if c.fence == n {
			if strings.Trim(s.text[from:max(from, c.start)], " \t\r\n;,") != "" {
				return false
			}
			from = max(from, c.end)
		}
	}
	return strings.Trim(s.text[from:max(from, f.end)], " \t\r\n;,)") == ""
}

// saysItDoes reports whether a sentence says that its speaker does something now; to
// show or explain something is not to do it.
func saysItDoes(sentence string) bool {
	if hasPrefixAny(strings.TrimLeft(sentence, " *#\n"), startingWords) {
		return true
	}
	for _, phrase := range doingWords {
		if i := indexPhrase(sentence, phrase); i >= 0 {
			rest := strings.TrimLeft(sentence[i+len(phrase):], " ")
			for _, adverb := range []string{"first ", "now ", "just ", "quickly ", "briefly "} {
				rest = strings.TrimPrefix(rest, adverb)
			}
			if !hasPrefixAny(rest, explainingWords) && !hasPrefixAny(rest, unmeantWords) {
				return true
			}
		}
	}
	return false
}

func hasPrefixAny(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

func hasAny(text string, phrases []string) bool {
	return text != "" && slices.ContainsFunc(phrases, func(p string) bool { return indexPhrase(text, p) >= 0 })
}

// indexPhrase finds a phrase that is no part of a longer word.
func indexPhrase(text, phrase string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(phrase)
		inWord := i > 0 && prose.IsWord(text[i-1]) && prose.IsWord(phrase[0]) && !strings.HasPrefix(phrase, "n't")
		if !inWord && (end >= len(text) || !prose.IsWord(text[end]) || !prose.IsWord(phrase[len(phrase)-1])) {
			return i
		}
		from = end
	}
}
