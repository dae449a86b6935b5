package agent_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// A play is what a model says, one after the other: a text, a dict with native
// calls, an error, or a function that is called for one of them.
type play []any

// A stage is a host over a folder of its own, a model that plays, and a record
// of all that happens between them.
type stage struct {
	*host.Host
	t       testing.TB
	dir     string
	journal string // the folder of the store, or ""
	session *agent.Session

	turns []*recordedTurn // that [stage.turn] made

	mu    sync.Mutex
	heard <-chan tool.Event // those that are not written down yet
	log   strings.Builder
	subs  []string // the runs of agents of agents
	sent  int      // how many messages of the conversation are in the log
}

// A setting is what a stage is made of.
type setting struct {
	files   map[string]string
	approve host.Approver
	process bool // scripts run in workers
	store   bool // runs are recorded
	native  bool
	memory  int64 // of the host; 0 is the default
	replies play
	options agent.Options // without a Model
	before  func(s *stage, o *agent.Options)
}

// newStage opens the host and the session of a run that is named "run".
func newStage(t testing.TB, set setting) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir()}
	for name, text := range set.files {
		s.write(name, text)
	}
	mode := cassidy.Inline
	if set.process {
		mode = cassidy.Process
	}
	var err error
	if set.store {
		s.journal = t.TempDir()
	}
	s.Host, err = testhost.Open(t, testhost.On{Sandbox: mode, Journal: s.journal}, s.dir, &cassidy.Options{TrustSource: true, Approver: set.approve, Memory: set.memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Host.Close() })
	o := set.options
	o.WorkDir, o.Model = s.dir, s.model(set.native, set.replies)
	if set.before != nil {
		set.before(s, &o)
	}
	if o.Tools == nil {
		o.Tools = []string{"read_file", "list_files", "write_file"}
	}
	a, err := agent.New(s.Host, &o)
	if err != nil {
		t.Fatal(err)
	}
	s.session = a.NewSession("run")
	s.heard = s.Subscribe(t.Context(), host.EventFilter{Buffer: 1 << 16})
	return s
}

// model plays the replies. What it is sent is written down, as far as it is
// new, and must be a conversation that every API would take.
func (s *stage) model(native bool, replies play) model.Model {
	var asked atomic.Int64 // agents may work in parallel
	return script.New("replies", native, func(ctx context.Context, messages value.List, _ int) (value.Value, error) {
		s.seen(messages)
		turn := int(asked.Add(1))
		if turn > len(replies) {
			return nil, value.Errorf(value.Failed, "the model has no more to say")
		}
		next := replies[turn-1]
		if f, ok := next.(func(ctx context.Context) any); ok {
			next = f(ctx)
		}
		if err, ok := next.(error); ok {
			return nil, err
		}
		return next, nil
	})
}

// seen writes down the messages that a model has not got before.
func (s *stage) seen(messages value.List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hear()
	if why := illFormed(messages); why != "" {
		s.t.Errorf("the model is sent a conversation that no API takes: %s", why)
	}
	from := s.sent
	if from >= len(messages) {
		from = 0 // it was compacted, or is another agent's
	}
	s.sent = len(messages) + 1 // with the reply
	for _, m := range messages[from:] {
		d := m.(*value.Dict)
		who := d.Text("role")
		if id := d.Text("tool_call_id"); id != "" {
			who += " " + d.Text("name") + " " + id
		}
		s.say("> "+who, unprompted(d.Text("content")))
	}
}

// unprompted leaves out what a prompt says in every conversation.
func unprompted(text string) string {
	for _, heading := range []string{"# Context\n", "# User Question\n"} {
		if i := strings.Index(text, heading); i > 0 {
			return "(the prompt)\n" + text[i:]
		}
	}
	return text
}

// illFormed says what is wrong with a conversation, or "".
func illFormed(messages value.List) string {
	open := map[string]bool{}
	for i, m := range messages {
		d := m.(*value.Dict)
		role := d.Text("role")
		if role == "tool" {
			if !open[d.Text("tool_call_id")] {
				return fmt.Sprintf("message %d answers no call: %s", i, d)
			}
			delete(open, d.Text("tool_call_id"))
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("message %d comes before the results of %v", i, open)
		}
		if role == "user" && strings.TrimSpace(d.Text("content")) == "" {
			return fmt.Sprintf("message %d is empty", i)
		}
		calls, _ := d.Get("tool_calls")
		list, _ := value.Elements(calls)
		for _, c := range list {
			open[c.(*value.Dict).Text("id")] = true
		}
	}
	switch {
	case len(open) > 0:
		return fmt.Sprintf("the calls %v have no result", open)
	case len(messages) > 0 && messages[len(messages)-1].(*value.Dict).Text("role") == "assistant":
		return "the last message is from the model"
	}
	return ""
}

// hear writes down the events so far. s.mu is held.
func (s *stage) hear() {
	for len(s.heard) > 0 {
		s.record(<-s.heard)
	}
}

// record writes down an event, without times and counts of tokens. That a
// policy's own effects succeed is in what comes of them.
func (s *stage) record(e tool.Event) {
	_, replied := e.Data.(tool.ModelReply)
	_, compacted := e.Data.(tool.Compacted)
	_, begins := e.Data.(tool.RunStart)
	_, ended := e.Data.(tool.ToolCallEnd)
	switch d := e.Data.(type) {
	case tool.Text:
		return
	case tool.EffectDone:
		if strings.HasPrefix(d.Func, "agent.") && d.Success {
			return
		}
	case tool.RunStart:
		if e.Call != "run" {
			s.subs, s.sent = append(s.subs, e.Call), 0
		}
	}
	head, body := e.Type()+" "+e.Call, ""
	for k, v := range e.Fields().All() {
		name := k.(string)
		switch {
		case name == "wall_ms", name == "waited_ms", name == "duration_ms", begins && name == "kind", name == "usage", ended && slices.Contains([]string{"error", "error_type", "error_kind", "suggestion", "limit"}, name),
			strings.Contains(name, "token"), name == "tool_overhead", name == "effective_limit", name == "run", name == "toolName":
		case v == nil, v == "", v == false, len(elements(v)) == 0 && isList(v):
		case replied && name == "text", compacted && name == "summary":
			body = v.(string)
		case ended && name == "result":
		default:
			head += " " + name + "=" + value.FormatJSON(v, "")
		}
	}
	s.say(head, body)
}

func isList(v value.Value) bool { _, ok := v.(value.List); return ok }

func elements(v value.Value) value.List {
	list, _ := v.(value.List)
	return list
}

// agents names the agents that have had agents.
func (s *stage) agents() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hear()
	return strings.Join(s.subs, " ")
}

// say writes a line, and below it a text.
func (s *stage) say(head, body string) {
	s.log.WriteString(strings.TrimSpace(head) + "\n")
	if body == "" {
		return
	}
	for line := range strings.SplitSeq(body, "\n") {
		s.log.WriteString(strings.TrimRight("    "+line, " ") + "\n")
	}
}

// turn has the agent answer a message, and writes down what came of it.
func (s *stage) turn(ctx context.Context, message string) (*agent.Reply, error) {
	r, err := s.writeDown(ctx, s.session, message)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hear()
	s.say(fmt.Sprintf("= %s after %d", r.Reason, r.Iterations), r.Text)
	for _, c := range r.Calls {
		s.say(fmt.Sprintf("  %d %s success=%v", c.Iteration, c.Action, c.Success), c.Error)
	}
	if err != nil {
		s.say("  "+value.KindOf(err).Type(), value.ErrorOf(err, value.Failed).Message())
	}
	return r, err
}

// compare holds what was written down against the file of this name.
func (s *stage) compare(name string) {
	s.t.Helper()
	got := ordered(strings.ReplaceAll(s.log.String(), s.dir, "DIR"))
	file := filepath.Join("testdata", "transcripts", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		s.t.Errorf("the transcript %s differs (-want +got):\n%s", name, diff)
	}
}

// besides is the number of a call among the calls of a reply, which can end in any order.
var besides = regexp.MustCompile(`^\S+ \S+?/\d+\.(\d+)(?:/\S*)? `)

// ordered writes the events of calls that were made in parallel in the order of the calls.
func ordered(log string) string {
	lines := strings.SplitAfter(log, "\n")
	number := func(line string) int {
		found := append(besides.FindStringSubmatch(line), "", "")
		n, _ := strconv.Atoi(found[1])
		return n
	}
	for from := 0; from < len(lines); {
		to := from
		for to < len(lines) && number(lines[to]) > 0 {
			to++
		}
		slices.SortStableFunc(lines[from:to], func(a, b string) int { return number(a) - number(b) })
		from = max(from+1, to)
	}
	return strings.Join(lines, "")
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) file(name string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
	if err != nil {
		return "none"
	}
	return string(text)
}

// call is a decision as a model writes it in JSON.
func call(name string, args ...value.Value) string { return callAs("continue", name, args...) }

// callAs is a decision with this status.
func callAs(status, name string, args ...value.Value) string {
	return value.FormatJSON(value.NewDict("tool_decision",
		value.NewDict("action", name, "input", value.NewDict(args...), "reasoning", "it is needed", "status", status)), "")
}

// calls is a reply with native calls, each a name and its arguments.
func calls(text string, pairs ...any) *value.Dict {
	list := value.List{}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, value.NewDict("name", pairs[i].(string), "arguments", pairs[i+1]))
	}
	return value.NewDict("content", text, "tool_calls", list)
}
