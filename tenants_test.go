package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// asks are tools that ask: one a question, one for an approval.
func asks() cassidy.Source {
	return cassidy.Scripts(map[string]string{
		"ask.star":   starTool("ask", "return human.ask(\"Who?\")", "\"human\""),
		"count.star": starTool("count", "return tools.step() + tools.step()", "\"tool\""),
	})
}

// onStore opens a host in a runtime of its own over the store in a folder, as another
// process does.
func onStore(t *testing.T, dir, tenant string) (*cassidy.Runtime, *cassidy.Host) {
	t.Helper()
	store, err := sqlite.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after that of the runtime
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: store})
	return r, openIn(t, r, asks(), &cassidy.Options{Tenant: tenant, TrustSource: true, NoBuiltins: true})
}

// park makes a durable call that waits, and returns the ID of its question.
func park(t *testing.T, h *cassidy.Host, run string) string {
	t.Helper()
	var parked *cassidy.ParkedError
	if _, err := callOf(t, h, "ask", cassidy.Durable(run)); !errors.As(err, &parked) || len(parked.Questions) != 1 {
		t.Fatalf("the call gave %v, want that it waits for one answer", err)
	}
	return parked.Questions[0].ID
}

// byID calls every method that takes the ID of a run, of a question or of a session.
func byID(t *testing.T, h *cassidy.Host, id string) map[string]error {
	ctx := context.Background()
	_, resumed := h.Resume(ctx, id)
	_, undone := h.Undo(ctx, id)
	_, recorded := h.Recorded(ctx, id)
	_, replied := agent.Resume(ctx, h, id)
	errs := map[string]error{
		"Resume": resumed, "Undo": undone, "Recorded": recorded, "agent.Resume": replied, "Cancel": h.Cancel(ctx, id),
		"Answer": h.Answer(ctx, id, cassidy.Answer{Yes: true}), "Answer of its question": h.Answer(ctx, id+":1:1", cassidy.Answer{Value: "x"}),
		"Events": nil, "Follow": nil, "Steps": nil,
	}
	for e, err := range h.Events(ctx, id, 0) {
		if errs["Events"] = err; err == nil {
			t.Errorf("Events(%.20q) yielded %+v", id, e)
		}
	}
	for e, err := range h.Follow(ctx, id, 0) {
		if errs["Follow"] = err; err == nil {
			t.Errorf("Follow(%.20q) yielded %+v", id, e)
		}
	}
	for e, err := range host.Operate(h).Steps(ctx, id) {
		if errs["Steps"] = err; err == nil {
			t.Errorf("Steps(%.20q) yielded %+v", id, e)
		}
	}
	return errs
}

// TestIDsOfOthers checks that an ID of another tenant is as one that nobody has, in
// every method, whatever the names of the tenants are.
func TestIDsOfOthers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	_, ann := onStore(t, dir, "ann")
	question := park(t, ann, "run-1")
	for _, tenant := range []string{"", "Ann", "ann ", "../ann", "ann/..", "t-ann", "ann\x00", "ann:run-1", strings.Repeat("ann", 10_000), "."} {
		_, other := onStore(t, dir, tenant)
		for name, err := range byID(t, other, "run-1") {
			if !errors.Is(err, cassidy.ErrNotFound) {
				t.Errorf("tenant %.20q: %s gave %v", tenant, name, err)
			}
		}
		if err := other.Answer(context.Background(), question, cassidy.Answer{Value: "x"}); !errors.Is(err, cassidy.ErrNotFound) {
			t.Errorf("tenant %.20q: Answer gave %v", tenant, err)
		}
		for r, err := range other.Runs(context.Background(), cassidy.RunFilter{}) {
			t.Errorf("tenant %.20q sees %v, %v", tenant, r.ID, err)
		}
		for q, err := range other.Waiting(context.Background()) {
			t.Errorf("tenant %.20q sees %v, %v", tenant, q.ID, err)
		}
		for r, err := range other.Due(context.Background()) {
			t.Errorf("tenant %.20q sees %v, %v", tenant, r.ID, err)
		}
		if own := park(t, other, "run-1"); own != question {
			t.Errorf("tenant %.20q: the question of its own run is %s", tenant, own)
		}
	}
	r, again := onStore(t, dir, "ann")
	if _, err := r.Open(asks(), &cassidy.Options{Tenant: "\xff"}); !errors.Is(err, cassidy.ErrInvalid) {
		t.Errorf("a tenant whose name is no text gave %v", err)
	}
	if err := again.Answer(context.Background(), question, cassidy.Answer{Value: "Ann"}); err != nil {
		t.Error(err)
	}
	if got, err := again.Resume(context.Background(), "run-1"); got.Value != "Ann" || err != nil {
		t.Errorf("resumed: %v, %v", got.Value, err)
	}
}

// TestHostileIDs checks that texts which cannot be IDs are refused by every method,
// and touch no file.
func TestHostileIDs(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	_, h := onStore(t, filepath.Join(base, "store"), "../../escape")
	park(t, h, "good")
	files := func() (list []string) {
		err := filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
			if !strings.HasPrefix(filepath.Base(p), "journal.db") {
				list = append(list, p)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return list
	}
	before := files()
	for _, id := range []string{
		"../good", "a/b", "a\\b", ".", "..", "a\x00b", "-a", "a b", "a:b", "good:1:1", "\xff\xfe", "ä", "good\n", "%2e%2e", strings.Repeat("x", 65), strings.Repeat("y", 10<<20), "CON.txt", "*",
	} {
		for name, err := range byID(t, h, id) {
			if id == "good:1:1" && name == "Answer" {
				continue // an approval answers no ask, which is another error
			}
			if !errors.Is(err, cassidy.ErrNotFound) && !errors.Is(err, cassidy.ErrInvalid) || len(err.Error()) > 2000 {
				t.Errorf("%s(%.20q) gave %.200v", name, id, err)
			}
		}
		if _, err := callOf(t, h, "ask", cassidy.Durable(id)); !errors.Is(err, cassidy.ErrInvalid) || len(err.Error()) > 2000 {
			t.Errorf("Durable(%.20q) gave %.200v", id, err)
		}
		if _, err := h.Call(context.Background(), cassidy.Call{Tool: id}); !errors.Is(err, cassidy.ErrNotFound) || len(err.Error()) > 2000 {
			t.Errorf("a call of the tool %.20q gave %.200v", id, err)
		}
		if _, err := h.Run(context.Background(), id, nil); !errors.Is(err, cassidy.ErrNotFound) && !errors.Is(err, cassidy.ErrInvalid) || len(err.Error()) > 2000 {
			t.Errorf("a run of the workflow %.20q gave %.200v", id, err)
		}
		if err := h.RemoveTool(id); !errors.Is(err, cassidy.ErrNotFound) || len(err.Error()) > 2000 {
			t.Errorf("RemoveTool(%.20q) gave %.200v", id, err)
		}
		err := cassidy.AddTool(h, cassidy.Tool{Name: id, Description: "Do it."}, func(context.Context, none) (none, error) { return none{}, nil })
		if !errors.Is(err, cassidy.ErrInvalid) || len(err.Error()) > 2000 {
			t.Errorf("AddTool(%.20q) gave %.200v", id, err)
		}
	}
	for name, err := range byID(t, h, "") {
		if !errors.Is(err, cassidy.ErrNotFound) && !errors.Is(err, cassidy.ErrInvalid) {
			t.Errorf("%s(\"\") gave %v", name, err)
		}
	}
	if now := files(); strings.Join(now, "\n") != strings.Join(before, "\n") {
		t.Errorf("there are the files %v, before %v", now, before)
	}
	if _, err := os.Stat(filepath.Join(base, "escape")); err == nil {
		t.Error("the name of a tenant left the store")
	}
}

// TestSecondProgram has two programs use one store: one of them executes a run, the
// other reads, answers and cancels it.
func TestSecondProgram(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "store")
	_, first := onStore(t, dir, "ann")
	_, second := onStore(t, dir, "ann")
	begun, end := make(chan none, 8), make(chan none)
	var steps sync.Map
	for i, h := range []*cassidy.Host{first, second} {
		addTool(t, h, "step", func(ctx context.Context) (any, error) {
			steps.Store(fmt.Sprint(i), true)
			begun <- none{}
			select {
			case <-end:
				return 1, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
	}
	done := make(chan error, 1)
	go func() {
		_, err := callOf(t, first, "count", cassidy.Durable("r"))
		done <- err
	}()
	<-begun
	_, resumed := second.Resume(ctx, "r")
	_, called := callOf(t, second, "count", cassidy.Durable("r"))
	_, undone := second.Undo(ctx, "r")
	for name, err := range map[string]error{"Resume": resumed, "Durable": called, "Undo": undone} {
		if !errors.Is(err, cassidy.ErrConflict) {
			t.Errorf("%s of a run that another program executes gave %v", name, err)
		}
	}
	if _, err := callOf(t, second, "ask", cassidy.Durable("r")); !errors.Is(err, cassidy.ErrConflict) {
		t.Errorf("another call of the same ID gave %v", err)
	}
	if err := second.Cancel(ctx, "r"); err != nil {
		t.Errorf("Cancel gave %v", err)
	}
	if err := <-done; !errors.Is(err, cassidy.ErrCanceled) {
		t.Errorf("the cancelled call gave %v", err)
	}
	if _, err := second.Resume(ctx, "r"); !errors.Is(err, cassidy.ErrCanceled) {
		t.Errorf("Resume of a cancelled run gave %v", err)
	}
	if err := second.Cancel(ctx, "r"); !errors.Is(err, cassidy.ErrConflict) {
		t.Errorf("Cancel of a run that has ended gave %v", err)
	}

	close(end)
	question := park(t, first, "s")
	if err := second.Answer(ctx, question, cassidy.Answer{Value: "B"}); err != nil {
		t.Error(err)
	}
	if err := first.Answer(ctx, question, cassidy.Answer{Value: "A"}); err != nil { // it is correctable
		t.Error(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		h := []*cassidy.Host{first, second}[i%2]
		all.Go(func() {
			got, err := h.Resume(ctx, "s")
			if err == nil && got.Value != "A" || err != nil && !errors.Is(err, cassidy.ErrConflict) {
				t.Errorf("resumed: %v, %v", got.Value, err)
			}
		})
	}
	all.Wait()
	if err := second.Answer(ctx, question, cassidy.Answer{Value: "C"}); !errors.Is(err, cassidy.ErrConflict) {
		t.Errorf("an answer that comes too late gave %v", err)
	}
	for _, h := range []*cassidy.Host{first, second} {
		if got, err := callOf(t, h, "ask", cassidy.Durable("s")); got != "A" || err != nil {
			t.Errorf("the same call again gave %v, %v, want its result", got, err)
		}
	}
}

// TestSessionsOfOthers checks that the session of another tenant is a new one.
func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "store")
	for i, tenant := range []string{"ann", "bob", "ann"} {
		_, h := onStore(t, dir, tenant)
		a, err := agent.New(h, &agent.Options{Policy: "chat", Tools: []string{}, Model: script.New("m", true, func(_ context.Context, messages value.List, _ int) (value.Value, error) {
			return fmt.Sprintf("%v messages", len(messages)), nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.Session(ctx, "talk")
		if err != nil {
			t.Fatal(err)
		}
		if said := fmt.Sprint(s.Messages()); strings.Contains(said, "ann") != (i == 2) || strings.Contains(said, "bob") {
			t.Errorf("the session of %s holds %s", tenant, said)
		}
		if _, err := s.Send(ctx, "I am "+tenant); err != nil {
			t.Errorf("%s: Send gave %v", tenant, err)
		}
	}
}

// TestDueOfAllTenants checks that a runtime lists what is due of every tenant, and of no
// other runs, and when it cannot.
func TestDueOfAllTenants(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "store")
	due := func(r *cassidy.Runtime) (list []string) {
		for d, err := range r.Due(ctx) {
			if err != nil {
				t.Error(err)
			}
			list = append(list, d.Tenant+"/"+d.Run.ID)
		}
		return list
	}
	var r *cassidy.Runtime
	hosts := map[string]*cassidy.Host{}
	for _, tenant := range []string{"", "ann", "bob", "ann\x00"} {
		r, hosts[tenant] = onStore(t, dir, tenant)
		question := park(t, hosts[tenant], "answered")
		park(t, hosts[tenant], "waits")
		if tenant != "bob" {
			if err := hosts[tenant].Answer(ctx, question, cassidy.Answer{Value: "x"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, want := due(r), []string{"/answered", "ann/answered", "ann\x00/answered"}; !slices.Equal(got, want) {
		t.Errorf("due are %q, want %q", got, want)
	}
	for d, err := range r.Due(ctx) { // a loop may resume what it gets
		if err == nil {
			_, err = hosts[d.Tenant].Resume(ctx, d.Run.ID)
		}
		if err != nil {
			t.Errorf("%q of %q: %v", d.Run.ID, d.Tenant, err)
		}
	}
	if got := due(r); len(got) > 0 {
		t.Errorf("after all were resumed, due are %q", got)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	closed := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: journal.Memory()})
	if err := closed.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		r    *cassidy.Runtime
		ctx  context.Context
		want error
	}{
		{r, ended, cassidy.ErrCanceled}, {closed, ctx, cassidy.ErrClosed}, {new(cassidy.Runtime), ctx, cassidy.ErrInvalid},
		{newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline}), ctx, cassidy.ErrInvalid},
	} {
		n := 0
		for _, err := range c.r.Due(c.ctx) {
			if n++; !errors.Is(err, c.want) || n > 1 {
				t.Errorf("Due gave %v, want %v once", err, c.want)
			}
		}
		if n == 0 {
			t.Errorf("Due gave nothing, want %v", c.want)
		}
	}
}
