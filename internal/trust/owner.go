package trust

import (
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/identity"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// claim prepares a record for what its user has written in a project. What was theirs in
// another folder at the same path is no longer.
func (l *Ledger) claim(root string) error {
	now, err := identity.Make(root)
	if err != nil {
		return value.Errorf(value.Failed, "mark the project as yours: write %s: %w", identity.File, folder.Cause(err))
	}
	if now != l.mark {
		l.disown()
		l.mark = now
	}
	return nil
}

// disown forgets what its user has written, and keeps what was reviewed.
func (l *Ledger) disown() {
	l.author = false
	for name, r := range l.files {
		r.Own = false
		l.files[name] = r
	}
}

// checkMark lets what its user has written and reviewed count only in the folder where it
// was.
func (l *Ledger) checkMark(root string) {
	if now, err := identity.Folder(root); err != nil || now != l.seen {
		l.seen = identity.Identity{}
	}
	if l.mark.ID != "" && !l.mark.Holds(root) {
		l.disown()
		l.replaced = true
	}
}
