package page

import (
	"fmt"
	"time"
)

// An Audit is the list of decisions.
type Audit struct {
	Query  string
	Rows   []AuditRow
	Older  URL
	Newest URL
}

// An AuditRow is a decision.
type AuditRow struct {
	At      time.Time
	Who     string
	What    string // "approved", "signed in", "was refused"
	On      Link   // a run or a question
	From    string // "the page", "the API"
	Why     string
	Refused bool
}

// Settings are what a user chooses for this browser.
type Settings struct {
	*Frame
	Fixed   string // the zone that was chosen; "" is the one of the browser
	Saved   bool
	Version string
	Error   string
}

// A Login is the page on which somebody signs in.
type Login struct {
	Host  string // "127.0.0.1:7457"
	Error string
	Next  string // where the user goes then: a path of this server
	Goal  string // it in words: "bill month=2026-04, question 1"
	Code  string // a code of the address, which a button redeems
	Off   bool   // there are no tokens: the program that serves this signs people in
}

// NotFound is the page for what does not exist. similar are links to what may be meant.
func NotFound(what, name string, similar []Link, all Link) *Problem {
	return &Problem{Code: 404, Heading: fmt.Sprintf("There is no %s “%s”", what, name), Links: append(similar, all)}
}

// RunNotFound is the page for a run that does not exist, or not anymore. kept is how long runs are kept; 0 is for ever.
func RunNotFound(id string, kept time.Duration, similar []Link) *Problem {
	p := NotFound("run", id, similar, Link{"All runs", "/runs"})
	if kept > 0 {
		p.Text = "It may have been pruned: runs are kept for " + count(int(kept/(24*time.Hour)), "day") + "."
	}
	return p
}

// TooLarge is the page for a request that is too long.
func TooLarge(limit int64, back Link) *Problem {
	return &Problem{Code: 413, Heading: "That was too large", Text: "A request may have " + size(limit) + ". Nothing was changed.", Links: []Link{back}}
}

// TooMany is the page for a user who asks too often.
func TooMany(wait time.Duration, back Link) *Problem {
	return &Problem{Code: 429, Heading: "Too many requests", Text: "Wait " + duration(max(wait, time.Second)) + ", then try again. Nothing was changed.", Links: []Link{back}}
}

// Forbidden is the page for what a role may not do. who are those who may.
func Forbidden(what, user string, role Role, who []string, back Link) *Problem {
	p := &Problem{Code: 403, Heading: what, Text: fmt.Sprintf("You are signed in as %s with the role %s.", user, role), Links: []Link{back}}
	for i, name := range who {
		switch {
		case i == 0:
			p.Text += " " + name
		case i == len(who)-1:
			p.Text += " or " + name
		default:
			p.Text += ", " + name
		}
	}
	if len(who) > 0 {
		p.Text += " can do it."
	}
	return p
}

// ServerError is the page for an error of the server.
func ServerError(request string, back Link) *Problem {
	return &Problem{Code: 500, Heading: "This page could not be made", Text: "Nothing was changed.", Links: []Link{back}, Request: request}
}
