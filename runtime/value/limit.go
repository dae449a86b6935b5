package value

import "strings"

// A LimitName names the limit that an [Error] of kind Limit or Timeout reached.
// LimitWorker is used with the kind Unavailable, and names what was unavailable.
// LimitInterrupted is used with Canceled and Timeout, LimitChanged with Conflict, and
// LimitReadOnly, LimitRule, LimitTool, LimitSecret and LimitUnsent with any kind. Names are part of the JSON form of errors and
// of the records of runs, so the texts do not change. The zero value names no limit.
type LimitName string

// The limits of one call or run.
const (
	LimitSteps   LimitName = "steps"   // the steps of a script, or of a schema check
	LimitCPU     LimitName = "cpu"     // the CPU time of a script
	LimitMemory  LimitName = "memory"  // the memory of a script, a command or one of its values
	LimitWall    LimitName = "wall"    // the time that a call or a command may take
	LimitEffects LimitName = "effects" // the effects of a call and of the calls that it makes
	LimitTraffic LimitName = "traffic" // the bytes between the host and a worker
	LimitRecord  LimitName = "record"  // the run cannot be recorded, or its record cannot be followed
	LimitResult  LimitName = "result"  // the length of a tool's result
	LimitCall    LimitName = "call"    // a limit of a called tool; the caller can continue
	LimitQueue   LimitName = "queue"   // the calls that wait for a worker
	LimitWorker  LimitName = "worker"  // not a limit: the process that ran the script was killed from outside

	// LimitInterrupted is not a limit either: the run was interrupted, and can be resumed.
	LimitInterrupted LimitName = "interrupted"
)

// What failed in the environment of a call. These are not limits: the call itself can
// succeed once somebody has repaired its environment.
const (
	LimitReadOnly LimitName = "read_only" // a file or a disk that cannot be written
	LimitRule     LimitName = "rule"      // a rule of the user refuses it
	LimitTool     LimitName = "tool"      // a tool that is missing, changed or untrusted
	LimitUnsent   LimitName = "unsent"    // a request that never left: it was surely not carried out
	LimitSecret   LimitName = "secret"    // a secret has no value; its name follows after a colon
	LimitChanged  LimitName = "changed"   // a file was changed meanwhile: nothing was done, and the call can be repeated
)

// OfSecret returns the limit of a secret that has no value.
func OfSecret(name string) LimitName { return LimitSecret + ":" + LimitName(name) }

// Secret returns the name of the secret that has no value, or "".
func (l LimitName) Secret() string {
	if name, ok := strings.CutPrefix(string(l), string(LimitSecret)+":"); ok {
		return name
	}
	return ""
}

// Unsent reports whether a request never left, also because a secret in it has no value.
func (l LimitName) Unsent() bool { return l == LimitUnsent || l.Secret() != "" }

// The limits of values and texts.
const (
	LimitDepth  LimitName = "depth"  // the depth of a value, a type, a schema or of nested calls
	LimitNodes  LimitName = "nodes"  // the number of parts of a value
	LimitDigits LimitName = "digits" // the digits of a number
	LimitSource LimitName = "source" // the length of a source text
	LimitLength LimitName = "length" // the length of an argument
)

// The limits of effects.
const (
	LimitRead      LimitName = "read"      // the size of a file that is read
	LimitFiles     LimitName = "files"     // the number of files that a call changes
	LimitWrites    LimitName = "writes"    // the bytes that a call writes
	LimitEntries   LimitName = "entries"   // the number of entries of a folder or a project
	LimitSearch    LimitName = "search"    // the bytes that a search reads
	LimitHTTP      LimitName = "http"      // the size, number or duration of HTTP exchanges
	LimitHuman     LimitName = "human"     // the length of a question or an answer
	LimitProcesses LimitName = "processes" // the processes of a command
	LimitTimeout   LimitName = "timeout"   // the time that a query may take
	LimitDisk      LimitName = "disk"      // the space on a disk
)

// The limits of models and agents.
const (
	LimitIterations   LimitName = "iterations"   // how often an agent may ask the model
	LimitConversation LimitName = "conversation" // the length of a conversation
	LimitMessage      LimitName = "message"      // the length of one message
	LimitContext      LimitName = "context"      // the context window of a model
	LimitReply        LimitName = "reply"        // the length of a model's reply
	LimitRate         LimitName = "rate"         // the rate limit or the balance of an account
	LimitUsage        LimitName = "usage"        // the requests of a run to models, their tokens or their cost
)

// Catchable reports whether a script may catch an error with this limit. It may not if
// the limit is one of the full call: a loop around a caught error would never end. Nor
// may it catch the death of its worker: only the host can start another one. The
// timeout of a single effect, such as a request to a slow server, is catchable.
func (l LimitName) Catchable() bool {
	switch l {
	case LimitWall, LimitEffects, LimitTraffic, LimitRecord, LimitWorker, LimitInterrupted, LimitUsage:
		return false
	}
	return true
}

// Catchable reports whether a script may catch the error of an effect. An error
// that is not catchable ends the script.
func (e *Error) Catchable() bool {
	switch {
	case e.Kind == Canceled, e.Kind == Parked:
		return false
	case e.Kind == Timeout && e.Limit == "": // the context of the call ended
		return false
	}
	return e.Limit.Catchable()
}
