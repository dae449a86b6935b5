// Package ids makes the IDs of runs from those of sessions, turns and sub-agents.
package ids

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// agent is the prefix of a sub-agent in the ID of a run.
const agent = "agent-"

// turnMark separates the base of a run's ID from the number of the turn.
const turnMark = "--"

// maxSession is the limit of a session's ID, in bytes.
const maxSession = 200

// New returns a new ID for a run: the time in UTC, so that IDs sort in order, and a random suffix.
func New() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // it never fails
	return time.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(b[:])
}

// CheckSession fails with kind Invalid if a session cannot have this ID.
func CheckSession(id string) error {
	if len(id) <= maxSession && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl) {
		return nil
	}
	return value.Errorf(value.Invalid, "invalid session ID %q", value.Clean(id, 80)).
		WithHint("use at most %d bytes of UTF-8 text without control characters", maxSession)
}

// Turn returns the ID of the run of a turn of a session. turns is the number of turns before it.
func Turn(session string, turns int) string {
	base := runBase(session)
	if turns == 0 {
		return base
	}
	return base + turnMark + strconv.Itoa(turns+1)
}

// runBase returns the prefix of the IDs of a session's runs: the session's ID if it is valid in
// the ID of a run and does not look like that of a later turn, else a hash of it.
func runBase(id string) string {
	const (
		allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
		most    = 52 // of the 64 characters of a run's ID
	)
	plain := id != "" && len(id) <= most && id[0] != '-' && strings.Trim(id, allowed) == ""
	if plain && !strings.Contains(id, turnMark) {
		return id
	}
	return "session" + turnMark + hash(id)
}

// Agent returns the ID of the run of a sub-agent, by its number in the turn.
func Agent(turn string, number int) string { return turn + "/" + agent + strconv.Itoa(number) }

// AgentAt returns the ID of the run of a sub-agent that a script has started, by the step of its call:
// scripts can make calls in parallel, and then the order in which agents begin is not always the same.
func AgentAt(run string, step tool.StepPath) string { return run + "/" + agent + step.String() }

// ProgramAt returns the ID of the run of a program that the model of a turn has written, by the step of
// its call. A resumed turn gives the same ID.
func ProgramAt(turn string, step tool.StepPath) string { return turn + "/code-" + step.String() }

// OfAgent reports whether the ID of a call, without that of its turn, is of a sub-agent.
func OfAgent(call string) bool { return strings.HasPrefix(call, agent) }

// Conversation returns the ID of a conversation for the provider of a model: a hash of the
// session's ID, which may be private. A sub-agent has another conversation than its session.
func Conversation(session, run string) string {
	if strings.Contains(run, "/"+agent) {
		return hash(run)
	}
	return hash(session)
}

func hash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
