// Package journal stores the records of runs: opaque frames, columns to find runs by, an inbox for each run, large values and leases.
//
// A [Store] is where package history keeps what runs did. It interprets
// nothing: frames, heads and message bodies are bytes that history seals with
// checksums. [Memory] keeps them in this process; package sqlite keeps them in
// a folder that many processes may share. Every store passes the suite of
// package journaltest.
package journal

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// A Store keeps the records of runs. Its methods are safe for concurrent use,
// and copy what they are given and what they return. Their errors are of type
// [value.Error]: of kind NotFound for a run that does not exist, Conflict where
// another process was first, Invalid for arguments that no store accepts, Limit
// (disk) where there is no space, Failed where what is stored is damaged,
// Canceled or Timeout where the context ended first, Closed after Close, and
// Unavailable for any other failure. Bytes of length 0 may be read as nil.
type Store interface {
	// Commit carries out writes in one transaction, in order. When it returns
	// nil, all of them are durable; else none was carried out. It sets Write.Num
	// of new runs. The context is observed only until the transaction begins.
	Commit(ctx context.Context, writes []*Write) error
	// Find returns the row of a run. The row's First and Last are not set. Where
	// only a part of the row can be read, that part, with its Num, comes with an
	// error of kind Failed.
	Find(ctx context.Context, tenant, id string) (Row, error)
	// List yields the rows that a filter selects, the newest run first, all as of
	// one moment. Where a part cannot be read, it yields what can be read and an
	// error last. A row whose columns are lost has no Kind; it is yielded only
	// where the filter has no Project, Kind or States.
	List(ctx context.Context, f Filter) iter.Seq2[Row, error]
	// Tenants returns the tenants that have runs in one of some states, in the order of
	// their bytes; without states, those that have any run. Where a part cannot be read,
	// those that can come with an error.
	Tenants(ctx context.Context, states ...State) ([]string, error)
	// Load returns everything that is stored of a run, as of one moment. Where a
	// part cannot be read, it returns what can be read together with an error of
	// kind Failed; a run that does not exist is NotFound.
	Load(ctx context.Context, num int64) (Stored, error)
	// Delete removes a run with its frames and its inbox. A run that does not
	// exist is no error. Delete does not look at leases.
	Delete(ctx context.Context, num int64) error

	// Send appends a message to the inbox of a run and returns its sequence
	// number, which is greater than that of every message before it in that
	// inbox. The Seq of m is ignored. The message is durable when Send returns. A
	// message whose kind and key were taken is refused with Conflict.
	Send(ctx context.Context, num int64, m Message) (int64, error)
	// Take returns the last message of a kind and key and closes them for
	// further messages: no correction can be lost between reading a message and
	// acting on it. Taking the same again returns the same message. ok is false,
	// and nothing is closed, where there is no such message.
	Take(ctx context.Context, num int64, kind, key string) (m Message, ok bool, err error)
	// Inbox returns the messages of a run after a sequence number, in order.
	// Sequence numbers may have gaps.
	Inbox(ctx context.Context, num, after int64) ([]Message, error)

	// PutBlob stores data under a name, which must be its SHA-256 in lower-case
	// hexadecimal. It is durable when PutBlob returns. Storing it again makes it
	// young again, see SweepBlobs.
	PutBlob(ctx context.Context, name string, data []byte) error
	// Blob returns a blob of a known size. One that is missing, has another size
	// or another content is an error of kind Failed that names the reason.
	Blob(ctx context.Context, name string, size int64) ([]byte, error)
	// SweepBlobs removes the blobs that were not stored since a time and that
	// named does not report. named is called at most once, after the store has
	// looked for old blobs and only if it found any; its error ends the sweep
	// and removes nothing.
	SweepBlobs(ctx context.Context, before time.Time, named func() (map[string]bool, error)) error
	// EachFrame calls do with each frame of each run of every tenant, by num and
	// seq, until do returns an error, which it returns.
	EachFrame(ctx context.Context, do func(num, seq int64, frame []byte) error) error

	// Acquire takes the lease of a run for this process, also of one that is not
	// stored yet. It fails with Conflict while anybody holds it, in this process
	// too.
	Acquire(ctx context.Context, tenant, id string) (Lease, error)
	// Held reports whether anybody holds the lease of a run.
	Held(ctx context.Context, tenant, id string) bool

	// Close releases what the store holds. Leases that are still held end.
	// Closing it again does nothing.
	Close() error
}

// A Lease is the exclusive right to execute a run. Its methods are safe for
// concurrent use.
type Lease interface {
	// Renew extends the lease. It fails with Conflict where the lease was lost:
	// it was released, ran out, or was removed by force.
	Renew(ctx context.Context) error
	// Release gives the lease up. Releasing it again does nothing.
	Release() error
}

// A Row is what can be known of a run without reading its record.
type Row struct {
	Num        int64  // of the run in its store, from 1; never used again
	Tenant     string // whose run it is; "" is a tenant like any other
	ID         string // unique within its tenant, see ValidID
	Project    string // the folder that it works on, or ""
	Kind       string // what it executes: tool, task, chat, run, undo
	Parent     string // the ID of the run that started it, or ""
	ForkedFrom string // the ID of the run whose record it continues, or ""
	Session    string // the ID of the session that it is a turn of, or ""
	Nonce      string // random, part of its idempotency keys

	State   State
	Wake    time.Time // when a parked run continues by itself; zero means never
	Updated time.Time // when its state was last set; both in UTC, to the microsecond

	Head        []byte // how far its record has come, sealed by history
	First, Last []byte // the first and the last of its frames; set by List alone
}

// A Stored is everything that is stored of a run.
type Stored struct {
	Row    Row
	Frames [][]byte // in order
	Inbox  []Message
}

// A Write changes what is stored of one run. It fails with NotFound where the
// run does not exist.
type Write struct {
	Num int64 // the run; 0 adds New, and Commit sets it
	New *Row  // the run to add, but for Num, First and Last; Conflict where its tenant has a run of that ID

	Frames []Frame   // to append; Conflict where one of that number exists
	Head   []byte    // nil leaves it as it is
	Set    *Standing // nil leaves it as it is
}

// A Frame is one piece of the record of a run.
type Frame struct {
	Seq  int64 // its place among the frames of the run, from 0 to [MaxSeq]
	Body []byte
}

// A Standing is how a run stands from now on.
type Standing struct {
	State   State
	Wake    time.Time
	Updated time.Time
}

// A Message is something that was sent to a run by whoever does not execute it.
type Message struct {
	Seq  int64  // its number in the inbox of the run, from 1
	Kind string // answer, signal or cancel
	Key  string // which question or signal, or ""
	Body []byte
}

// A Filter selects runs. The zero Filter selects all runs of the tenant "".
type Filter struct {
	Tenant  string
	Project string  // those of this project; "" selects any
	Kind    string  // those of this kind; "" selects any
	Session string  // the turns of this session; "" selects any
	States  []State // those in one of these; none selects any
	Limit   int     // at most so many; 0 or less is any number
}

// Selects reports whether a filter selects a row. Limit is ignored.
func (f *Filter) Selects(r *Row) bool {
	return f.Tenant == r.Tenant && (f.Project == "" || f.Project == r.Project) &&
		(f.Kind == "" || f.Kind == r.Kind) && (f.Session == "" || f.Session == r.Session) && (len(f.States) == 0 || slices.Contains(f.States, r.State))
}

// A State is how far a run has come.
type State uint8

const (
	Running   State = iota // a process executes it, or did when it ended
	Parked                 // it waits for an answer or a time, in no process
	Done                   // it returned a result
	Failed                 // it ended with an error
	Cancelled              // somebody cancelled it
)

// String returns the state's name: running, parked, done, failed or cancelled.
func (s State) String() string {
	names := [...]string{"running", "parked", "done", "failed", "cancelled"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Ended reports whether a run in this state cannot be resumed.
func (s State) Ended() bool { return s >= Done }
