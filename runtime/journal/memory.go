package journal

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Memory returns a store in this process, for tests and for runs that are not resumed
// later. Its leases apply only to users of the same store.
func Memory() Store {
	return &memory{
		runs:   map[int64]*memoryRun{},
		nums:   map[name]int64{},
		blobs:  map[string]memoryBlob{},
		leases: map[name]*memoryLease{},
	}
}

// A name identifies a run.
type name struct{ tenant, id string }

type memory struct {
	mu     sync.Mutex
	closed bool
	last   int64 // the largest number of any run
	runs   map[int64]*memoryRun
	nums   map[name]int64
	blobs  map[string]memoryBlob
	leases map[name]*memoryLease
}

type memoryRun struct {
	row    Row     // without First and Last
	frames []Frame // by Seq
	inbox  []Message
	taken  map[slot]Message
	seq    int64 // of the last message
}

// A slot is the kind and key of messages.
type slot struct{ kind, key string }

// enter locks the store for a call, unless the call must fail.
func (s *memory) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return value.AsError(err, value.Canceled)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed()
	}
	return nil
}

// run is enter for a call on one run.
func (s *memory) run(ctx context.Context, num int64) (*memoryRun, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	r := s.runs[num]
	if r == nil {
		s.mu.Unlock()
		return nil, ErrNumNotFound(num)
	}
	return r, nil
}

func (s *memory) Commit(ctx context.Context, writes []*Write) error {
	for _, w := range writes {
		if err := w.Check(); err != nil {
			return err
		}
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	var undo []func()
	nums := make([]int64, len(writes))
	for i, w := range writes {
		num, back, err := s.write(w)
		undo = append(undo, back...)
		if err != nil {
			for _, u := range slices.Backward(undo) {
				u()
			}
			return err
		}
		nums[i] = num
	}
	for i, w := range writes {
		w.Num = nums[i]
	}
	return nil
}

// write executes one write and returns the number of the run. undo reverts its changes,
// also if it failed.
func (s *memory) write(w *Write) (num int64, undo []func(), err error) {
	num = w.Num
	if w.New != nil {
		n := name{w.New.Tenant, w.New.ID}
		if s.nums[n] != 0 {
			return 0, nil, ErrExists(n.id)
		}
		s.last++
		num = s.last
		row := *w.New
		row.Num, row.Head, row.First, row.Last = num, bytes.Clone(row.Head), nil, nil
		row.Wake, row.Updated = Time(row.Wake), Time(row.Updated)
		s.runs[num] = &memoryRun{row: row, taken: map[slot]Message{}}
		s.nums[n] = num
		undo = append(undo, func() { delete(s.runs, num); delete(s.nums, n) })
	}
	r := s.runs[num]
	if r == nil {
		return 0, undo, ErrNumNotFound(num)
	}
	was, frames := r.row, r.frames
	undo = append(undo, func() { r.row, r.frames = was, frames })
	for _, f := range w.Frames {
		if !r.add(f) {
			return 0, undo, ErrWritten(r.row.ID)
		}
	}
	if w.Head != nil {
		r.row.Head = bytes.Clone(w.Head)
	}
	if w.Set != nil {
		r.row.State, r.row.Wake, r.row.Updated, r.row.Stuck = w.Set.State, Time(w.Set.Wake), Time(w.Set.Updated), w.Set.Stuck
	}
	return num, undo, nil
}

// add adds a frame, unless its number exists.
func (r *memoryRun) add(f Frame) bool {
	f.Body = bytes.Clone(f.Body)
	i, found := slices.BinarySearchFunc(r.frames, f.Seq, func(f Frame, seq int64) int { return cmp.Compare(f.Seq, seq) })
	switch {
	case found:
		return false
	case i == len(r.frames): // after an undo the shorter slice is unchanged
		r.frames = append(r.frames, f)
	default:
		r.frames = slices.Insert(slices.Clone(r.frames), i, f)
	}
	return true
}

func (s *memory) Find(ctx context.Context, tenant, id string) (Row, error) {
	if err := s.enter(ctx); err != nil {
		return Row{}, err
	}
	defer s.mu.Unlock()
	r := s.runs[s.nums[name{tenant, id}]]
	if r == nil {
		return Row{}, ErrNotFound(id)
	}
	return r.copyRow(), nil
}

func (r *memoryRun) copyRow() Row {
	row := r.row
	row.Head = bytes.Clone(row.Head)
	return row
}

func (s *memory) List(ctx context.Context, f Filter) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		rows, err := s.list(ctx, f)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for _, row := range rows {
			if err := ctx.Err(); err != nil {
				yield(Row{}, value.AsError(err, value.Canceled))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (s *memory) Count(ctx context.Context, f Filter) (map[State]int, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	n := map[State]int{}
	for _, r := range s.runs {
		if f.Selects(&r.row) && r.mayBeDue(&f) {
			n[r.row.State]++
		}
	}
	return n, nil
}

// mayBeDue reports whether Filter.Due selects the run.
func (r *memoryRun) mayBeDue(f *Filter) bool {
	if f.Due.IsZero() || r.row.State != Parked || !r.row.Wake.IsZero() && !r.row.Wake.After(f.Due) {
		return true
	}
	return slices.ContainsFunc(r.inbox, func(m Message) bool {
		_, taken := r.taken[slot{m.Kind, m.Key}]
		return !taken
	})
}

func (s *memory) Tenants(ctx context.Context, states ...State) ([]string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	tenants := map[string]bool{}
	for _, r := range s.runs {
		if len(states) == 0 || slices.Contains(states, r.row.State) {
			tenants[r.row.Tenant] = true
		}
	}
	return slices.Sorted(maps.Keys(tenants)), nil
}

func (s *memory) list(ctx context.Context, f Filter) ([]Row, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var rows []Row
	for _, num := range slices.Backward(slices.Sorted(maps.Keys(s.runs))) {
		r := s.runs[num]
		if !f.Selects(&r.row) || !r.mayBeDue(&f) {
			continue
		}
		row := r.copyRow()
		if n := len(r.frames); n > 0 {
			row.First, row.Last = bytes.Clone(r.frames[0].Body), bytes.Clone(r.frames[n-1].Body)
		}
		if rows = append(rows, row); len(rows) == f.Limit {
			break
		}
	}
	return rows, nil
}

func (s *memory) Load(ctx context.Context, num int64) (Stored, error) {
	r, err := s.run(ctx, num)
	if err != nil {
		return Stored{}, err
	}
	defer s.mu.Unlock()
	st := Stored{Row: r.copyRow(), Inbox: r.after(0)}
	for _, f := range r.frames {
		st.Frames = append(st.Frames, bytes.Clone(f.Body))
	}
	return st, nil
}

func (s *memory) Delete(ctx context.Context, num int64) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if r := s.runs[num]; r != nil {
		delete(s.nums, name{r.row.Tenant, r.row.ID})
		delete(s.runs, num)
	}
	return nil
}

func (s *memory) Send(ctx context.Context, num int64, m Message) (int64, error) {
	r, err := s.run(ctx, num)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if _, taken := r.taken[slot{m.Kind, m.Key}]; taken {
		return 0, ErrTaken(m)
	}
	r.seq++
	m.Seq, m.Body = r.seq, bytes.Clone(m.Body)
	r.inbox = append(r.inbox, m)
	return m.Seq, nil
}

func (s *memory) Take(ctx context.Context, num int64, kind, key string) (m Message, ok bool, err error) {
	r, err := s.run(ctx, num)
	if err != nil {
		return Message{}, false, err
	}
	defer s.mu.Unlock()
	at := slot{kind, key}
	m, ok = r.taken[at]
	for i := len(r.inbox) - 1; i >= 0 && !ok; i-- {
		m = r.inbox[i]
		ok = slot{m.Kind, m.Key} == at
	}
	if !ok {
		return Message{}, false, nil
	}
	r.taken[at] = m
	m.Body = bytes.Clone(m.Body)
	return m, true, nil
}

func (s *memory) Inbox(ctx context.Context, num, after int64) ([]Message, error) {
	r, err := s.run(ctx, num)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return r.after(after), nil
}

// after returns copies of the messages after a sequence number.
func (r *memoryRun) after(seq int64) (list []Message) {
	for _, m := range r.inbox {
		if m.Seq > seq {
			m.Body = bytes.Clone(m.Body)
			list = append(list, m)
		}
	}
	return list
}

func (s *memory) EachFrame(ctx context.Context, do func(num, seq int64, frame []byte) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	frames := map[int64][]Frame{} // stored frames are never changed, so they need no copy yet
	for num, r := range s.runs {
		frames[num] = r.frames
	}
	s.mu.Unlock()
	for _, num := range slices.Sorted(maps.Keys(frames)) {
		for _, f := range frames[num] {
			if err := ctx.Err(); err != nil {
				return value.AsError(err, value.Canceled)
			}
			if err := do(num, f.Seq, bytes.Clone(f.Body)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *memory) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.runs, s.nums, s.blobs, s.leases = nil, nil, nil, nil
	return nil
}
