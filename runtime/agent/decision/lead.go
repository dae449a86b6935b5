package decision

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

var (
	// decliningWords say that their speaker does not do what follows, or has no
	// regard for it.
	decliningWords = []string{"i will not", "i won't", "i'll not", "we will not", "we won't", "i am not going to", "i'm not going to", "i must not", "i should not",
		"i shouldn't", "i refuse", "i decline", "i ignore", "i am ignoring", "will ignore", "'ll ignore", "ignoring", "ignored", "should ignore", "must ignore", "to ignore", "shall ignore",
		"can ignore", "and ignore", "disregard", "disregarded", "disregarding", "not obey", "n't obey", "not comply", "n't comply", "not do this", "not do that", "n't do this", "n't do that", "cannot do", "cannot comply", "cannot obey", "cannot follow"}
	// harmlessWords may follow these without being the refusal of a call.
	harmlessWords = []string{"guess", "assume", "speculate", "stop", "wait", "make up", "forget"}
	// attributingWords say that somebody else wrote what follows.
	attributingWords = []string{"says", "said", "contains", "contained", "holds", "held", "reads", "wrote", "quote", "quotes", "quoted", "quoting", "line by line", "result (",
		"contents", "content", "the text is", "here is the file", "here's the file", "here is what", "here's what", "diff", "patch", "verbatim", "i will say", "i'll say", "following text", "following line",
		"following lines", "following instruction", "following instructions", "instruction in", "demands", "instructs", "states", "found this", "what i found", "show you", "report what", "excerpt", "tool output", "tool result", "command output"}
	// tellingWords say what somebody asks of the model: it is no quotation where that
	// is the user.
	tellingWords = []string{"tells me", "told me", "told by", "asks me", "asked me", "wants me", "tells you", "asks you"}
	// commands begin a clause as one tells oneself what to do.
	commands = []string{"write ", "save ", "create ", "update ", "add ", "fix ", "store ", "edit "}
	// sources are what a quotation is "in" or "from", and sourceHeads head one.
	sources     = []string{"file", "page", "document", "note", "notes", "email", "mail", "issue", "comment", "website", "readme", "log", "result", "message"}
	sourceHeads = []string{"output", "result", "results", "response", "observation", "log", "file", "tool", "stdout"}
	// conditions hold back even what is going to be done.
	conditions      = []string{"if you agree", "if you approve", "if you confirm", "if you allow", "once you agree", "once you approve", "once you confirm"}
	suspectingWords = []string{"suspicious", "malicious", "injection", "injected", "hidden instruction", "hidden instructions", "attacker"}
	leaveWords      = []string{"should i", "shall i", "may i", "can i", "could i", "do you want", "would you like", "if you want", "is it ok", "is it okay", "if i should"}
	questionWords   = []string{"what", "which", "how", "where", "why", "when", "who"}
	// aboutIt is what a complete sentence calls what it refuses behind it.
	aboutIt = []string{"this", "it", "that", "these", "obey", "comply", "instruction", "instructions"}
	// heldBack begin a clause with a verb that does nothing with a tool.
	heldBack = []string{"quoting", "ignoring", "saying", "citing", "refusing", "skipping", "showing", "explaining", "including", "containing", "nothing", "something",
		"anything", "everything", "string", "during", "warning", "disregarding", "declining", "according", "meaning", "being", "having"}
)

// shows reports whether the words around a call show, quote, refuse or question it.
// The last clause of the sentence has the last word: "it does not exist, so I will
// create it" does, and "I looked into it, and the file says" quotes.
func shows(before, sentence, after string, r rank) bool {
	sentence = strings.ReplaceAll(sentence, "’", "'")
	clause := lastClause(sentence)
	complete := strings.HasSuffix(sentence, ".") || strings.HasSuffix(sentence, "!")
	switch {
	case hasAny(sentence, conditions), strings.HasPrefix(clause, "ignore "), inQuotingTag(before):
		return true
	case saysItDoes(clause) || beginsDoing(clause):
		return false
	case declines(sentence) && (!complete || hasAny(sentence, aboutIt)), asksLeave(sentence):
		return true
	case hasAny(sentence, suspectingWords), !complete && hasAny(before, suspectingWords):
		return true
	case !complete && !hasPrefixAny(clause, []string{"which ", "that ", "as ", "because ", "since "}) && attributes(clause) && (clause != sentence || !saysItDoes(sentence)):
		return true
	}
	goesOn := after != "" && !saysItDoes(prose.FirstSentence(after)) || hasAny(before, []string{"result (", "here is the file", "here's the file"})
	return presents(sentence, r) && !saysItDoes(sentence) || quotesParagraph(before, goesOn)
}

// attributes reports whether a clause says that somebody else wrote what follows.
func attributes(clause string) bool {
	if hasAny(clause, attributingWords) || strings.HasSuffix(clause, " line:") || slices.Contains(sourceHeads, strings.Trim(clause, "*#: ")) ||
		hasAny(clause, tellingWords) && !hasAny(clause, []string{"user", "you told", "you asked"}) {
		return true
	}
	for _, in := range []string{"in the ", "into the ", "from the ", "by the ", "inside the "} {
		if i := indexPhrase(clause, in); i >= 0 {
			word, _, _ := strings.Cut(strings.TrimRight(clause[i+len(in):], ":"), " ")
			if slices.Contains(sources, word) {
				return true
			}
		}
	}
	return false
}

// inQuotingTag reports whether a tag around what somebody else wrote is open at the
// end of a text.
func inQuotingTag(text string) bool {
	return strings.Contains(text, "<") && slices.ContainsFunc(quotingTags, func(tag string) bool {
		return strings.LastIndex(text, "<"+tag+">") > strings.LastIndex(text, "</"+tag+">")
	})
}

// lastClause returns the end of a sentence from where its last clause begins.
func lastClause(sentence string) string {
	from := 0
	for _, sep := range []string{"; ", ", ", ": ", " but ", " — ", " – ", " - ", " so ", " then "} {
		if i := strings.LastIndex(sentence, sep); i >= 0 {
			from = max(from, i+len(sep))
		}
	}
	clause := strings.TrimLeft(sentence[from:], " *#\n")
	for _, word := range []string{"so ", "and ", "then ", "but "} {
		clause = strings.TrimPrefix(clause, word)
	}
	return clause
}

// beginsDoing reports whether a clause begins as in "creating it:" or "write it:".
func beginsDoing(clause string) bool {
	word, _, _ := strings.Cut(strings.TrimRight(clause, ":. "), " ")
	return hasPrefixAny(clause, commands) || len(word) > 4 && strings.HasSuffix(word, "ing") && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" && !slices.Contains(heldBack, word)
}

// declines reports whether a sentence says that its speaker does not do something.
func declines(sentence string) bool {
	for _, phrase := range decliningWords {
		i := indexPhrase(sentence, phrase)
		if i >= 0 && !hasPrefixAny(strings.TrimLeft(sentence[i+len(phrase):], " "), harmlessWords) {
			return true
		}
	}
	return false
}

// asksLeave reports whether a sentence asks whether something is to be done. What
// asks what is to be done is how some think aloud.
func asksLeave(sentence string) bool {
	return hasAny(sentence, leaveWords) && !hasPrefixAny(strings.TrimLeft(sentence, " *#\n"), questionWords)
}

// quotesParagraph reports whether a line with a colon says that it quotes what
// follows, and nothing after it says otherwise. It must be in the same paragraph as
// the call, unless more follows the call.
func quotesParagraph(before string, goesOn bool) bool {
	from := 0
	if !goesOn {
		from = strings.LastIndex(before, "\n\n") + 1
	}
	i := strings.LastIndex(before[from:], ":\n")
	if i < 0 {
		return false
	}
	lead := lastClause(prose.LastSentence(before[:from+i+1]))
	return attributes(lead) && !saysItDoes(lead) && !saysItDoes(lastClause(prose.LastSentence(before[from+i+1:])))
}
