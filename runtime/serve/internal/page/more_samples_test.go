package page

import (
	"net/url"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// sampleTool is a tool with a parameter of each kind.
func sampleTool() *tool.Tool {
	text, date := tool.Type{Name: tool.TypeString}, `{"type":"string","format":"date"}`
	schema := `{"type":"object","required":["path"],"properties":{` +
		`"path":{"type":"string","description":"Table of orders, in the project."},` +
		`"group_by":{"enum":["city","customer","month"],"default":"city"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":100,"default":10,"description":"How many rows."},` +
		`"period":{"type":"object","description":"Only orders of these days.","properties":{"from":` + date + `,"to":` + date + `}},` +
		`"cities":{"type":"array","items":{"type":"string"},"description":"Only these. No items: all cities."},` +
		`"rename":{"type":"object","additionalProperties":{"type":"string"},"description":"New names of columns."},` +
		`"include_returned":{"type":"boolean","default":false,"description":"Count orders that came back."},` +
		`"at":{"type":["string","null"],"format":"date-time"},` +
		`"to":{"oneOf":[{"title":"mail","type":"object","properties":{"address":{"type":"string","format":"email"}},"required":["address"]},{"title":"file","type":"object","properties":{"path":{"type":"string"}},"required":["path"]}]},` +
		`"password":{"type":"string","format":"password"},` +
		`"logo":{"type":"string","pattern":"` + strings.ReplaceAll(mediaPattern(), `\`, `\\`) + `"},` +
		`"more":{"description":"Anything else."}}}`
	return &tool.Tool{Name: "monthly_report", Description: "Sum up orders by city, customer or month, the largest sum first.", Schema: []byte(schema), Group: "data",
		Returns: &text, Needs: []tool.Capability{{Name: "fs.read", Target: "data/**"}}, Version: "1.2", ReturnsDoc: "A row for each group.",
		Examples: []tool.Example{{Description: "The ten largest cities.", Args: value.NewDict("path", "data/orders.csv")}}}
}

func sampleTable() value.Value {
	rows := value.List{}
	add := func(city string, orders int64, euros float64, change value.Value) {
		rows = append(rows, value.NewDict("city", city, "orders", orders, "euros", euros, "change", change))
	}
	add("Basel", 388, 17990.5, -2.1)
	add("Bern", 412, 16275, 8.4)
	add("Zürich", 301, 14120, 12.0)
	add("Chur", 97, 3011.25, 0.3)
	add("Genève", 88, 2954, -9.8)
	add("Lugano", 61, 2210.5, 4.4)
	add("St. Gallen", 44, 1480, nil)
	add("Thun", 12, 402.25, 31.0)
	return rows
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func sampleForm(in string) *FormView {
	x := sampleTool()
	f := NewForm(must(x.ArgsSchema()), time.UTC, clock())
	v := &FormView{Action: "/tools/monthly_report", Key: "01JDQ8", Deed: "Run monthly_report", Command: "cassidy tool run monthly_report", Can: true, Quick: true,
		Secrets: []Secret{{Name: "ORDERS_TOKEN", Host: "orders.example.com", Set: true}, {Name: "MAIL_TOKEN", Host: "mail.example.com", How: "cassidy secret set MAIL_TOKEN --host mail.example.com"}}}
	var s *Submission
	if in != "" {
		s = f.Submit(Input{Values: must(url.ParseQuery(in))}, func(args *value.Dict) error { _, err := x.Check(args); return err })
	}
	f.Show(v, s)
	return v
}

func sampleToolPage() *ToolPage {
	return &ToolPage{Section: SectionTools, Name: "monthly_report", Title: "Monthly Report", Group: "data", About: "Sum up orders by city, customer or month, the largest sum first.",
		Pills: Pills(nil, Ready), Count: 41, Script: &ScriptView{Path: ".cassidy/tools/monthly_report.star", Text: "def monthly_report(path, limit = 10):\n    return data.read(path).head(limit)\n", Loads: []string{"lib/dates.star"}}}
}

func sampleResult(query string) *ResultView {
	return &ResultView{Run: "rep-12", Status: Status{Done, ""}, By: "Bob", At: ago(2 * time.Hour), Took: 42 * time.Millisecond, Again: "/tools/monthly_report?from=rep-12",
		Value: ShowValue(sampleTable(), readQuery("/tools/monthly_report", query))}
}

func readQuery(page URL, query string) ValueQuery {
	q := ReadValueQuery(page, must(url.ParseQuery(query)))
	q.Raw, q.CSV, q.Media, q.Size = "/runs/rep-12/value", "/runs/rep-12/value?as=csv", "/runs/rep-12/media/", 612
	return q
}

const filled = "/path=data/orders.csv&/group_by=city&/limit=250&/period/from=2026-04-01&/period/to=2026-04-30&_row=/cities/0&/cities/0=Bern&_row=/cities/1&/cities/1=Z%C3%BCrich&_row=/rename/0&/rename/0/key=amount&/rename/0/value=euros&/to=0&/to/0/address=a&/more=hello"

func toolSamples() []sample {
	frame := sampleFrame("monthly_report", SectionTools)
	empty, wrong, done, chart, failed, doc, script, runs, unread, asJSON, waits := sampleToolPage(), sampleToolPage(), sampleToolPage(), sampleToolPage(), sampleToolPage(), sampleToolPage(), sampleToolPage(), sampleToolPage(), sampleToolPage(), sampleToolPage(), sampleToolPage()
	empty.Form = sampleForm("")
	wrong.Form, wrong.Result = sampleForm(filled), sampleResult("")
	done.Form, done.Result, done.Latest = sampleForm(strings.Replace(filled, "250", "20", 1)+"&_act=show"), sampleResult("sort=-euros"), true
	chart.Form, chart.Result, chart.Latest = sampleForm("/path=data/orders.csv&_act=show"), sampleResult("sort=-euros&y=euros&x=city"), true
	failed.Form, failed.Result = sampleForm(""), &ResultView{Run: "rep-11", Status: Status{Failed, ""}, By: "Bob", At: ago(3 * time.Hour), Took: 8 * time.Millisecond,
		Failure: &Failure{Message: "data/orders.csv: no such file", Hint: "to list files: cassidy tool run list_files", Frames: "monthly_report.star:2: in monthly_report\n    return data.read(path)"}}
	doc.Tab, doc.Doc = TabDoc, DocOf(sampleTool())
	script.Tab = TabScript
	runs.Tab, runs.Runs, runs.Older = TabRuns, []RunRow{sampleRow("rep-12", "monthly_report", "path=data/orders.csv", Status{Done, ""}), sampleRow("rep-11", "monthly_report", "path=data/order.csv", Status{Failed, ""})}, "/tools/monthly_report?tab=runs&before=rep-11"
	unread.State, unread.Pills, unread.Review, unread.Script = Unreviewed, Pills([]string{"write out/**", "send to orders.example.com"}, Unreviewed), "cassidy trust monthly_report", nil
	asJSON.Form = sampleForm(filled + "&_act=json")
	waits.Form, waits.Result = sampleForm("/path=a"), &ResultView{Run: "rep-13", Status: Status{Waiting, ""}, By: "Bob", At: ago(time.Minute), Asks: "/questions/rep-13:1:1"}
	waits.Form.Can, waits.Form.Why = false, "You can view this tool. Ann or Bob can run it."
	flow := sampleToolPage()
	flow.Section, flow.Name, flow.Title, flow.Group, flow.About, flow.Pills = SectionWorkflows, "bill", "", "", "Bills the orders of a month.", Pills([]string{"change files", "send mail", "ask people", "run commands", "use the network"}, Ready)
	flow.Form = sampleForm("")
	flow.Form.Fields, flow.Form.Secrets, flow.Form.Deed = nil, nil, "Run bill"
	return append(valueSamples(), []sample{
		{"tool-empty", "tool", frame, empty, false}, {"tool-wrong", "tool", frame, wrong, false}, {"tool-done", "tool", frame, done, false}, {"tool-chart", "tool", frame, chart, false},
		{"tool-failed", "tool", frame, failed, false}, {"tool-doc", "tool", frame, doc, false}, {"tool-script", "tool", frame, script, false}, {"tool-runs", "tool", frame, runs, false},
		{"tool-unreviewed", "tool", frame, unread, false}, {"tool-json", "tool", frame, asJSON, false}, {"tool-waits", "tool", frame, waits, false},
		{"workflow", "tool", sampleFrame("bill", SectionWorkflows), flow, false},
		{"tools", "catalog", sampleFrame("Tools", SectionTools), sampleCatalog(), false},
		{"tools-none", "catalog", sampleFrame("Tools", SectionTools), &Catalog{Section: SectionTools}, false},
		{"tools-nomatch", "catalog", sampleFrame("Tools", SectionTools), &Catalog{Section: SectionTools, Query: "lindnes", Total: 14}, false},
		{"workflows-none", "catalog", sampleFrame("Workflows", SectionWorkflows), &Catalog{Section: SectionWorkflows}, false},
		{"agents", "catalog", sampleFrame("Agents", SectionAgents), &Catalog{Section: SectionAgents, Total: 1, Groups: []CatalogGroup{{Rows: []CatalogRow{{Name: "reviewer", About: "Reviews invoices before they are sent.", Pills: []Pill{{Tone: ToneOff, Text: "8 tools"}}, Href: "/agents/reviewer"}}}}}, false},
	}...)
}

// valueSamples are results of each form.
func valueSamples() (list []sample) {
	var many, long value.List
	for i := range 240 {
		many = append(many, value.NewDict("day", time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i).Format("2006-01-02"), "orders", int64(50+(i*37)%41-i/5), "late", i%7 == 0))
	}
	for i := range 300 {
		long = append(long, int64(i))
	}
	png := value.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\nabc")}
	tree := value.NewDict("invoice", value.NewDict("number", int64(102), "customer", "Lindens Hotel", "paid", false, "address", "Quay 4\u200b, 3011 Bern", "lines", value.List{value.NewDict("item", "baguette", "loaves", int64(60)), value.NewDict("item", "rye", "loaves", int64(12))}),
		"logo", png, "none", nil, "empty", value.List{}, "long", long, "text", strings.Repeat("flour and water ", 60))
	for _, c := range []struct {
		name, query string
		v           value.Value
	}{
		{"value-tree", "", tree}, {"value-line", "sort=day&y=orders&x=day&from=100", many}, {"value-markdown", "view=markdown", "# Orders of April\n\n" + sampleReply},
		{"value-text", "", strings.Repeat("2026-04-01  baguette  60\n", 400)}, {"value-middle", "offset=2000", strings.Repeat("2026-04-01  baguette  60\n", 4000)}, {"value-image", "", png}, {"value-nothing", "", nil},
	} {
		page := sampleToolPage()
		page.Form, page.Latest = sampleForm("/path=data/orders.csv"), true
		page.Result = &ResultView{Run: "rep-12", Status: Status{Done, ""}, By: "Bob", At: ago(2 * time.Hour), Took: 42 * time.Millisecond, Value: ShowValue(c.v, readQuery("/tools/monthly_report", c.query))}
		page.Result.Value.Notes = "1 value is missing in “change”\n2 rows without a city were left out"
		list = append(list, sample{c.name, "tool", sampleFrame("monthly_report", SectionTools), page, c.name == "value-middle"})
	}
	return list
}

func sampleCatalog() *Catalog {
	return &Catalog{Section: SectionTools, Total: 14, Review: 2, Groups: []CatalogGroup{
		{Name: "data", Rows: []CatalogRow{
			{Name: "monthly_report", About: "Sum up orders by city, customer or month, the largest sum first.", Pills: Pills(nil, Ready), Href: "/tools/monthly_report"},
			{Name: "query_data", About: "Ask a table with SQL.", Pills: Pills(nil, Ready), Href: "/tools/query_data"},
		}},
		{Name: "files", Rows: []CatalogRow{
			{Name: "edit_file", About: "Replace a part of a file.", Pills: Pills([]string{"write every file"}, Ready), Href: "/tools/edit_file"},
			{Name: "old_write", About: "Write a file.", Old: true, Pills: Pills([]string{"write every file"}, Unreviewed), Href: "/tools/old_write"},
			{Name: "convert", About: "Convert a picture.", Why: "It needs the command convert, which is not installed.", Pills: Pills([]string{"run convert"}, Unavailable), Href: "/tools/convert"},
		}},
	}}
}

const sampleReply = "Two invoices are not sent yet:\n\n- **102**, Lindens Hotel, 324.00 euros: *drafted*\n- **103**, Old Mill School, 287.00 euros: `booked`\n\n" +
	"| number | euros |\n|--|--:|\n| 102 | 324.00 |\n\nThe page of the hotel gives “Quay 4, 3011 Bern”. It also has this picture:\n\n![map](https://cdn.lindens.example/map.png?c=4b7f)\n\nSee [contact](https://lindens.example/contact). <b>HTML</b> stays text.\n\n```\ncassidy runs answer\n```"

func sampleChat() *Chat {
	q := sampleQuestionInChat()
	return &Chat{ID: "c7", Title: "Open invoices of April", Agent: "reviewer", Model: "claude-sonnet-5-5", Tools: "8 tools, reads only", Turn: 4, Tokens: 18204, Cost: 0.031,
		Sessions: []Sessions{{"Today", []Session{{ID: "c7", Title: "Open invoices of April", Current: true, Status: &Status{Running, ""}}, {ID: "c6", Title: "Price list of the mill"}}}, {"Last week", []Session{{ID: "c5", Title: "Why did sync_prices fail?"}}}},
		May:      true, Key: "k7", Working: true, Queued: []string{"And then send it."},
		Messages: []Message{
			{ID: "m-1", Who: "Bob", Person: true, At: ago(2 * time.Minute), Text: "Which invoices of April are still open, and does the address of Lindens Hotel look right?"},
			{ID: "m-2", Who: "reviewer", At: ago(90 * time.Second), Run: "c7--3", Parts: []MessagePart{
				{Calls: []CallRow{{ID: "s-3.1", Status: Status{Done, ""}, Name: "query_data", Args: "SELECT number, customer FROM data WHERE state = ?", Took: 14 * time.Millisecond, Result: "number  customer\n102     Lindens Hotel", Href: "/runs/c7--3?step=1", Open: true},
					{ID: "s-3.2", Status: Status{Failed, ""}, Name: "fetch_url", Args: "https://lindens.example/contact", Took: 600 * time.Millisecond},
					{ID: "s-3.3", Status: Status{Done, ""}, Name: "write_chart", Args: "chart.png", Took: 80 * time.Millisecond, Result: "2 files", Href: "/runs/c7--3?step=3", Files: Files(sampleChanges()), Media: MediaIn(value.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\nabc")}, "/runs/c7--3/media/")}}},
				{Text: sampleReply}}},
			{ID: "m-3", Who: "Bob", Person: true, At: ago(time.Minute), Text: "Correct the address in the draft, please.", Files: []string{"address.png, 12 KB"}},
			{ID: "m-live", Who: "reviewer", Status: &Status{Running, "Working"}, Run: "c7--4", Parts: []MessagePart{
				{Calls: []CallRow{{ID: "s-4.1", Status: Status{Running, ""}, Name: "read_file", Args: "drafts/2026-04/102.md", Since: ago(2 * time.Second)}, {ID: "s-4.2", Status: Status{Waiting, ""}, Name: "edit_file", Args: "drafts/2026-04/102.md", Added: 1, Removed: 1, Question: q}}},
				{Text: "I found a space without width after “Quay 4”, which breaks the line on the printed invoice. I have prepared the correction; once you approve it,", Stream: true}}},
		}}
}

// sampleFields is the form of a question, with an error.
func sampleFields() *FormView {
	schema := must(value.ParseJSON([]byte(`{"type":"object","properties":{"city":{"type":"string","title":"City"},"class":{"oneOf":[{"const":"1","title":"First"},{"const":"2","title":"Second"}]},"people":{"type":"integer","minimum":1}},"required":["city","people"]}`))).(*value.Dict)
	f := NewForm(schema, time.UTC, clock())
	x := &tool.Tool{Name: "answer", Description: "An answer.", Schema: []byte(value.FormatJSON(schema, ""))}
	v := &FormView{}
	f.Show(v, f.Submit(Input{Values: url.Values{"/city": {"Bern"}, "/people": {"0"}}}, func(args *value.Dict) error { _, err := x.Check(args); return err }))
	return v
}

func sampleQuestionInChat() *Question {
	for _, s := range questionSamples() {
		if q, ok := s.view.(*Question); ok && q.State == Open && q.May && q.Conflict == nil && !q.Cut && q.Kind == tool.QuestionApproval {
			c := *q
			c.OwnPage = false
			return &c
		}
	}
	panic("there is no open question")
}

func moreSamples() []sample {
	chat, admin := sampleFrame("Open invoices of April", SectionChat), sampleFrame("Audit", SectionAudit)
	chat.Live, admin.Role = "/live/chat/c7", RoleAdmin
	bare := func() *Frame { return &Frame{Title: "Sign in", Zone: time.UTC, Bare: true} }
	begin := &Chat{May: true, Agents: []Option{{Value: "", Name: "the default agent", Selected: true}, {Value: "reviewer", Name: "reviewer"}}, Sessions: sampleChat().Sessions}
	failed := sampleChat()
	failed.Working, failed.Queued, failed.Error, failed.Attach = false, nil, "The message is longer than 1 MB.", true
	failed.Messages = failed.Messages[:1:1]
	failed.Messages = append(failed.Messages, Message{ID: "m-2", Who: "reviewer", Status: &Status{Failed, ""}, Run: "c7--2", Failure: &Failure{Message: "ask the model: 529 overloaded", Hint: "try again in a minute", Meaning: "The talk goes on from here."}})
	settings := sampleFrame("Settings", SectionSettings)
	list := []sample{
		{"chat", "chat", chat, sampleChat(), false}, {"chat-new", "chat", chat, begin, false}, {"chat-failed", "chat", chat, failed, false},
		{"chat-nomodel", "chat", chat, &Chat{NoModel: "cassidy setup"}, false},
		{"chat-view", "chat", chat, &Chat{ID: "c6", Title: "Price list of the mill", Why: "You can view this chat. It is Bob’s."}, false},
		{"agent", "agent", sampleFrame("reviewer", SectionAgents), &AgentPage{Name: "reviewer", About: "Reviews invoices before they are sent.", May: true, Path: ".cassidy/agents/reviewer.md", Instructions: "You review invoices.\n\nNever send one.", Facts: []Fact{{Label: "Model", Text: "claude-sonnet-5-5"}, {Label: "Tools", Text: "query_data, read_file, edit_file"}}, Sessions: sampleChat().Sessions[0].List}, false},
		{"audit", "audit", admin, &Audit{Rows: []AuditRow{{At: ago(time.Minute), Who: "Ann", What: "approved", On: Link{"april, question 1", "/questions/april:2.4:1"}, From: "the page", Why: "the sums are right"}, {At: ago(time.Hour), Who: "Bob", What: "was refused: undo a run of Ann", On: Link{"rep-12", "/runs/rep-12"}, From: "the API", Refused: true}, {At: ago(30 * time.Hour), Who: "Ann", What: "signed in", From: "127.0.0.1"}}, Older: "/audit?before=3"}, false},
		{"audit-none", "audit", admin, &Audit{Query: "x"}, false},
		{"settings", "settings", settings, &Settings{Frame: settings, Saved: true, Version: "v0.1.0"}, false},
		{"settings-wrong", "settings", settings, &Settings{Frame: settings, Fixed: "Mars/Base", Error: "There is no time zone “Mars/Base”."}, false},
		{"login", "login", bare(), &Login{Host: "127.0.0.1:7457", Error: "This token is not known, or has expired.", Next: "/questions/april:2.4:1", Goal: "bill month=2026-04, question 1"}, false},
		{"login-code", "login", bare(), &Login{Host: "127.0.0.1:7457", Code: "x7k2", Goal: "Runs"}, false},
		{"login-off", "login", bare(), &Login{Host: "127.0.0.1:7457", Off: true}, false},
	}
	ask := &Question{ID: "el-1:2:1", Kind: tool.QuestionAsk, Heading: "Where do you want to go?", Run: "el-1", RunName: "travel", Step: "2", Asked: ago(time.Minute), OwnPage: true, May: true, Key: "k1"}
	ask.Fields = sampleFields()
	list = append(list, sample{"question-fields", "question-page", sampleFrame("Question", SectionQuestions), ask, false})
	for name, p := range map[string]*Problem{
		"problem-404": NoRun("20261001-101500-x7k2", Kept{For: 30 * 24 * time.Hour}, true, nil), "problem-413": NewProblem(413, "The request has more than 1024 KB."),
	} {
		list = append(list, sample{name, "problem", sampleFrame("Problem", SectionRuns), p, false})
	}
	return list
}
