package agent

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/ids"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Seen holds when the tools of a session last read and wrote a file. A zero time means never.
//
//	Read, Written time.Time
type Seen = conversation.Seen

// Files returns the files that the tools of the session have read or written in calls that
// have ended, by path in the project.
func (s *Session) Files() map[string]Seen { return s.kept.Files() }

// watchFiles records which files the tools of the session read and write.
func (t *turn) watchFiles(e tool.Event) {
	done, isEffect := e.Data.(tool.EffectDone)
	if !isEffect || t.watches.Load() == 0 {
		return
	}
	if call, ours := strings.CutPrefix(e.Call, t.runID+"/"); ours {
		t.kept.Watch(&done, ids.OfAgent(call))
	}
}

// reviewChanges stops a built-in tool from replacing a file that the model has not read.
// Other tools may replace any file.
func (t *turn) reviewChanges(_ *tool.Tool, from tool.Location, changes []tool.Change) error {
	if from != tool.Builtin || t.working.Load() > 0 { // a sub-agent reviews its own changes
		return nil
	}
	return t.kept.Review(changes)
}
