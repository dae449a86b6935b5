//go:build amd64 || arm64

package sandbox

import (
	"encoding/base64"
	"time"
)

// The names under which this program runs as a launcher: what it is called by
// says which stage it is.
const (
	launchStage  = "cassidy-launch"
	confineStage = "cassidy-confine"
)

// The descriptors of the confining stage beside the three that the process
// keeps: what it is to do, what it has to say, and, if the process may write,
// where it sends the listener of its filter.
const (
	specPipe     = 3
	troublePipe  = 4
	listenSocket = 5
)

// A launchSpec is what the host tells the supervisor, and that the confining
// stage: what to run, and what it may reach.
type launchSpec struct {
	Path      launchText
	Dev, Ino  uint64 // of the program: another one at its path is not run
	Args, Env []launchText
	Dir       launchText
	Read      []launchText
	Write     []launchText
	Network   bool
	Timeout   time.Duration
	Memory    int64
	Processes int
	ABI       int // the version of Landlock to use
}

// A launchReport is what the supervisor tells the host: first the PID, in the
// end the reason.
type launchReport struct {
	PID    int    `json:",omitempty"`
	Reason string `json:",omitempty"`
	Exit   int    `json:",omitempty"`
	Signal int    `json:",omitempty"`
	Text   string `json:",omitempty"`
}

// Why a process has ended.
const (
	launchExited     = "exited"
	launchTimedOut   = "timeout"
	launchEnded      = "ended" // the host said so, or is gone
	launchCrowded    = "processes"
	launchSwollen    = "memory"
	launchUnconfined = "unconfined"
	launchUnstarted  = "unstarted"
)

// A launchText is text that need not be UTF-8, as a path, and comes through JSON as it is.
type launchText string

// MarshalText implements [encoding.TextMarshaler].
func (r launchText) MarshalText() ([]byte, error) {
	return base64.RawStdEncoding.AppendEncode(nil, []byte(r)), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *launchText) UnmarshalText(text []byte) error {
	b, err := base64.RawStdEncoding.AppendDecode(nil, text)
	*r = launchText(b)
	return err
}

func launchTexts(texts []string) []launchText {
	list := make([]launchText, len(texts))
	for i, t := range texts {
		list[i] = launchText(t)
	}
	return list
}

func plainTexts(list []launchText) []string {
	all := make([]string, len(list))
	for i, r := range list {
		all[i] = string(r)
	}
	return all
}
