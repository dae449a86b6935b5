package runtime

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Question asks somebody to approve a call, an effect of it, or the writes
// that it has staged.
type Question struct {
	Tool tool.Tool
	// Call is what would run, with its arguments and the reasoning of who asks.
	Call tool.Call
	// Place is where in the run the question comes up.
	Place tool.Place
	// Effect is what the call wants to do now, where the question is about one
	// effect; else nil.
	Effect *tool.Effect
	// Takes are the capabilities that a yes would let it use.
	Takes []tool.Capability
	// Changes are what a yes would do to files, where the call has run and its
	// writes wait for it.
	Changes []tool.Change
	// Why says what asks for it: the tool's own word, a capability, or a rule.
	// Where arguments that somebody gave in an [Answer] were not right, it says
	// what is wrong with them.
	Why string
}

// An Answer is what somebody says to a [Question]. The zero value is no.
type Answer struct {
	Yes bool
	// Always approves also what the same tool, unchanged, asks for of the same
	// kind later, for as long as the host lives: its calls and what they change,
	// or an effect of the same name that takes the same.
	Always bool
	// Args are arguments to run with in place of those of the call, where the
	// question is about a call that has not run; they are checked again, and if
	// they are not right the question comes back. Nil keeps them.
	Args *tool.Dict
	// Why is said to who asked, where the answer is no; "" says no more.
	Why string
}

// An Approve decides on what needs approval. It is asked one question at a
// time, while the time of the call stands still. It must not wait for a call that
// asks again. An error is no approval; one of kind [tool.Parked] says that nobody
// is there after all, and a run that can wait then does.
type Approve func(ctx context.Context, q Question) (Answer, error)

// ApproveAll approves everything that is asked: for programs whose tools are
// all their own.
func ApproveAll(context.Context, Question) (Answer, error) { return Answer{Yes: true}, nil }

const (
	// maxEdits is how often wrong arguments may be mended.
	maxEdits = 3
	// maxRefusals is how often a call, with all that it calls, may be refused
	// before nobody is asked any more: a script could go on until somebody
	// tires of saying no.
	maxRefusals = 3
)

// approve asks about a call that needs it, or notes that its changes do. A
// person who named the tool and typed its arguments has approved that call.
func (g *gate) approve(ctx context.Context) error {
	verdict, rule := g.judgeCall()
	open, by := g.host.open(g.tool)
	risky := g.tool.Risky
	d := decision{what: callItself, place: g.call.Place, takes: g.tool.Needs}
	switch {
	case verdict == tool.Ask:
		d.why = "a rule asks: " + ruleText(rule)
	case !risky && len(open) == 0:
		if by != nil {
			d.why = "a rule allows it: " + ruleText(by)
			g.allowed(d)
		}
		return nil
	case g.call.Caller == tool.ByPerson && (g.above == nil || g.above.typed):
		d.why = "a person made the call"
		g.allowed(d)
		return nil
	case risky:
		d.why = "its author says that it is risky"
	case onlyWrites(g.tool.Needs) && g.tool.Location != tool.Embedded: // what Go writes is not staged
		g.asksChanges = true
		return nil
	default:
		d.why = "it may use " + capabilityList(open)
	}
	how, err := g.askCall(ctx, d.why)
	if err != nil {
		return g.refused(d, err)
	}
	d.why = how
	g.allowed(d)
	return nil
}

// onlyWrites reports whether all that a tool can do is to write files, which can
// wait until it is known what is written. A command that a rule allows could
// write as well, and does not wait.
func onlyWrites(needs []tool.Capability) bool {
	for _, c := range needs {
		if c.Acts() && c.Name != "fs.write" {
			return false
		}
	}
	return true
}

// askCall asks about a call that has not run, and takes the arguments that
// come back.
func (g *gate) askCall(ctx context.Context, why string) (how string, err error) {
	q := Question{Tool: *g.tool, Call: g.shown(), Place: g.call.Place, Takes: g.tool.Needs, Why: why}
	for range maxEdits {
		var answer Answer
		if answer, how, err = g.ask(ctx, q); err != nil {
			return "", err
		}
		if answer.Args != nil {
			q.Call.Args = answer.Args
		}
		var args *tool.Dict
		if args, err = g.host.arguments(g.tool, q.Call); err == nil {
			g.call.Args = args
			if answer.Always {
				g.remember(q)
			}
			return how, nil
		}
		q.Why = "the arguments are not right: " + tool.ErrorOf(err, tool.Invalid).Message()
	}
	return "", err
}

// shown is the call as somebody is asked about it: without what the host fills
// in, and typed.
func (g *gate) shown() tool.Call {
	c, args := g.call, &tool.Dict{}
	for k, v := range c.Args.All() {
		name, _ := k.(string)
		if p, ok := g.tool.Param(name); !ok || !p.FromHost {
			args.Put(name, v)
		}
	}
	c.Args, c.Texts = args, false
	return c
}

// askEffect asks about one effect that a rule wants asked each time.
func (g *gate) askEffect(ctx context.Context, e tool.Effect, takes []tool.Capability, r *tool.Rule) error {
	d := decision{what: e.Func, place: e.Place, takes: takes}
	_, how, err := g.ask(ctx, Question{Tool: *g.tool, Call: g.shown(), Place: e.Place, Effect: &e, Takes: takes, Why: "a rule asks: " + ruleText(r)})
	if err != nil {
		return err
	}
	for _, c := range takes {
		if c.Name == "fs.write" {
			g.settle(c.Target)
		}
	}
	g.approved = append(g.approved, takes...)
	if g.fn(e.Func).Kind == tool.Read { // a large file is read part by part: it is one thing to approve
		g.reads = append(g.reads, takes...)
	}
	d.why = how
	g.allowed(d)
	return nil
}

// settle notes that what the call makes of a path has been approved.
func (g *gate) settle(path string) {
	if g.settled == nil {
		g.settled = map[string]bool{}
	}
	g.settled[path] = true
}

// approveChanges asks about what the call has staged, if nobody has approved
// its writing yet. A no holds for all of the call.
func (g *gate) approveChanges(ctx context.Context, at tool.Place) error {
	if !g.asksChanges {
		return nil
	}
	if g.declined != nil {
		return g.declined
	}
	changes, covered, by := g.openChanges()
	d := decision{what: commitEffect, place: at, takes: writes(changes)}
	if covered {
		if by != nil {
			d.why = "a rule allows it: " + ruleText(by)
			g.allowed(d)
		}
		return nil
	}
	_, how, err := g.ask(ctx, Question{Tool: *g.tool, Call: g.shown(), Place: at, Takes: d.takes, Changes: changes, Why: "it changes files"})
	if err != nil {
		g.declined = g.refused(d, err)
		return g.declined
	}
	d.why = how
	g.allowed(d)
	return nil
}

// openChanges returns what the call would change, and whether all of it is
// approved already: by a rule, of which it returns one, or each on its own. A
// new folder goes with what is in it.
func (g *gate) openChanges() (changes []tool.Change, covered bool, by *tool.Rule) {
	covered = true
	var folders, files []string
	for _, c := range g.stage.Changes() {
		if c.Before.Exists == c.After.Exists && c.Before.Dir == c.After.Dir && c.Before.Hash == c.After.Hash {
			continue
		}
		changes = append(changes, c)
		verdict, r := g.judge(tool.Capability{Name: "fs.write", Target: c.Path})
		switch {
		case verdict == tool.Allow:
			by = r
			files = append(files, c.Path)
		case g.settled[c.Path]:
			files = append(files, c.Path)
		case c.After.Dir && !c.Before.Exists:
			folders = append(folders, c.Path)
		default:
			covered = false
		}
	}
	for _, folder := range folders {
		covered = covered && hasInside(files, folder)
	}
	return changes, covered, by
}

func hasInside(paths []string, folder string) bool {
	for _, p := range paths {
		if strings.HasPrefix(p, folder+"/") {
			return true
		}
	}
	return false
}

// An approval is what an answer for good holds for: a tool that is still the
// same, with the same rights, and one kind of question.
type approval struct {
	name, hash     string
	of             *tool.Tool // where there is no hash
	needs, granted string
	kind           string
}

func (g *gate) approvalOf(q Question) approval {
	exact := func(list []tool.Capability) string { return fmt.Sprintf("%q", list) }
	t := g.tool
	a := approval{name: tool.Key(t.Name), hash: t.Hash, needs: exact(t.Needs), granted: exact(t.Granted), kind: callItself}
	if t.Hash == "" {
		a.of = t
	}
	if q.Effect != nil {
		a.kind = "effect " + q.Effect.Func + " " + exact(q.Takes)
	}
	return a
}

func capabilityList(list []tool.Capability) string {
	words := make([]string, len(list))
	for i, c := range list {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}

// ask puts a question, after those that others ask. It says how the yes came
// about; anything else is an error.
func (g *gate) ask(ctx context.Context, q Question) (answer Answer, how string, err error) {
	h, a := g.host, g.approvalOf(q)
	made := g.made()
	replays := g.root().record != nil && g.root().record.replay != nil
	if said, err := g.said(ctx, q); err != nil || said != nil {
		return g.taken(q, said, err) // whatever was said later
	}
	switch {
	case h.remembers(a):
		return Answer{Yes: true}, approvedBefore, nil
	case replays: // it was not asked then, or what it does is not in the record
		return Answer{Yes: true}, "it is replayed", nil
	case h.opts.Approve == nil:
		return Answer{}, "", g.waitForApproval(ctx, q, g.nobodyToAsk(q))
	case ctx.Value(askingKey{}) != nil:
		return Answer{}, "", tool.Errorf(tool.Denied, "%s: a question is open already", needsApproval(q))
	case made.refusals.Load() >= maxRefusals:
		return Answer{}, "", tool.Errorf(tool.Denied, "%s: the call was refused %d times already", needsApproval(q), maxRefusals)
	}
	g.wall.pause()
	defer g.wall.resume()
	done, err := h.askNext(ctx)
	if err != nil {
		return Answer{}, "", err
	}
	defer done()
	if h.remembers(a) { // while this one waited
		return Answer{Yes: true}, approvedBefore, nil
	}
	switch answer, err = h.put(ctx, q); {
	case tool.KindOf(err) == tool.Parked: // he has gone
		err = g.waitForApproval(ctx, q, notApproved(q, ""))
	case err == nil:
		err = g.noteAnswer(ctx, q, answer)
	}
	if open(err) {
		return Answer{}, "", err
	}
	return g.taken(q, &answer, err)
}

// taken is what an answer means.
func (g *gate) taken(q Question, answer *Answer, err error) (Answer, string, error) {
	if err == nil && !answer.Yes {
		err = notApproved(q, answer.Why)
	}
	if err != nil {
		g.made().refusals.Add(1)
		return Answer{}, "", tool.AsError(err, tool.Denied)
	}
	if answer.Always && answer.Args == nil {
		g.remember(q)
	}
	return *answer, "it was approved", nil
}

// remember keeps an approval for good. One that is replayed is none.
func (g *gate) remember(q Question) {
	if r := g.root().record; r == nil || r.replay == nil {
		g.host.remember(g.approvalOf(q))
	}
}

const approvedBefore = "it was approved for good before"

// askingKey marks the context in which a question is put.
type askingKey struct{}

// put calls the program's Approve. Whatever that does, only a yes is one.
func (h *Host) put(ctx context.Context, q Question) (answer Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = Answer{}, tool.Errorf(tool.Internal, "the approval panicked: %v", p)
		}
	}()
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	answer, err = h.opts.Approve(context.WithValue(ctx, askingKey{}, true), q)
	if (err == nil || tool.KindOf(err) == tool.Parked) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return answer, err
}

func (h *Host) remembers(a approval) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.always[a]
}

func (h *Host) remember(a approval) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.always == nil {
		h.always = map[approval]bool{}
	}
	h.always[a] = true
}

// needsApproval says in an error what nobody approved.
func needsApproval(q Question) string {
	switch {
	case q.Effect != nil:
		return "the tool '" + q.Tool.Name + "' needs approval for " + q.Effect.Func + " (" + capabilityList(q.Takes) + ")"
	case q.Changes != nil:
		return "the tool '" + q.Tool.Name + "' needs approval to change " + pathList(q.Changes)
	}
	return "the tool '" + q.Tool.Name + "' needs approval"
}

// pathList names the paths that change, or the first of them.
func pathList(changes []tool.Change) string {
	const most = 3
	var names []string
	for _, c := range changes[:min(most, len(changes))] {
		names = append(names, c.Path)
	}
	text := strings.Join(names, ", ")
	if more := len(changes) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

func notApproved(q Question, why string) error {
	what := "the call of '" + q.Tool.Name + "' was not approved"
	switch {
	case q.Effect != nil:
		what = q.Effect.Func + " of '" + q.Tool.Name + "' was not approved"
	case q.Changes != nil:
		what = "what '" + q.Tool.Name + "' changes was not approved"
	}
	if why != "" {
		what += ": " + why
	}
	return tool.Errorf(tool.Denied, "%s", what)
}

func (g *gate) nobodyToAsk(q Question) error {
	err := tool.Errorf(tool.Denied, "%s, and there is nobody to give it: %s", needsApproval(q), q.Why)
	open, _ := g.host.open(g.tool)
	switch {
	case q.Effect != nil || g.tool.Risky || len(open) == 0:
		return err.WithHint("run it where somebody can be asked; a program sets Options.Approve")
	case q.Changes != nil:
		open = q.Takes
	}
	return err.WithHint("allow %s in a rule, or run it where somebody can be asked; a program sets Options.Approve", capabilityList(open))
}
