// Package journal stores the records of runs: opaque frames, columns to find runs by, an
// inbox for each run, large values and leases.
//
// A [Store] is the storage of package history. It interprets nothing: frames, heads and
// message bodies are bytes that history seals with checksums. [Memory] keeps them in
// this process; package sqlite keeps them in a folder that several processes may share.
// Every store passes the suite of package journaltest.
package journal

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// A Store keeps the records of runs. Its methods are safe for concurrent use, and copy
// their arguments and results. Their errors are of type [value.Error]: of kind NotFound
// for a run that does not exist, Conflict if another process was first, Invalid for
// arguments that no store accepts, Limit (disk) if there is no space, Failed if stored
// data is damaged, Canceled or Timeout if the context ended first, Closed after Close,
// and Unavailable for any other failure. Bytes of length 0 may be read as nil.
type Store interface {
	// Commit executes writes in one transaction, in order. If it returns nil, all of
	// them are durable; otherwise none was executed. It sets Write.Num of new runs. The
	// context is observed only until the transaction begins.
	Commit(ctx context.Context, writes []*Write) error
	// Find returns the row of a run, without First and Last. If only a part of the row
	// can be read, that part, with its Num, comes with an error of kind Failed.
	Find(ctx context.Context, tenant, id string) (Row, error)
	// List yields the rows that a filter selects, the newest run first, all as of one
	// moment. If a part cannot be read, it yields what can be read and an error last. A
	// row whose columns are lost has no Kind; it is yielded only if the filter has no
	// Prefix, Project, Kind, Session or States.
	List(ctx context.Context, f Filter) iter.Seq2[Row, error]
	// Count returns how many runs a filter selects in each state, without Limit.
	Count(ctx context.Context, f Filter) (map[State]int, error)
	// Tenants returns the tenants that have runs in some states, in byte order; without
	// states, those that have any run. If a part cannot be read, the others come with
	// an error.
	Tenants(ctx context.Context, states ...State) ([]string, error)
	// Load returns all stored data of a run, as of one moment. If a part cannot be
	// read, it returns the rest together with an error of kind Failed; a run that does
	// not exist is NotFound.
	Load(ctx context.Context, num int64) (Stored, error)
	// Delete removes a run with its frames and its inbox, whether its lease is held or
	// not. A run that does not exist is no error.
	Delete(ctx context.Context, num int64) error

	// Send appends a message to the inbox of a run and returns its sequence number,
	// which is greater than those of all earlier messages in that inbox. The Seq of m
	// is ignored. The message is durable when Send returns. If its kind and key were
	// taken, Send fails with Conflict.
	Send(ctx context.Context, num int64, m Message) (int64, error)
	// Take returns the last message of a kind and key and closes them for further
	// messages: no correction can be lost between reading a message and acting on it.
	// Taking the same again returns the same message. If there is no such message, ok
	// is false and nothing is closed.
	Take(ctx context.Context, num int64, kind, key string) (m Message, ok bool, err error)
	// Inbox returns the messages of a run after a sequence number, in order.
	// Sequence numbers may have gaps.
	Inbox(ctx context.Context, num, after int64) ([]Message, error)

	// PutBlob stores data under a name, which must be its SHA-256 in lower-case
	// hexadecimal. It is durable when PutBlob returns. Storing it again renews its age,
	// see SweepBlobs.
	PutBlob(ctx context.Context, name string, data []byte) error
	// Blob returns a blob of a known size. If the blob is missing, or has another size
	// or content, the error is of kind Failed.
	Blob(ctx context.Context, name string, size int64) ([]byte, error)
	// SweepBlobs removes the blobs that were not stored since a time and that are not
	// in named. named is called at most once, and only if there are old blobs; if it
	// fails, nothing is removed.
	SweepBlobs(ctx context.Context, before time.Time, named func() (map[string]bool, error)) error
	// EachFrame calls do with each frame of each run of every tenant, by num and
	// seq, until do returns an error, which it returns.
	EachFrame(ctx context.Context, do func(num, seq int64, frame []byte) error) error

	// Acquire acquires the lease of a run for this process. The run need not be stored
	// yet. It fails with Conflict while the lease is held, also by this process.
	Acquire(ctx context.Context, tenant, id string) (Lease, error)
	// Held reports whether the lease of a run is held.
	Held(ctx context.Context, tenant, id string) bool

	// Close releases the resources of the store. Held leases end. Closing it again does
	// nothing.
	Close() error
}

// A Remote is a Store whose runs are executed by its own workers, wherever these are, and not by those who begin or answer
// them. A new run is in this process until it is parked for the first time; then it is stored, and a worker executes it
// until it parks or ends. Its Commit is a transaction for each run: after an error, other runs may have been written.
type Remote interface {
	Store
	// Executes reports whether this process is the worker that executes a run now. Nobody else can add to its record.
	Executes(tenant, id string) bool
	// Wake has a worker try to continue a run now that is parked or stuck. It fails with NotFound if the run does
	// not exist or has ended.
	Wake(ctx context.Context, tenant, id string) error
}

// A Lease is the exclusive right to execute a run. Its methods are safe for
// concurrent use.
type Lease interface {
	// Renew extends the lease. It fails with Conflict if the lease was released,
	// expired, or was removed by force.
	Renew(ctx context.Context) error
	// Release ends the lease. Releasing it again does nothing.
	Release() error
}

// A Yielder is a lease of a [Remote] that can ask its holder to end the execution soon, so that another one continues the
// run. The holder begins no effect then that has to be recorded before, and leaves the run when those in progress have ended.
type Yielder interface{ Yields() bool }

// A Row is the part of a run that can be listed without reading its record.
type Row struct {
	Num        int64  // of the run in its store, from 1; never reused
	Tenant     string // the owner of the run; "" is a valid tenant
	ID         string // unique within its tenant, see ValidID
	Project    string // the folder of its project, or ""
	Kind       string // what it executes: tool, task, chat, run, undo
	Parent     string // the ID of the run that started it, or ""
	ForkedFrom string // the ID of the run whose record it continues, or ""
	Session    string // the ID of the session if it is a turn, or ""
	Nonce      string // random, part of its idempotency keys

	State   State
	Wake    time.Time // when a parked run continues; zero means never
	Updated time.Time // when its state was last set; both in UTC, to the microsecond
	Stuck   string    // why nobody can continue it, if its state is Stuck; else ""

	Head        []byte // the progress of its record, sealed by history
	First, Last []byte // its first and last frame; set only by List
}

// A Stored is all stored data of a run.
type Stored struct {
	Row    Row
	Frames [][]byte // in order
	Inbox  []Message
}

// A Write changes the stored data of one run. It fails with NotFound if the run does
// not exist.
type Write struct {
	Num int64 // the run; 0: add New, and Commit sets Num
	New *Row  // the run to add, without Num, First and Last; Conflict if its tenant has a run with that ID

	Frames []Frame   // to append; Conflict if the number exists
	Head   []byte    // nil: unchanged
	Set    *Standing // nil: unchanged
}

// A Frame is a part of the record of a run.
type Frame struct {
	Seq  int64 // its number in the run, from 0 to [MaxSeq]
	Body []byte
}

// A Standing is the new state of a run.
type Standing struct {
	State   State
	Wake    time.Time
	Updated time.Time
	Stuck   string // why, if the state is Stuck; else ""
}

// A Message is a message to a run from outside of its execution.
type Message struct {
	Seq  int64  // its number in the inbox of the run, from 1
	Kind string // answer, signal or cancel
	Key  string // the question or signal, or ""
	Body []byte
}

// A Filter selects runs. The zero Filter selects all runs of the tenant "".
type Filter struct {
	Tenant  string
	Prefix  string  // whose ID begins with this text; "" selects any
	Project string  // of this project; "" selects any
	Kind    string  // of this kind; "" selects any
	Session string  // turns of this session; "" selects any
	States  []State // in one of these states; none selects any
	Before  int64   // whose Num is smaller; 0 selects any
	// Due selects, of the parked runs, those that can continue at this time: whose Wake has come, or whose inbox has a
	// message that nobody has taken. Zero selects all.
	Due   time.Time
	Limit int // at most this many; 0 or less means all
}

// Selects reports whether a filter selects a row. Due and Limit are ignored.
func (f *Filter) Selects(r *Row) bool {
	return (f.Before == 0 || r.Num < f.Before) && f.Tenant == r.Tenant && strings.HasPrefix(r.ID, f.Prefix) && (f.Project == "" || f.Project == r.Project) &&
		(f.Kind == "" || f.Kind == r.Kind) && (f.Session == "" || f.Session == r.Session) && (len(f.States) == 0 || slices.Contains(f.States, r.State))
}

// A State is the state of a run.
type State uint8

const (
	Running   State = iota // a process executes it, or died while it did
	Parked                 // it waits for an answer or a time, in no process
	Done                   // it returned a result
	Failed                 // it ended with an error
	Cancelled              // it was cancelled
	Stuck                  // nobody can continue it until the cause is gone, see Row.Stuck
)

// String returns the state's name: running, parked, done, failed, cancelled or stuck.
func (s State) String() string {
	names := [...]string{"running", "parked", "done", "failed", "cancelled", "stuck"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Ended reports whether a run in this state cannot be resumed.
func (s State) Ended() bool { return s == Done || s == Failed || s == Cancelled }
