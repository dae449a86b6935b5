package cassidy

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/internal/watch"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// watch refreshes the host when its files change, and reports what is wrong then.
func (f *finder) watch(h *host.Host, report func([]*Error)) {
	f.watching.Lock()
	defer f.watching.Unlock()
	if f.closed {
		return
	}
	w := &watching{finder: f, host: h, report: report}
	f.stop = watch.Start(&watch.Options{
		Paths:   project.Watched(f.src.Load().Folder(), &f.opts),
		Changed: w.refresh,
		Failed:  func(err error) { report([]*Error{value.ErrorOf(err, value.Limit)}) },
	})
}

// unwatch ends the watcher, and waits for a report in progress.
func (f *finder) unwatch() {
	f.watching.Lock()
	f.closed = true
	stop := f.stop
	f.watching.Unlock()
	if stop != nil {
		stop()
	}
}

// A watching is what a host has reported of its files.
type watching struct {
	finder *finder
	host   *host.Host
	report func([]*Error)
	began  bool
	news   watch.News
}

// refresh refreshes the host, and reports what is wrong that was not wrong before.
func (w *watching) refresh(ctx context.Context) {
	if !w.began { // what is wrong at first can be seen in the lists of the host
		w.began = true
		w.news.Of(wrongTools(w.host))
	}
	err := w.host.Refresh(ctx)
	if ctx.Err() != nil || value.KindOf(err) == value.Closed {
		return
	}
	wrong := slices.Concat(wrongTools(w.host), w.finder.wrongTexts(), w.finder.restarts())
	if err != nil {
		wrong = append(wrong, value.ErrorOf(err, value.Failed))
	}
	w.report(w.news.Of(wrong))
}

// wrongTools returns the errors of the files of tools, and of tools that nobody has reviewed.
func wrongTools(h *host.Host) []*Error {
	wrong := h.Broken()
	heads := h.List()
	for i := range heads {
		if t := &heads[i]; t.State == toolset.Untrusted {
			e := *value.ErrorOf(trust.Untrusted("the tool '"+t.Name+"'", t.Reason), value.Denied)
			e.Pos.File = t.Path
			wrong = append(wrong, &e)
		}
	}
	return wrong
}

// wrongTexts returns the errors of skills and agent files.
func (f *finder) wrongTexts() []*Error {
	src := *f.src.Load()
	root, scope := f.root(src), &f.options(src).Scope
	_, skills := skill.List(root, scope)
	_, agents := project.Agents(root, scope)
	return slices.Concat(skills, agents)
}
