//go:build amd64 || arm64

package launch

import (
	"encoding/base64"
	"os"
	"slices"
	"time"
)

// The names under which this program is started again: each is one stage of a command.
const (
	superviseStage = "cassidy-launch"
	confineStage   = "cassidy-confine"
)

// The descriptors of the supervisor, beside the three that it keeps: it reads its command
// from the first, and writes reports to the second. The places of the command follow.
const (
	controlPipe     = 3
	statusPipe      = 4
	supervisePlaces = 5
)

// The descriptors of the confining stage, beside the three that the process keeps: it
// reads its command from the first, writes why it failed to the second and, if the
// process may write, sends the listener of its filter through the third. The places of
// the command follow.
const (
	commandPipe   = 3
	failurePipe   = 4
	listenSocket  = 5
	confinePlaces = 6
)

// A command is what to run and what it may reach: the host sends it to the supervisor,
// and the supervisor to the confining stage.
type command struct {
	Path      rawText
	Name      rawText // argv[0]
	Dev, Ino  uint64  // of the program's file: another file at its path is not run
	Args, Env []rawText
	Places    []place
	Network   bool
	Timeout   time.Duration
	Memory    int64
	Processes int
	ABI       int // the version of Landlock to use

	files []*os.File // of Places, in the host
}

// A place is a file or folder that a process may reach. The host opens it, and each stage
// inherits the descriptor: nothing looks up its path again.
type place struct {
	Name rawText // for messages
	Use  use
}

// A use is what a process does with a place.
type use uint8

const (
	useDir     use = iota // it starts there
	useProgram            // it is the program's file
	useRead
	useWrite
)

// writes reports whether the process may write anywhere.
func (c *command) writes() bool {
	return slices.ContainsFunc(c.Places, func(p place) bool { return p.Use == useWrite })
}

// closePlaces closes the host's descriptors.
func (c *command) closePlaces() {
	for _, f := range c.files {
		f.Close()
	}
}

// A report is what the supervisor sends to the host: first the PID, at the end the
// reason.
type report struct {
	PID    int    `json:",omitempty"`
	Reason string `json:",omitempty"`
	Exit   int    `json:",omitempty"`
	Signal int    `json:",omitempty"`
	Text   string `json:",omitempty"`
}

// Why a process has ended.
const (
	reasonExited     = "exited"
	reasonTimeout    = "timeout"
	reasonEnded      = "ended" // by the host, or because it is gone
	reasonProcesses  = "processes"
	reasonMemory     = "memory"
	reasonUnconfined = "unconfined"
	reasonUnstarted  = "unstarted"
)

// A rawText is a text that need not be UTF-8, such as a path. It crosses JSON unchanged.
type rawText string

// MarshalText implements [encoding.TextMarshaler].
func (r rawText) MarshalText() ([]byte, error) {
	return base64.RawStdEncoding.AppendEncode(nil, []byte(r)), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *rawText) UnmarshalText(text []byte) error {
	b, err := base64.RawStdEncoding.AppendDecode(nil, text)
	*r = rawText(b)
	return err
}

func rawTexts(texts []string) []rawText {
	list := make([]rawText, len(texts))
	for i, t := range texts {
		list[i] = rawText(t)
	}
	return list
}

func plainTexts(list []rawText) []string {
	all := make([]string, len(list))
	for i, r := range list {
		all[i] = string(r)
	}
	return all
}
