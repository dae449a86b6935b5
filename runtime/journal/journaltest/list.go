package journaltest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func (s *suite) testList(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	if got := ids(t, a, journal.Filter{}); got != "" {
		t.Errorf("a new store lists %q", got)
	}
	for i, r := range []journal.Row{
		{ID: "z", Kind: "task", Project: "/p", State: journal.Running},
		{ID: "y", Kind: "chat", Project: "/p", Session: "s", State: journal.Parked},
		{ID: "x", Kind: "task", Project: "/q", State: journal.Done},
		{ID: "other", Tenant: "t", Kind: "task", Project: "/p", Session: "s", State: journal.Running},
		{ID: "w", Kind: "task", Project: "", State: journal.Failed},
		{ID: "v", Kind: "chat", Project: "/p", Session: "s", State: journal.Running},
	} {
		r.Nonce = fmt.Sprint(i)
		add(t, a, &r)
	}
	y, err := a.Find(ctx, "", "y")
	check(t, err)
	check(t, a.Commit(ctx, []*journal.Write{{Num: y.Num, Set: &journal.Standing{State: journal.Cancelled, Updated: moment()}}}))
	for _, c := range []struct {
		filter journal.Filter
		want   string
	}{
		{journal.Filter{}, "v w x y z"},
		{journal.Filter{States: []journal.State{}}, "v w x y z"},
		{journal.Filter{Limit: 2}, "v w"},
		{journal.Filter{Limit: 100}, "v w x y z"},
		{journal.Filter{Limit: -1}, "v w x y z"},
		{journal.Filter{Tenant: "t"}, "other"},
		{journal.Filter{Tenant: "nobody"}, ""},
		{journal.Filter{Project: "/p"}, "v y z"},
		{journal.Filter{Project: "/P"}, ""},
		{journal.Filter{Kind: "task"}, "w x z"},
		{journal.Filter{Kind: "task", Project: "/p"}, "z"},
		{journal.Filter{States: []journal.State{journal.Running}}, "v z"},
		{journal.Filter{States: []journal.State{journal.Parked}}, ""},
		{journal.Filter{States: []journal.State{journal.Cancelled, journal.Running, journal.Running}}, "v y z"},
		{journal.Filter{States: []journal.State{journal.Cancelled, journal.Running}, Limit: 2}, "v y"},
		{journal.Filter{States: []journal.State{journal.Running}, Kind: "chat", Project: "/p", Limit: 1}, "v"},
		{journal.Filter{States: []journal.State{99}}, ""},
		{journal.Filter{Session: "s"}, "v y"},
		{journal.Filter{Session: "s", Limit: 1}, "v"},
		{journal.Filter{Session: "s", States: []journal.State{journal.Cancelled}}, "y"},
		{journal.Filter{Session: "S"}, ""},
		{journal.Filter{Prefix: "v"}, "v"},
		{journal.Filter{Prefix: "v", Kind: "task"}, ""},
		{journal.Filter{Prefix: "vv"}, ""},
		{journal.Filter{Prefix: "V"}, ""},
		{journal.Filter{Prefix: "%"}, ""},
		{journal.Filter{Prefix: "o", Tenant: "t"}, "other"},
		{journal.Filter{Prefix: "othe", Tenant: "t", States: []journal.State{journal.Running, journal.Parked}}, "other"},
		{journal.Filter{Session: "s", Tenant: "t"}, "other"},
		{journal.Filter{Before: y.Num}, "z"},
		{journal.Filter{Before: y.Num + 1, Kind: "chat"}, "y"},
		{journal.Filter{Before: 1 << 40, Limit: 1}, "v"},
	} {
		if got := ids(t, b, c.filter); got != c.want {
			t.Errorf("List(%+v) = %q, want %q", c.filter, got, c.want)
		}
	}
}

// testDue checks which parked runs are selected as due, and that all are counted.
func (s *suite) testDue(t *testing.T) {
	ctx, now := context.Background(), moment()
	a, b := s.both(t)
	nums := map[string]int64{}
	for id, wake := range map[string]time.Time{"never": {}, "past": now.Add(-time.Second), "now": now, "later": now.Add(time.Second), "told": {}, "took": {}, "more": {}} {
		r := row("", id)
		r.State, r.Wake, r.Updated = journal.Parked, wake, now
		nums[id] = add(t, a, r)
	}
	running := row("", "running")
	running.State = journal.Running
	add(t, a, running)
	send := func(id, key string) {
		_, err := a.Send(ctx, nums[id], journal.Message{Kind: "answer", Key: key})
		check(t, err)
	}
	take := func(id, key string) {
		_, _, err := a.Take(ctx, nums[id], "answer", key)
		check(t, err)
	}
	send("told", "1")
	send("told", "1") // a correction
	send("took", "1")
	take("took", "1")
	send("more", "1")
	take("more", "1")
	send("more", "2")
	for _, c := range []struct {
		filter journal.Filter
		want   []string
	}{
		{journal.Filter{Due: now, States: []journal.State{journal.Parked}}, []string{"more", "now", "past", "told"}},
		{journal.Filter{Due: now}, []string{"more", "now", "past", "running", "told"}},
		{journal.Filter{Due: now.Add(time.Second), States: []journal.State{journal.Parked}}, []string{"later", "more", "now", "past", "told"}},
		{journal.Filter{Due: now, Prefix: "n"}, []string{"now"}},
		{journal.Filter{Due: now, Tenant: "t"}, nil},
	} {
		got := strings.Fields(ids(t, b, c.filter))
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("List(%+v) = %q, want %q", c.filter, got, c.want)
		}
		n, err := b.Count(ctx, c.filter)
		check(t, err)
		if total := n[journal.Parked] + n[journal.Running]; total != len(c.want) || len(n) > 2 {
			t.Errorf("Count(%+v) = %v, want %d", c.filter, n, len(c.want))
		}
	}
	n, err := b.Count(ctx, journal.Filter{Limit: 1})
	if check(t, err); !maps.Equal(n, map[journal.State]int{journal.Parked: 7, journal.Running: 1}) {
		t.Errorf("Count = %v", n)
	}
}

// testListStop leaves a listing early, and uses the store in it.
func (s *suite) testListStop(t *testing.T) {
	ctx, st := context.Background(), s.open(t)
	for i := range 5 {
		add(t, st, row("", fmt.Sprint("r", i)))
	}
	n := 0
	for r, err := range st.List(ctx, journal.Filter{}) {
		check(t, err)
		check(t, st.Delete(ctx, r.Num))
		add(t, st, row("", fmt.Sprint("new", n)))
		if n++; n == 3 {
			break
		}
	}
	if got, want := ids(t, st, journal.Filter{}), "new2 new1 new0 r1 r0"; got != want {
		t.Errorf("the runs are %q, want %q", got, want)
	}
	var list []string
	for r, err := range st.List(ctx, journal.Filter{}) { // all as of one moment
		check(t, err)
		list = append(list, r.ID)
		check(t, st.Delete(ctx, r.Num-1))
	}
	if len(list) != 5 {
		t.Errorf("List yields %q, want the 5 runs that existed when it began", list)
	}
}

// testTenants checks that tenants do not see each other.
func (s *suite) testTenants(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	nums := map[string]int64{}
	for _, tenant := range hostile() {
		r := row(tenant, "r")
		r.Nonce = tenant
		nums[tenant] = add(t, a, r)
		wantKind(t, "a second run of the same ID", b.Commit(ctx, []*journal.Write{{New: row(tenant, "r")}}), value.Conflict)
	}
	add(t, a, row("a", "only"))
	for _, tenant := range hostile() {
		got, err := b.Find(ctx, tenant, "r")
		if err != nil || got.Num != nums[tenant] || got.Tenant != tenant || got.Nonce != tenant {
			t.Errorf("Find(%.20q) = %+v, %v, want run %d", tenant, got, err, nums[tenant])
		}
		if _, err := b.Find(ctx, tenant, "only"); tenant != "a" {
			wantKind(t, fmt.Sprintf("Find(%.20q) of another tenant's run", tenant), err, value.NotFound)
		}
		want := "r"
		if tenant == "a" {
			want = "only r"
		}
		if got := ids(t, b, journal.Filter{Tenant: tenant}); got != want {
			t.Errorf("List(%.20q) = %q, want %q", tenant, got, want)
		}
	}
	tenants := slices.Sorted(slices.Values(hostile()))
	got, err := b.Tenants(ctx)
	if check(t, err); !slices.Equal(got, tenants) {
		t.Errorf("Tenants() = %q, want %q", got, tenants)
	}
	wantTenants := func(what string, want []string, states ...journal.State) {
		t.Helper()
		got, err := b.Tenants(ctx, states...)
		if check(t, err); !slices.Equal(got, want) {
			t.Errorf("%s: Tenants(%v) = %q, want %q", what, states, got, want)
		}
	}
	begun := row("", "x").State
	wantTenants("the state of all", tenants, begun, journal.Failed, begun)
	wantTenants("no such state", nil, journal.Cancelled)
	check(t, a.Commit(ctx, []*journal.Write{{Num: nums["a"], Set: &journal.Standing{State: journal.Cancelled, Updated: moment()}}}))
	wantTenants("another state of one", []string{"a"}, journal.Cancelled, journal.Failed)
	wantTenants("of two runs one has", tenants, begun)
	check(t, a.Delete(ctx, nums["a"]))
	wantTenants("a deleted run", nil, journal.Cancelled)
	if got := ids(t, b, journal.Filter{}); got != "r" {
		t.Errorf("the deletion of another tenant's run left %q", got)
	}
}

// testHostileStrings stores unusual strings in every column.
func (s *suite) testHostileStrings(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	for i, text := range hostile() {
		r := &journal.Row{ID: fmt.Sprint("r", i), Project: text, Kind: text, Parent: text, ForkedFrom: text, Session: text, Nonce: text, Head: []byte(text)}
		r.Num = add(t, a, r)
		check(t, a.Commit(ctx, []*journal.Write{{Num: r.Num, Frames: []journal.Frame{frame(0, text)}}}))
		got, err := b.Find(ctx, "", r.ID)
		check(t, err)
		if !same(got, *r) {
			t.Errorf("%.20q: Find = %.200q", text, fmt.Sprint(got))
		}
		if got := ids(t, b, journal.Filter{Project: text, Kind: text, Session: text}); text != "" && got != r.ID {
			t.Errorf("List of project and kind %.20q = %q, want %q", text, got, r.ID)
		}
		m := journal.Message{Kind: text, Key: text, Body: []byte(text)}
		if m.Seq, err = a.Send(ctx, r.Num, m); err != nil {
			t.Errorf("Send(%.20q) = %v", text, err)
		}
		for _, other := range hostile() {
			got, ok, err := b.Take(ctx, r.Num, other, text)
			check(t, err)
			if ok != (other == text) || ok && (got.Kind != text || got.Key != text || string(got.Body) != text || got.Seq != m.Seq) {
				t.Errorf("Take(%.20q, %.20q) = %v, %.100q", other, text, ok, fmt.Sprint(got))
			}
		}
		list, err := b.Inbox(ctx, r.Num, 0)
		if err != nil || len(list) != 1 || list[0].Kind != text || list[0].Key != text {
			t.Errorf("%.20q: Inbox = %d messages, %v", text, len(list), err)
		}
	}
}
