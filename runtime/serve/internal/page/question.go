package page

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Question is a question to people: on its own page, beside the steps of its run, or beside the list of
// questions. [QuestionOf] fills what the question itself says.
type Question struct {
	ID      string
	Kind    tool.QuestionKind
	Heading string // "May write_invoice change these 2 files?"
	Deed    string // on the button after "Approve: "
	Sum     string // of what is to be seen, for the bar: "2 files"
	Asked   time.Time
	Expires time.Time // zero is never
	After   string    // what happens then: "the call is refused"

	Blocks  []Block // what it does: a command, arguments, the text of a script
	Facts   []Fact
	Sources []Source // the untrusted text that was read before
	Files   []File
	Details []Block // folded: what a yes does not depend on
	marks   marks

	OwnPage  bool // it has a page for itself, and so the first heading
	Run      string
	RunName  string
	RunArgs  string
	Step     Path
	Nth, Of  int  // "Question 1 of 2"; 0 says nothing
	Cut      bool // not everything is shown: see [Question.Shorten]
	AllLines int  // that there are

	State    QuestionState
	May      bool     // the user may answer
	MayNot   string   // why not, if not for the role: "Answering one's own run is off here."
	Who      []string // can answer
	Rev      int      // how many answers it has
	Ways     []Way
	Reader   string // who sees the reason of a no: "the script", "the model"
	Given    *Given // the last answer
	Conflict *Conflict
	Error    string // why an answer was not accepted
	Value    string // what was typed, of an ask
	Fields   any    // the form of an ask, which the template "fields" shows
	Key      string // the idempotency key
}

// A QuestionState is how far a question is.
type QuestionState string

const (
	Open      QuestionState = ""
	Answered  QuestionState = "answered" // the run has not used it yet
	Used      QuestionState = "used"
	Expired   QuestionState = "expired"
	Withdrawn QuestionState = "withdrawn" // its run has ended
)

// A Block is some lines of text.
type Block struct {
	Label string // of a detail
	Lines []BlockLine
	Left  int // lines that are not shown
}

// A BlockLine is a line of a block.
type BlockLine struct {
	Depth int
	Note  bool // it is not a part of the text
	Spans []visible.Span
	Size  int
}

// Indent returns the white space before a line.
func (l *BlockLine) Indent() string { return strings.Repeat("  ", l.Depth) }

// A Source is untrusted text that was read before the question.
type Source struct {
	Text string // "https://lindens.example/contact"
	Step Path
	Run  string
}

// A Way is another way to answer: one that acts at once, or, with Href, a page before.
type Way struct {
	Label string
	How   string // the value of the field "how"
	Href  URL
}

// Given is an answer.
type Given struct {
	Verb  string // "approved", "refused", "answered"
	By    string
	Me    bool // it is the user's own
	At    time.Time
	From  string // "on the page", "in the terminal", "over the API"
	Why   string
	Value string
	Used  bool
	No    bool // it was a refusal
}

// Conflict is why an answer was not taken: what is asked about has changed, or somebody else was faster.
type Conflict struct {
	Changed []string // the files
	Given   *Given
}

// QuestionOf returns the view of a question. What the handler knows of its run, of the user and of answers is
// still missing.
func QuestionOf(q *tool.Question, about *review.About) *Question {
	r := review.Of(q, about)
	v := &Question{
		ID: q.ID, Kind: q.Kind, Run: q.Run, Step: Path(q.Step), Asked: q.Asked, Expires: q.Expires,
		Files: filesOf(r.Parts), Reader: "the script", After: "it counts as no answer",
	}
	if q.Kind == tool.QuestionApproval {
		v.After = "the call is refused"
	}
	if about.Caller == "a model" {
		v.Reader = "the model"
	}
	if about.Caller != "" {
		v.Facts = append(v.Facts, Fact{Label: "Asked by", Text: about.Caller})
	}
	if q.Kind == tool.QuestionUnknown {
		v.Facts = append(v.Facts, Fact{Label: "Effect", Text: q.Func, Code: true})
	}
	for i := range r.Parts {
		v.addPart(&r.Parts[i])
	}
	v.words(q, r)
	v.marks = marksOf(r)
	return v
}

// labels are the words of facts, for a page. A fact that is not here has its own place.
var labels = map[string]string{
	"from": "From", "can": "May", "may write": "May write", "why": "Why", "because": "Its words", "does": "Effect",
	"but": "But",
}

func (q *Question) addPart(p *review.Part) {
	switch {
	case p.Kind == review.File || p.Kind == review.Diff:
	case p.Kind == review.Fact && p.Shown != review.Detail:
		if label := labels[p.Label]; label != "" {
			q.Facts = append(q.Facts, Fact{Label: label, Lines: blockLines(p.Lines), Code: p.Label == "may write" || p.Label == "does", Quote: p.Label == "because"})
		}
	case p.Kind == review.Fact && p.Label == "tool":
		q.Facts = append([]Fact{{Label: "Tool", Lines: blockLines(p.Lines)}}, q.Facts...)
	case p.Kind == review.Fact: // the label of the block after it
		q.Details = append(q.Details, Block{Label: strings.ToUpper(p.Label[:1]) + p.Label[1:]})
	case p.Shown == review.Detail:
		if p.Fold != "" {
			q.Details = append(q.Details, Block{Label: p.Fold})
		}
		if n := len(q.Details); n > 0 {
			q.Details[n-1].Lines = append(q.Details[n-1].Lines, blockLines(p.Lines)...)
		}
	case len(p.Lines) > 1 || len(p.Lines) == 1 && len(p.Lines[0].Spans) > 0:
		q.Blocks = append(q.Blocks, Block{Lines: blockLines(p.Lines)})
	}
}

func blockLines(list []review.Line) []BlockLine {
	lines := make([]BlockLine, len(list))
	for i, l := range list {
		lines[i] = BlockLine{l.Depth, l.Sign == review.Note, l.Spans, l.Size}
	}
	return lines
}

// mostHeading is how long a script's question may be to be the heading, in bytes.
const mostHeading = 160

// words fills the heading, and what the buttons say.
func (q *Question) words(of *tool.Question, r *review.Review) {
	http, command := r.Title == "Send this request?", r.Title == "Run this command?"
	switch {
	case of.Kind == tool.QuestionUnknown:
		q.Heading, q.Sum = "Was this done?", "unknown outcome"
		if strings.HasPrefix(of.Func, "http.") {
			q.Heading = "Was this request sent?"
		}
	case of.Kind != tool.QuestionApproval:
		q.Heading, q.Sum = "A question for you", "a question"
		if text := strings.TrimSpace(of.Text); len(text) <= mostHeading && !strings.Contains(text, "\n") && len(q.Blocks) > 0 {
			q.Heading, q.Blocks = text, q.Blocks[1:]
		}
	case len(q.Files) == 1:
		q.Heading, q.Deed, q.Sum = "May "+of.Tool+" change this file?", "change 1 file", "1 file"
	case len(q.Files) > 0:
		n := count(len(q.Files), "file")
		q.Heading, q.Deed, q.Sum = "May "+of.Tool+" change these "+n+"?", "change "+n, n
	case http:
		q.Heading, q.Deed, q.Sum = "May "+of.Tool+" send this request?", "send it", "1 request"
	case command:
		q.Heading, q.Deed, q.Sum = "May "+of.Tool+" run this command?", "run it", "1 command"
	case of.Func != "":
		q.Heading, q.Deed, q.Sum = "May "+of.Tool+" do this?", "do it", of.Func
	default:
		q.Heading, q.Deed, q.Sum = "May "+of.Tool+" be called?", "call it", "1 call"
	}
}

// A page shows at most so much of a question until somebody asks for everything.
const (
	mostLines  = 2000
	mostBytes  = 200_000
	shortLines = 400
)

// Shorten leaves out what is beyond the first lines of a very long question, and then nobody can approve it:
// see [Question.Whole]. Call it last, unless everything is asked for.
func (q *Question) Shorten() {
	lines, bytes := q.size()
	if lines <= mostLines && bytes <= mostBytes {
		return
	}
	q.Cut, q.AllLines = true, lines
	left, room := shortLines, mostBytes
	for i := range q.Blocks {
		b := &q.Blocks[i]
		n := fitting(len(b.Lines), &left, &room, func(i int) int { return b.Lines[i].Size })
		b.Left, b.Lines = len(b.Lines)-n, b.Lines[:n]
	}
	for i := range q.Files {
		f := &q.Files[i]
		n := fitting(len(f.Lines), &left, &room, func(i int) int { return f.Lines[i].Size })
		f.Left, f.Lines = len(f.Lines)-n, f.Lines[:n]
	}
}

// fitting returns how many lines have room, and takes it.
func fitting(n int, lines, bytes *int, size func(i int) int) int {
	for i := range n {
		if *lines == 0 || *bytes < size(i) {
			*lines = 0
			return i
		}
		*lines, *bytes = *lines-1, *bytes-size(i)
	}
	return n
}

func (q *Question) size() (lines, bytes int) {
	for _, b := range q.Blocks {
		lines += len(b.Lines)
		for _, l := range b.Lines {
			bytes += l.Size
		}
	}
	for _, f := range q.Files {
		lines += len(f.Lines)
		for _, l := range f.Lines {
			bytes += l.Size
		}
	}
	return lines, bytes
}

// Whole returns the address with everything.
func (q *Question) Whole() URL { return q.URL() + "?all=1" }

// URL returns the address of the question.
func (q *Question) URL() URL { return URL("/questions/" + url.PathEscape(q.ID)) }

// Seen returns the digest of what the page shows of a question, which an answer repeats. It begins with the
// digest of everything, and then has one of each file.
func (q *Question) Seen() string {
	all := digest(struct {
		Kind    tool.QuestionKind
		Heading string
		Blocks  []Block
		Facts   []Fact
		Sources []Source
		Files   []File
		Details []Block
		Cut     bool
	}{q.Kind, q.Heading, q.Blocks, q.Facts, q.Sources, q.Files, q.Details, q.Cut})
	list := []string{all}
	for i := range q.Files {
		list = append(list, digest(q.Files[i])[:8])
	}
	return strings.Join(list, ".")
}

func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil { // views are plain data
		panic(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// mostNamed is how many changed files a sentence names.
const mostNamed = 3

// Changed reports whether the question differs from what was seen, and which of its files do.
func (q *Question) Changed(seen string) (files []string, changed bool) {
	if seen == q.Seen() {
		return nil, false
	}
	had := map[string]bool{}
	for i, d := range strings.Split(seen, ".") {
		had[d] = i > 0
	}
	for i := range q.Files {
		if !had[digest(q.Files[i])[:8]] {
			files = append(files, q.Files[i].Name())
		}
	}
	if len(files) > mostNamed {
		files = append(files[:mostNamed], fmt.Sprintf("%d more", len(files)-mostNamed))
	}
	return files, true
}

// MayAnswer reports whether the answer has a form.
func (q *Question) MayAnswer() bool { return q.May && (q.State == Open || q.State == Answered) }

// Approval reports whether the answer is a yes or no to something that would be done.
func (q *Question) Approval() bool { return q.Kind == tool.QuestionApproval }

// CanYes and CanNo report whether an answer would be another one than the last.
func (q *Question) CanYes() bool { return q.Given == nil || q.Given.No }

// CanNo is like CanYes.
func (q *Question) CanNo() bool { return q.Given == nil || !q.Given.No }

// Confirm reports whether a script asks for yes or no.
func (q *Question) Confirm() bool { return q.Kind == tool.QuestionConfirm }

// Unknown reports whether nobody knows whether an effect was carried out.
func (q *Question) Unknown() bool { return q.Kind == tool.QuestionUnknown }

// Status returns the state of a question.
func (q *Question) Status() Status {
	switch q.State {
	case Answered, Used:
		return Status{Done, "Answered"}
	case Expired:
		return Status{Cancelled, "Expired"}
	case Withdrawn:
		return Status{Cancelled, "No longer asked"}
	}
	word := map[tool.QuestionKind]string{tool.QuestionApproval: "Approval", tool.QuestionUnknown: "Unknown outcome"}[q.Kind]
	if q.Of > 1 {
		word = fmt.Sprintf("Question %d of %d", q.Nth, q.Of)
	}
	if q.Kind == tool.QuestionUnknown {
		return Status{Unknown, word}
	}
	return Status{Waiting, cmp.Or(word, "Question")}
}

// Added and Removed count the lines of all files.
func (q *Question) Added() (n int) {
	for i := range q.Files {
		n += q.Files[i].Added
	}
	return n
}

// Removed counts the removed lines of all files.
func (q *Question) Removed() (n int) {
	for i := range q.Files {
		n += q.Files[i].Removed
	}
	return n
}

// CanWho writes who can answer, as in "Ann or Bob can answer it."
func (q *Question) CanWho() string {
	const most = 4
	names := q.Who
	if len(names) == 0 && q.MayNot != "" {
		return ""
	}
	if len(names) > most {
		names = append(names[:most:most], fmt.Sprintf("%d others", len(names)-most))
	}
	if len(names) == 0 {
		return "Nobody else can answer it yet: an admin can give somebody the role approve."
	}
	return list(names, "or") + " can answer it."
}

// list joins words, as in "a, b or c".
func list(words []string, last string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
}

// Names writes what has changed.
func (c *Conflict) Names() string {
	if len(c.Changed) == 0 {
		return "the question has changed since you looked."
	}
	verb := " has"
	if len(c.Changed) > 1 {
		verb = " have"
	}
	return list(c.Changed, "and") + verb + " changed since you looked."
}

// Who names who answered, for a sentence.
func (g *Given) Who() string {
	if g.Me {
		return "You"
	}
	return g.By
}

// marks are what nobody would have seen.
type marks struct{ invisible, alike, spaces, invalid int }

// longSpace is how long white space is that may hide something.
const longSpace = 100

func marksOf(r *review.Review) marks {
	var m marks
	m.invisible, m.alike = r.Marks()
	for i := range r.Parts {
		for _, l := range r.Parts[i].Lines {
			for _, s := range l.Spans {
				switch {
				case s.Mark == visible.Space && s.Size >= longSpace:
					m.spaces++
				case s.Mark == visible.Invalid:
					m.invalid += s.Chars()
				}
			}
		}
	}
	return m
}

// Marked says in a sentence what is marked, or "".
func (q *Question) Marked() string {
	var words []string
	for _, m := range []struct {
		n    int
		what string
	}{
		{q.marks.invisible, "invisible character"},
		{q.marks.alike, "character that looks like another one"},
		{q.marks.spaces, "long run of white space"},
		{q.marks.invalid, "byte that is not text"},
	} {
		if m.n == 0 {
			continue
		}
		head, tail, _ := strings.Cut(m.what, " that ")
		text := count(m.n, head)
		if tail != "" && m.n > 1 {
			tail = strings.NewReplacer("looks like another one", "look like others", "is not", "are not").Replace(tail)
		}
		if tail != "" {
			text += " that " + tail
		}
		words = append(words, text)
	}
	if words == nil {
		return ""
	}
	verb := " are shown as "
	if len(words) == 1 && strings.HasPrefix(words[0], "1 ") {
		verb = " is shown as "
	}
	return list(words, "and") + verb
}

// Closely reports whether what is marked could hide what the question is about.
func (q *Question) Closely() bool { return q.marks.alike > 0 || q.marks.spaces > 0 }

// Questions is the inbox.
type Questions struct {
	Tabs  []Tab // see [QuestionTabs]
	Rows  []QuestionRow
	Pane  *Question // on wide screens
	Older URL
	Tab   QuestionTab
}

// A QuestionTab is a selection of questions.
type QuestionTab string

const (
	TabOpen     QuestionTab = ""
	TabMine     QuestionTab = "me"
	TabAnswered QuestionTab = "answered"
	TabExpired  QuestionTab = "expired"
)

// QuestionTabs returns the tabs of the inbox. Counts below 0 are not shown.
func QuestionTabs(tab QuestionTab, open, mine int) []Tab {
	return []Tab{
		{"Open", "/questions", open, tab == TabOpen},
		{"For me", "/questions?tab=me", mine, tab == TabMine},
		{"Answered", "/questions?tab=answered", -1, tab == TabAnswered},
		{"Expired", "/questions?tab=expired", -1, tab == TabExpired},
	}
}

// A QuestionRow is a question in the inbox.
type QuestionRow struct {
	ID      string
	Kind    tool.QuestionKind
	Heading string
	Run     string // its name and arguments
	Added   int    // lines
	Removed int
	Note    string // "an answer in words", "admin"
	Asked   time.Time
	Expires time.Time
	Given   *Given
	Current bool
}

// URL returns the address of the question.
func (r *QuestionRow) URL() URL { return URL("/questions/" + url.PathEscape(r.ID)) }

// Icon returns the sign of the question.
func (r *QuestionRow) Icon() Icon {
	switch r.Kind {
	case tool.QuestionUnknown:
		return "warn"
	case tool.QuestionApproval:
		return "ask"
	}
	return "q"
}
