package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A ParkedError reports what a parked run waits for. Get it with [errors.As]. The error around it is
// of kind [value.Parked], or of kind Unavailable or Limit if the run can be resumed when
// the cause of that error is over.
type ParkedError struct {
	Run string `json:"run"`
	// Reason is the first thing that the run waits for: approval, question,
	// unknown_outcome or sleep. If something in its environment failed, it is unavailable,
	// rate, limit, disk, read_only, rule, tool or secret:NAME, and [Repair] returns what to do.
	Reason    string          `json:"reason"`
	Questions []tool.Question `json:"questions"` // that are open; any answer makes the run due
	Until     time.Time       `json:"until"`     // when it continues by itself; zero means never
	Err       error           `json:"-"`         // what failed in its environment, or nil
}

// Repair returns what to do before a run that is parked for a reason is resumed, or "" if
// nothing has to be repaired.
func Repair(reason string) string {
	switch reason {
	case "unavailable":
		return "wait until the server or the file can be reached, or correct the key"
	case "rate":
		return "wait until the rate limit resets"
	case "limit":
		return "raise the limit, or free memory"
	case "disk":
		return "free space on the disk"
	case "read_only":
		return "make the file or its disk writable"
	case "rule":
		return "change the rule"
	case "tool":
		return "restore the tool, and review it with: cassidy trust"
	}
	if name := value.LimitName(reason).Secret(); name != "" {
		return "cassidy secret set " + name
	}
	return ""
}

// Error returns what the run waits for.
func (e *ParkedError) Error() string {
	switch n := len(e.Questions); {
	case e.Err != nil:
		return e.Err.Error()
	case n == 1:
		return fmt.Sprintf("the run %s waits for an answer: %s", e.Run, e.Questions[0].Text)
	case n > 1:
		texts := make([]string, n)
		for i := range e.Questions {
			texts[i] = e.Questions[i].Text
		}
		return fmt.Sprintf("the run %s waits for %d answers: %s", e.Run, n, value.Clean(strings.Join(texts, "; "), value.MaxErrorText))
	}
	return fmt.Sprintf("the run %s sleeps until %s", e.Run, e.Until.Local().Format("2006-01-02 15:04:05"))
}

// Unwrap returns Err.
func (e *ParkedError) Unwrap() error { return e.Err }

// MarshalJSON returns an object with run, reason, questions, until, which is null for zero,
// and repair, unless [Repair] returns "".
func (e *ParkedError) MarshalJSON() ([]byte, error) {
	questions := make(value.List, len(e.Questions))
	for i := range e.Questions {
		questions[i] = e.Questions[i].Dict()
	}
	d := value.NewDict("run", e.Run, "reason", e.Reason, "questions", questions, "until", timeText(e.Until))
	if repair := Repair(e.Reason); repair != "" {
		d.Put("repair", repair)
	}
	return []byte(value.FormatJSON(d, "")), nil
}
