package page

import "time"

// A Frame is what every page has around its view.
type Frame struct {
	Title     string // of the page, for the tab: "Runs"
	Section   Section
	Project   string   // whose pages these are; "" is all projects
	Projects  []string // that the user can choose from
	User      string
	Role      Role
	Questions int // that are open
	Zone      *time.Location
	Theme     Theme
	NoKeys    bool // the user has turned the keys off
	Live      URL  // of the stream of this page; "" if it has none
	Draining  bool // the server is about to stop
	Banner    *Note
	Bare      bool // without navigation, for those who are not signed in
}

// A Section is an entry of the navigation.
type Section string

const (
	SectionRuns      Section = "runs"
	SectionQuestions Section = "questions"
	SectionChat      Section = "chat"
	SectionTools     Section = "tools"
	SectionWorkflows Section = "workflows"
	SectionAgents    Section = "agents"
	SectionAudit     Section = "audit"
	SectionSettings  Section = "settings"
	SectionMore      Section = "more" // the entries that have no place at the bottom of a phone
)

// A Role is what a user may do, in a word.
type Role string

const (
	RoleView    Role = "view"
	RoleRun     Role = "run"
	RoleApprove Role = "approve"
	RoleAdmin   Role = "admin"
)

// A Theme is the user's choice of colours.
type Theme string

const (
	ThemeSystem Theme = ""
	ThemeLight  Theme = "light"
	ThemeDark   Theme = "dark"
)

// An Entry is a link of the navigation.
type Entry struct {
	Section Section
	Name    string
	Icon    Icon
	Current bool
	Count   int // of open questions
}

// Rail returns the entries of the navigation beside the page.
func (f *Frame) Rail() []Entry {
	list := []Entry{
		{Section: SectionRuns, Name: "Runs", Icon: "runs"},
		{Section: SectionQuestions, Name: "Questions", Icon: "q", Count: f.Questions},
		{Section: SectionChat, Name: "Chat", Icon: "chat"},
		{Section: SectionTools, Name: "Tools", Icon: "tool"},
		{Section: SectionWorkflows, Name: "Workflows", Icon: "flow"},
		{Section: SectionAgents, Name: "Agents", Icon: "agent"},
	}
	if f.Role == RoleAdmin {
		list = append(list, Entry{Section: SectionAudit, Name: "Audit", Icon: "audit"})
	}
	list = append(list, Entry{Section: SectionSettings, Name: "Settings", Icon: "set"})
	for i := range list {
		list[i].Current = list[i].Section == f.Section
	}
	return list
}

// bottom is how many entries have a place at the bottom of a phone.
const bottom = 4

// Tabs returns the entries at the bottom of a phone.
func (f *Frame) Tabs() []Entry {
	rail := f.Rail()
	more := Entry{Section: SectionMore, Name: "More", Icon: "more", Current: f.Section == SectionMore}
	for _, e := range rail[bottom:] {
		more.Current = more.Current || e.Current
	}
	return append(rail[:bottom:bottom], more)
}

// More is the page with the entries that have no place at the bottom of a phone.
type More struct{ *Frame }

// Entries returns the entries that are only on this page.
func (m More) Entries() []Entry { return m.Rail()[bottom:] }

// A Link leads to another page.
type Link struct {
	Text string
	Href URL
}

// A Note is a sentence that needs attention.
type Note struct {
	Tone   Tone
	Strong string // its first words
	Text   string
	Quoted string // the words of somebody else
	Code   string // what to type
	Link   Link
}

// A Tone is the colour of a note.
type Tone string

const (
	ToneNone Tone = ""
	ToneWait Tone = "wait"
	ToneBad  Tone = "bad"
	ToneRun  Tone = "run"
	ToneOK   Tone = "ok"
	ToneOff  Tone = "off"
)

// Icon returns the sign of a note.
func (n *Note) Icon() Icon {
	return map[Tone]Icon{ToneNone: "off", ToneWait: "warn", ToneBad: "bad", ToneRun: "run", ToneOK: "ok", ToneOff: "off"}[n.Tone]
}

// An Icon is a picture of the sprite.
type Icon string

// A State is what a run, a step or a question is.
type State string

const (
	Queued    State = "queued"
	Running   State = "running"
	Waiting   State = "waiting"  // for an answer
	Sleeping  State = "sleeping" // until a time
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
	Broken    State = "broken"  // its process has ended
	Damaged   State = "damaged" // its record cannot be read
	Undone    State = "undone"
	Unknown   State = "unknown" // whether it happened
	Skipped   State = "skipped"
)

// A Status is a state in words.
type Status struct {
	State State
	Word  string // instead of the usual one: "Waiting for 2 answers"
}

// A Look is how a status is drawn: a colour, a shape and a word.
type Look struct {
	Tone Tone
	Icon Icon
	Word string
}

var looks = map[State]Look{
	Queued:    {ToneOff, "clock", "Queued"},
	Running:   {ToneRun, "run", "Running"},
	Waiting:   {ToneWait, "ask", "Waiting"},
	Sleeping:  {ToneWait, "clock", "Sleeping"},
	Done:      {ToneOK, "ok", "Done"},
	Failed:    {ToneBad, "bad", "Failed"},
	Cancelled: {ToneOff, "off", "Cancelled"},
	Broken:    {ToneBad, "warn", "Broken off"},
	Damaged:   {ToneBad, "warn", "Damaged"},
	Undone:    {ToneOK, "ok", "Undone"},
	Unknown:   {ToneWait, "warn", "Unknown outcome"},
	Skipped:   {ToneOff, "off", "Skipped"},
}

// look returns how a status is drawn.
func look(s Status) Look {
	l, ok := looks[s.State]
	if !ok {
		l = looks[Queued]
	}
	if s.Word != "" {
		l.Word = s.Word
	}
	return l
}
