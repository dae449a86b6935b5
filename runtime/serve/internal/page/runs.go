package page

import (
	"net/url"
	"time"
)

// Runs is the list of runs.
type Runs struct {
	First   *First    // instead of everything else, if nothing has ever run
	Today   time.Time // now, where the reader is
	Waits   *Waits    // nil if no question is open
	Tabs    []Tab     // see [RunTabs]
	Filter  Filter
	Days    []Day
	NoMatch *NoMatch // instead of days
	Total   int      // that match; 0 is unknown
	Older   URL      // the next rows; "" if there are none
	Newest  URL      // back to the first rows; "" if these are they
	New     URL      // where a run begins; "" if the user may not begin any
}

// Shown returns how many runs are listed.
func (r *Runs) Shown() (n int) {
	for _, d := range r.Days {
		n += len(d.Rows)
	}
	return n
}

// Live reports whether new runs appear in this list.
func (r *Runs) Live() bool { return r.Newest == "" }

// Waits says that people are asked something.
type Waits struct {
	Count  int
	Asked  time.Time // the oldest question
	Oldest Link      // to it: "bill 2026-04 wants to change 2 files"
}

// A Tab is a link to another selection of a list.
type Tab struct {
	Name    string
	Href    URL
	Count   int // -1 is not shown
	Current bool
}

// A Filter selects runs. Its zero value selects all.
type Filter struct {
	State State
	Query string
	Kind  Kind
	Since Since
}

// A Kind is what began a run.
type Kind string

const (
	KindAny      Kind = ""
	KindWorkflow Kind = "workflow"
	KindTask     Kind = "task"
	KindChat     Kind = "chat"
	KindTool     Kind = "tool"
	KindUndo     Kind = "undo"
)

// Since is how old runs may be.
type Since string

const (
	AnyTime   Since = ""
	Today     Since = "today"
	SevenDays Since = "7d"
	Month     Since = "30d"
)

// An Option is a choice of a select.
type Option struct {
	Value, Name string
	Selected    bool
}

// Kinds returns the choices of the kind.
func (f *Filter) Kinds() []Option {
	list := []Option{{Name: "All kinds"}}
	for _, k := range []Kind{KindWorkflow, KindTask, KindChat, KindTool, KindUndo} {
		list = append(list, Option{string(k), string(k), f.Kind == k})
	}
	return list
}

// Sinces returns the choices of the time.
func (f *Filter) Sinces() []Option {
	return []Option{
		{"", "Any time", f.Since == AnyTime},
		{string(Today), "Today", f.Since == Today},
		{string(SevenDays), "7 days", f.Since == SevenDays},
		{string(Month), "30 days", f.Since == Month},
	}
}

// Any reports whether something is searched, apart from the state.
func (f *Filter) Any() bool { return f.Query != "" || f.Kind != "" || f.Since != "" }

// URL returns the address of the runs that a filter selects.
func (f *Filter) URL() URL {
	q := url.Values{}
	for name, v := range map[string]string{"state": string(f.State), "q": f.Query, "kind": string(f.Kind), "since": string(f.Since)} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if len(q) == 0 {
		return "/runs"
	}
	return URL("/runs?" + q.Encode())
}

// RunTabs returns the tabs of the runs that match a filter, with how many there are in each state. The
// count of the empty state is that of all.
func RunTabs(f Filter, counts map[State]int) []Tab {
	var tabs []Tab
	for _, s := range []State{"", Waiting, Running, Failed, Done, Cancelled} {
		of, name := f, "All"
		of.State = s
		if s != "" {
			name = looks[s].Word
		}
		tabs = append(tabs, Tab{name, of.URL(), counts[s], s == f.State})
	}
	return tabs
}

// A Day is the runs that began on a day.
type Day struct {
	Date time.Time
	Rows []RunRow
}

// A RunRow is a run in a list.
type RunRow struct {
	ID      string
	Status  Status
	Name    string // "bill", "chat with reviewer"
	Args    string // "month=2026-04"
	Ask     string // what begins the line below in bold: "2 questions:"
	Why     string // the current step, the question, the error, or the result
	By      string // who began it
	Via     string // how, if not by hand: "every 15 min"
	Ran     time.Duration
	Waited  time.Duration
	Since   time.Time // since when it has been running now; zero if it is not
	Started time.Time
	Cost    float64 // US dollars
}

// NoMatch says that nothing matches.
type NoMatch struct {
	Filter Filter
	Among  int // runs in the state of the filter
	All    int // runs in all
}

// Everywhere returns the address that searches the runs in all states.
func (n *NoMatch) Everywhere() URL {
	f := Filter{Query: n.Filter.Query}
	return f.URL()
}

// Wider reports whether there is more to search.
func (n *NoMatch) Wider() bool { return n.All > n.Among || n.Filter.Kind != "" || n.Filter.Since != "" }

// Clear returns the address without a search.
func (n *NoMatch) Clear() URL {
	f := Filter{State: n.Filter.State}
	return f.URL()
}

// Word returns the state of the filter, for a sentence.
func (n *NoMatch) Word() State { return n.Filter.State }

// First is the list of runs before the first run: three ways to begin.
type First struct {
	MayRun     bool
	Tools      int    // that are ready
	Unreviewed int    // that nobody has reviewed
	Workflow   string // one to begin with, or ""
	About      string // what it does
	Model      bool   // one is set up
	Setup      string // what to type on the server to set one up: "cassidy setup"
	Command    string // the same from a terminal
}
