package page

import "time"

// NoteBroken says that the process of a run has ended.
func NoteBroken(at time.Time) Note {
	return Note{Tone: ToneWait, Strong: "The run was broken off.", Text: "Its process ended at " + at.Format("15:04:05") + ". It continues by itself within a minute, and what is recorded is not done again."}
}

// NoteStuck says that a run cannot be continued, since its script does something else than its record.
func NoteStuck(why string) Note {
	return Note{Tone: ToneBad, Strong: "The run is stuck.", Text: "Its script does not do what the record has: " + why + ". Restore the script as it was, or retry from an earlier step with the script as it is now."}
}

// NoteDamaged says that the record of a run cannot be read.
func NoteDamaged(why string) Note {
	return Note{Tone: ToneBad, Strong: "The record is damaged.", Text: "What can be read of it is shown, and the run cannot be continued or undone. " + why, Code: "cassidy doctor"}
}

// NoteParked says that a run has waited for long, and until when it can.
func NoteParked(waited time.Duration, until time.Time) Note {
	n := Note{Tone: ToneWait, Strong: "This run has waited for " + duration(waited) + "."}
	if !until.IsZero() {
		n.Text = "Its question expires " + until.Format("Mon 2 Jan, 15:04") + "."
	}
	return n
}

// NoteUnwritable says that nothing can be recorded now, so that the pages offer nothing to do. full is that the disk is.
func NoteUnwritable(full bool, why string) *Note {
	if full {
		return &Note{Tone: ToneBad, Strong: "The disk is full.", Text: "Runs are kept and can be read, but nothing can begin or be answered until there is room."}
	}
	return &Note{Tone: ToneBad, Strong: "Nothing can be recorded now.", Text: "Runs can be read, but nothing can begin or be answered. " + why}
}

// NoteNotReplayed says why a run could not be replayed.
func NoteNotReplayed(why string) Note {
	return Note{Tone: ToneBad, Strong: "The run could not be replayed.", Text: why}
}
