package temporal

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Find implements [journal.Store].
func (s *Store) Find(ctx context.Context, tenant, id string) (journal.Row, error) {
	n := name{tenant, id}
	r := s.of(n, 0)
	r.mu.Lock()
	staged, executes := r.staged, r.owner != nil
	r.mu.Unlock()
	switch {
	case staged != nil:
		return staged.record.Row, nil
	case executes: // it is not deleted meanwhile
		return journal.Row{Num: r.num, Tenant: tenant, ID: id}, nil
	}
	row, err := s.row(ctx, n)
	if err == nil {
		s.of(n, row.Num)
	}
	return row, err
}

// row returns what lists have of a run, without its frames.
func (s *Store) row(ctx context.Context, n name) (journal.Row, error) {
	row, _, err := s.described(ctx, n)
	return row.Row, err
}

// described returns what lists have of a run, and whether its workflow has ended as it should.
func (s *Store) described(ctx context.Context, n name) (listed, bool, error) {
	d, err := s.client.DescribeWorkflowExecution(ctx, n.workflow(), "")
	if err != nil {
		return listed{}, false, failure(n, err)
	}
	l, err := s.listed(n, d.WorkflowExecutionInfo)
	return l, d.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, err
}

// listed reads the memo of a workflow.
func (s *Store) listed(n name, info *workflowpb.WorkflowExecutionInfo) (l listed, err error) {
	if err := s.converter.FromPayload(info.GetMemo().GetFields()[memoName], &l); err != nil {
		return l, value.Errorf(value.Failed, "read run '%s': it was not made by cassidy, or with another key: %w", value.Clean(n.id, 80), err)
	}
	if l.Row.Tenant != n.tenant || l.Row.ID != n.id || l.Row.Num <= 0 {
		return listed{}, value.Errorf(value.Failed, "read run '%s': its workflow has the record of another run", value.Clean(n.id, 80))
	}
	l.Row.Wake, l.Row.Updated = stamp(l.Row.Wake), journal.Time(l.Row.Updated)
	if ended := info.GetStatus(); ended != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && !l.Row.State.Ended() {
		l.Row.State, l.Row.Stuck = journal.Stuck, "its workflow is "+ended.String()
	}
	return l, nil
}

// stamp returns a time as stores return it.
func stamp(t time.Time) time.Time {
	if t.Unix() <= 0 {
		return time.Time{}
	}
	return journal.Time(t)
}

// Load implements [journal.Store].
func (s *Store) Load(ctx context.Context, num int64) (journal.Stored, error) {
	r, err := s.byNum(num)
	if err != nil {
		return journal.Stored{}, err
	}
	r.mu.Lock()
	if st := r.staged; st != nil {
		defer r.mu.Unlock()
		return journal.Stored{Row: st.record.Row, Frames: frames(slices.Clone(st.stream))}, nil
	}
	r.mu.Unlock()
	rec, stream, err := s.read(ctx, r.name, true)
	if err != nil && value.KindOf(err) != value.Failed {
		return journal.Stored{}, err
	}
	return journal.Stored{Row: rec.Row, Frames: frames(stream), Inbox: rec.Inbox}, err
}

// load reads a run, and keeps its inbox.
func (s *Store) load(ctx context.Context, n name, framed bool) (record, error) {
	rec, _, err := s.read(ctx, n, framed)
	return rec, err
}

// queryTime is how long a query may take: without a worker it has no answer.
const queryTime = 3 * time.Second

// read reads a run: its workflow is queried, and if no worker answers, or it has ended, its history has the record.
func (s *Store) read(ctx context.Context, n name, framed bool) (record, []byte, error) {
	row, completed, err := s.described(ctx, n)
	if err != nil {
		return record{}, nil, err
	}
	ask := func(from int64) (v view, err error) {
		if completed {
			err = s.client.GetWorkflow(ctx, n.workflow(), "").Get(ctx, &v)
			return v, err
		}
		call, cancel := context.WithTimeout(ctx, queryTime)
		defer cancel()
		answer, err := s.client.QueryWorkflow(call, n.workflow(), "", loadName, from)
		if err == nil {
			return v, answer.Get(&v)
		}
		if ctx.Err() != nil {
			return v, ctx.Err()
		}
		return s.replayed(ctx, n)
	}
	rec, stream, err := s.assemble(ctx, n, framed, ask)
	if err != nil {
		return rec, stream, err
	}
	rec.Row.Wake, rec.Row.Updated = stamp(rec.Row.Wake), journal.Time(rec.Row.Updated)
	if row.Row.State == journal.Stuck { // the workflow may be gone
		rec.Row.State, rec.Row.Stuck = row.Row.State, row.Row.Stuck
	}
	r := s.of(n, rec.Row.Num)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inbox, r.polled = rec.Inbox, time.Now()
	return rec, stream, nil
}

// assemble asks for a record, and if framed, for all of its stream. It keeps the stream of the run that was read last, so that one
// that is watched is read once.
func (s *Store) assemble(ctx context.Context, n name, framed bool, ask func(from int64) (view, error)) (record, []byte, error) {
	if !framed {
		v, err := ask(-1)
		return v.Record, nil, failure(n, err)
	}
	s.mu.Lock()
	var stream []byte
	if s.stream == n {
		stream = s.known
	}
	s.mu.Unlock()
	for {
		from := int64(len(stream))
		v, err := ask(from)
		if err != nil {
			return v.Record, nil, failure(n, err)
		}
		whole, err := s.join(ctx, &stream, &v)
		switch {
		case err != nil:
			return v.Record, stream, err
		case whole:
			s.mu.Lock()
			s.stream, s.known = n, stream[:len(stream):len(stream)]
			s.mu.Unlock()
			return v.Record, stream, nil
		case int64(len(stream)) == from:
			return v.Record, stream, journal.ErrBlob("of run "+n.id, "is incomplete")
		}
	}
}

// join adds to the stream what a view has after it, and reports whether that is all.
func (s *Store) join(ctx context.Context, stream *[]byte, v *view) (whole bool, err error) {
	pos, data := int64(0), v.Data
	for _, seg := range v.Record.Segments {
		end := pos + seg.Size
		if seg.Blob != "" {
			if have := int64(len(*stream)); have < end {
				blob, err := s.blobs.Get(ctx, seg.Blob, seg.Size)
				if err != nil {
					return false, err
				}
				*stream = append(*stream, blob[have-pos:]...)
			}
		} else {
			start := max(pos, v.From)
			n := min(max(0, end-start), int64(len(data)))
			known := min(max(0, int64(len(*stream))-start), n)
			*stream, data = append(*stream, data[known:n]...), data[n:]
			if int64(len(*stream)) < end {
				return false, nil
			}
		}
		pos = end
	}
	return true, nil
}

// replayed reads a record from the history of its workflow, as no worker can tell.
func (s *Store) replayed(ctx context.Context, n name) (view, error) {
	var rec record
	decode := func(p *commonpb.Payloads, into ...any) error { return s.converter.FromPayloads(p, into...) }
	events := s.client.GetWorkflowHistory(ctx, n.workflow(), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return view{}, err
		}
		if begun := e.GetWorkflowExecutionStartedEventAttributes(); begun != nil {
			if err := decode(begun.Input, &rec, &rec.data); err != nil {
				return view{}, err
			}
		}
		if signal := e.GetWorkflowExecutionSignaledEventAttributes(); signal.GetSignalName() == sendName {
			var l letter
			if err := decode(signal.Input, &l); err == nil && rec.refusesLetter(n.workflow(), &l) == "" {
				rec.deliver(&l)
			}
		}
		request := e.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest()
		switch request.GetInput().GetName() {
		case commitName:
			var c commit
			var data []byte
			if err := decode(request.Input.Args, &c, &data); err != nil {
				return view{}, err
			}
			rec.apply(&c, data)
		case sendName, takeName:
			var l letter
			if err := decode(request.Input.Args, &l); err != nil {
				return view{}, err
			}
			if request.Input.Name == takeName {
				rec.take(l.Message)
			} else {
				rec.deliver(&l)
			}
		}
	}
	v := rec.view(0)
	v.Data = rec.data
	return v, nil
}

// pageSize is how many runs one request lists.
const pageSize = 1000

// rows yields the runs of a tenant, or of all tenants for nil, in any order.
func (s *Store) rows(ctx context.Context, tenant *string) iter.Seq2[listed, error] {
	query := "WorkflowType = '" + flowName + "' AND ExecutionStatus != 'ContinuedAsNew'"
	if tenant != nil {
		query += " AND WorkflowId STARTS_WITH '" + name{*tenant, ""}.workflow() + "'"
	}
	return func(yield func(listed, error) bool) {
		for next := []byte(nil); ; {
			page, err := s.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: pageSize, NextPageToken: next})
			if err != nil {
				yield(listed{}, failure(name{}, err))
				return
			}
			for _, info := range page.Executions {
				n, ours := nameOf(info.Execution.WorkflowId)
				if !ours || tenant != nil && n.tenant != *tenant {
					continue
				}
				l, err := s.listed(n, info)
				if err != nil { // a stranger's workflow, or one of another key: it is no run of this store
					continue
				}
				if !yield(l, nil) {
					return
				}
			}
			if next = page.NextPageToken; len(next) == 0 {
				return
			}
		}
	}
}

// List implements [journal.Store].
func (s *Store) List(ctx context.Context, f journal.Filter) iter.Seq2[journal.Row, error] {
	return func(yield func(journal.Row, error) bool) {
		var all []listed
		var failed error
		for l, err := range s.rows(ctx, &f.Tenant) {
			if failed = err; err != nil {
				break
			}
			if f.Selects(&l.Row) && (f.Due.IsZero() || !l.Row.Wake.IsZero() && !l.Row.Wake.After(f.Due)) {
				all = append(all, l)
			}
		}
		slices.SortFunc(all, func(a, b listed) int { return cmp.Compare(b.Row.Num, a.Row.Num) })
		if f.Limit > 0 {
			all = all[:min(f.Limit, len(all))]
		}
		for i := range all {
			l := &all[i]
			var err error
			if l.Row.First, err = s.frameAt(l.First); err == nil {
				l.Row.Last, err = s.frameAt(l.Last)
			}
			failed = cmp.Or(failed, err)
			s.of(name{l.Row.Tenant, l.Row.ID}, l.Row.Num)
			if !yield(l.Row, nil) {
				return
			}
		}
		if failed != nil {
			yield(journal.Row{}, failed)
		}
	}
}

// Count implements [journal.Store].
func (s *Store) Count(ctx context.Context, f journal.Filter) (map[journal.State]int, error) {
	counts := map[journal.State]int{}
	for l, err := range s.rows(ctx, &f.Tenant) {
		if err != nil {
			return nil, err
		}
		if f.Selects(&l.Row) {
			counts[l.Row.State]++
		}
	}
	return counts, nil
}

// Tenants implements [journal.Store].
func (s *Store) Tenants(ctx context.Context, states ...journal.State) (list []string, err error) {
	for l, e := range s.rows(ctx, nil) {
		if e != nil {
			err = e
			break
		}
		if len(states) == 0 || slices.Contains(states, l.Row.State) {
			list = append(list, l.Row.Tenant)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), err
}

// EachFrame implements [journal.Store].
func (s *Store) EachFrame(ctx context.Context, do func(num, seq int64, frame []byte) error) error {
	var all []listed
	for l, err := range s.rows(ctx, nil) {
		if err != nil {
			return err
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b listed) int { return cmp.Compare(a.Row.Num, b.Row.Num) })
	for i := range all {
		row := &all[i].Row
		_, stream, err := s.read(ctx, name{row.Tenant, row.ID}, true)
		if value.KindOf(err) == value.NotFound && err != nil { // it was deleted meanwhile
			continue
		}
		if err != nil {
			return err
		}
		for seq, frame := range frames(stream) {
			if err := do(row.Num, int64(seq), frame); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete implements [journal.Store]. Temporal removes the run from its lists a moment later.
func (s *Store) Delete(ctx context.Context, num int64) error {
	r, err := s.byNum(num)
	if err != nil {
		return nil
	}
	rec, err := s.load(ctx, r.name, false)
	if value.KindOf(err) == value.NotFound && err != nil {
		return nil
	}
	_, err = s.client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: s.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: r.workflow()},
	})
	if err := failure(r.name, err); err != nil && value.KindOf(err) != value.NotFound {
		return err
	}
	for _, seg := range rec.Segments {
		if seg.Blob != "" {
			_ = s.blobs.Delete(ctx, seg.Blob) // nobody finds it any more
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, r.num)
	delete(s.nums, r.name)
	return nil
}
