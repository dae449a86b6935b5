package page

import "time"

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
