package servers

import (
	"reflect"
	"slices"
	"sync"

	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/internal/watch"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Attached are the servers whose tools a host has: those that are trusted, and whose tools the user has
// reviewed. It is safe for concurrent use.
type Attached struct {
	opts *Options
	host *host.Host

	mu     sync.Mutex // guards what follows
	now    []*one
	ending map[*attached.Server]struct{} // they end with the calls in progress
	news   watch.News
	began  bool
	closed bool
}

// One is a server that is attached.
type one struct {
	entry  Entry
	digest string // of its reviewed tools
	server *attached.Server
}

// Attach returns the servers of a host. [Attached.Update] attaches them.
func (o *Options) Attach(h *host.Host) *Attached {
	return &Attached{opts: o, host: h, ending: map[*attached.Server]struct{}{}}
}

// Update reads the files and the reviews again, and replaces the tools of the host in one step. A server
// whose entry and reviewed tools are the same is not restarted. One that is removed or changed ends after
// the calls in progress. A changed entry is used only after it is trusted again.
//
// If a file cannot be read, or was changed and is not trusted yet, its entries stay as they were trusted;
// of a file that was changed, those that it still has. Update returns the errors that are new. It does
// nothing for a nil Attached.
func (a *Attached) Update() []*value.Error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	entries, wrong, untrusted := a.entries()
	before, names := a.now, map[string]bool{}
	a.now = nil
	for i := range entries {
		e := &entries[i]
		tools, ok := a.opts.Reviewed(e)
		key := tool.Key(e.Name)
		if !ok || names[key] {
			continue
		}
		names[key] = true
		next := &one{entry: *e, digest: tools.Digest()}
		if old := find(before, e); old != nil && old.digest == next.digest && reflect.DeepEqual(old.entry.Server, e.Server) {
			next.server = old.server
		} else {
			d := a.opts.Describe(&next.entry)
			d.Compared = func(changes string) { a.opts.compared(&next.entry, tools, changes) }
			next.server = attached.New(d, tools)
		}
		a.now = append(a.now, next)
	}
	wrong = append(wrong, a.exchange(before)...)
	if !a.began { // what is untrusted at first can be seen in the list of the servers
		a.began = true
		a.news.Of(slices.Clone(untrusted))
	}
	return a.news.Of(append(wrong, untrusted...))
}

// entries returns the entries that may be used now, and what is wrong.
func (a *Attached) entries() (entries []Entry, broken, untrusted []*value.Error) {
	l := mcpfile.List(a.opts.Root, a.opts.Scope)
	for _, one := range a.now {
		if slices.Contains(l.Unread, one.entry.Path) && a.stillTrusted(&one.entry) {
			entries = append(entries, one.entry)
		}
	}
	reported := map[string]bool{}
	for _, e := range a.opts.entriesOf(&l) {
		if e.Trusted {
			entries = append(entries, e)
			continue
		}
		if e.Program != "" && !reported[e.Name] {
			reported[e.Name] = true
			untrusted = append(untrusted, e.programError(e.Program, e.Reason))
		} else if !reported[e.Path] {
			reported[e.Path] = true
			err := *value.ErrorOf(trust.Untrusted("the list of servers "+e.Path, e.Reason), value.Denied)
			untrusted = append(untrusted, &err)
		}
		if old := find(a.now, &e); old != nil && reflect.DeepEqual(old.entry.Server, e.Server) && a.stillTrusted(&old.entry) {
			entries = append(entries, old.entry)
		}
	}
	return entries, l.Broken, untrusted
}

// stillTrusted reports whether the text from which an entry was read is still trusted: the user has not
// revoked that.
func (a *Attached) stillTrusted(e *Entry) bool {
	if file, _ := a.opts.unreviewed(e); file != "" {
		if r, known := a.opts.Scope.Ledger(a.opts.Root).Record(file); !known || r.Revoked {
			return false
		}
	}
	return mcpfile.StatusOf(a.opts.Scope, a.opts.Root, e.Location, e.Hash).Trusted
}

// find returns the server of an entry by its name and its place, or nil.
func find(list []*one, e *Entry) *one {
	i := slices.IndexFunc(list, func(o *one) bool { return o.entry.Name == e.Name && o.entry.Location == e.Location })
	if i < 0 {
		return nil
	}
	return list[i]
}

// exchange gives the host the tools of the servers, in place of those before.
func (a *Attached) exchange(before []*one) []*value.Error {
	serverOf := func(o *one) *attached.Server { return o.server }
	to := value.Map(a.now, serverOf)
	from := slices.DeleteFunc(value.Map(before, serverOf), func(s *attached.Server) bool { return slices.Contains(to, s) })
	broken := attached.Exchange(a.host, from, to)
	for _, s := range from {
		a.ending[s] = struct{}{}
		go func() { // ends with the last call
			s.Wait()
			a.mu.Lock()
			defer a.mu.Unlock()
			delete(a.ending, s)
		}()
	}
	return slices.DeleteFunc(broken, func(e *value.Error) bool { return e.Kind == value.Closed }) // the command ends
}

// Close ends the servers. Call it after the host was closed.
func (a *Attached) Close() {
	a.mu.Lock()
	a.closed = true
	all := value.Map(a.now, func(o *one) *attached.Server { return o.server })
	for s := range a.ending {
		all = append(all, s)
	}
	a.mu.Unlock()
	for _, s := range all {
		_ = s.Close() // always nil
	}
}
