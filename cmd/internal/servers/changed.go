package servers

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A server whose tools differ from the review is known only when it is started. So a file in Changes notes
// it, with the digest of the review, until the server offers the reviewed tools again or there is another
// review.

// maxChanges is how much of the description of changes is kept, in bytes.
const maxChanges = 2 << 10

// note returns the path of the note about a server.
func (o *Options) note(e *Entry) string {
	return filepath.Join(o.Changes, hex.EncodeToString([]byte(tool.HashBytes([]byte(e.base + "\x00" + e.Name))))[:32])
}

// compared notes how the tools of a server differ from a review. An error is ignored: each call reports the
// difference itself.
func (o *Options) compared(e *Entry, reviewed attached.Set, changes string) {
	if o.Changes == "" {
		return
	}
	if changes == "" {
		_ = os.Remove(o.note(e))
		return
	}
	if os.MkdirAll(o.Changes, 0o700) == nil {
		_ = os.WriteFile(o.note(e), []byte(reviewed.Digest()+"\n"+value.Cut(changes, maxChanges)), 0o600)
	}
}

// Changed describes how the tools of a server differed from their review when it was last started, or
// returns "".
func (o *Options) Changed(e *Entry, reviewed attached.Set) string {
	if o.Changes == "" {
		return ""
	}
	data, err := os.ReadFile(o.note(e))
	digest, changes, _ := strings.Cut(string(data), "\n")
	if err != nil || digest != reviewed.Digest() {
		return ""
	}
	return changes
}
