package page

import (
	"html/template"
	"net/url"
	"time"
)

// A Session is a talk with an agent, in a list.
type Session struct {
	ID, Title string
	At        time.Time
	Status    *Status // of the turn that runs, or nil
	Current   bool
}

// URL returns the address of the talk.
func (s *Session) URL() URL { return URL("/chat/" + url.PathEscape(s.ID)) }

// Sessions are talks of a time: "Today".
type Sessions struct {
	Name string
	List []Session
}

// A Chat is a talk with an agent, or the beginning of one.
type Chat struct {
	Sessions []Sessions
	ID       string // "" for a new one
	Title    string
	Agent    string // its name, or ""
	Agents   []Option
	Model    string
	Tools    string // "8 tools, reads only"
	Turn     int
	Tokens   int // of all turns
	Cost     float64

	Messages []Message
	Older    URL // the messages before, or ""
	Working  bool
	Queued   []string // what is sent after this turn
	May      bool
	Why      string // why not
	NoModel  string // what to type on the server to set up a model, if there is none: "cassidy setup"
	Key      string
	Text     string // that was typed
	Error    string
	Attach   bool // files can be sent
	Stopping bool
}

// URL returns where messages are sent.
func (c *Chat) URL() URL {
	if c.ID == "" {
		return "/chat"
	}
	return URL("/chat/" + url.PathEscape(c.ID))
}

// A Message is what a person or an agent said.
type Message struct {
	ID      ElementID
	Who     string
	Person  bool
	At      time.Time
	Text    string   // of a person
	Files   []string // that a person sent
	Parts   []MessagePart
	Status  *Status // of the turn, unless it is done
	Failure *Failure
	Run     string
}

// A MessagePart is a part of a reply: text, calls, or text that still arrives.
type MessagePart struct {
	Text   string // in Markdown
	Calls  []CallRow
	Stream bool // the text still arrives, and is not Markdown yet
}

// Markdown returns the text as HTML.
func (p *MessagePart) Markdown() template.HTML { return Markdown(p.Text) }

// A CallRow is a call in a reply.
type CallRow struct {
	ID       ElementID
	Status   Status
	Name     string
	Args     string
	Note     string
	Added    int // lines of files
	Removed  int
	Took     time.Duration
	Since    time.Time    // if it runs
	Result   string       // its first lines
	Media    []*MediaView // in its result
	Files    []File       // that it changed
	Href     URL          // the step of the run
	Question *Question    // that it waits for; one in a talk
	Open     bool
}
