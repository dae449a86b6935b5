package temporal

import (
	"encoding/binary"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// A record is what the workflow of a run keeps of it. Histories contain it as JSON: the names of its fields never change.
// The frames are a stream, each after its length, of which the record has the segments.
type record struct {
	Row      journal.Row // without First and Last
	Frames   int64       // how many there are
	Segments []segment
	Inbox    []journal.Message
	Taken    []journal.Message
	Letters  map[string]int64 // the messages that came, by the IDs of their letters
	Owner    owner
	First    pointer // the first frame
	Last     pointer // the last one, as of when the state was set

	News      bool // something came since the last execution began
	Questions int  // that are open since the last execution
	Failed    int  // the executions in a row that could not begin

	data []byte // the frames of the segments without a blob
}

// A segment is a part of the stream of frames: the blob of a name, or the next bytes of the data of the record.
type segment struct {
	Size int64
	Blob string `json:",omitempty"`
}

// A pointer is a frame for lists, or the name of the blob that has it.
type pointer struct {
	Frame []byte `json:",omitempty"`
	Blob  string `json:",omitempty"`
	Size  int64  `json:",omitempty"` // of the blob
}

// An owner is one attempt of one execution of a run. Only the newest may add to the record.
type owner struct{ Segment, Attempt int }

func (o owner) before(p owner) bool {
	return o.Segment < p.Segment || o.Segment == p.Segment && o.Attempt < p.Attempt
}

// A commit is a [journal.Write] to a run. Its frames are its Blob, or come beside it.
type commit struct {
	Run    string // the ID of the workflow for which it was made
	Owner  owner
	From   int64 // the number of the first frame
	Frames int64
	Blob   segment
	Head   []byte            `json:",omitempty"`
	Set    *journal.Standing `json:",omitempty"`
	Last   *pointer          `json:",omitempty"` // with Set
}

// A committed is the answer to a commit.
type committed struct {
	Messages int  // how many messages the inbox has
	Yield    bool // the execution has to end soon, since the history is long
}

// A letter is a message for a run. A repeated letter is the same message.
type letter struct {
	Run     string // the ID of the workflow for which it was made
	ID      string
	Message journal.Message
}

// The types of errors of updates, which are recorded.
const (
	errStale   = "stale" // another attempt executes the run, or has written the frame
	errTaken   = "taken"
	errEnded   = "ended"
	errForeign = "foreign" // it was made for another run
)

// refuses returns why a commit cannot be applied, or "".
func (r *record) refuses(run string, c *commit) string {
	switch {
	case c.Run != run:
		return errForeign
	case c.Owner.before(r.Owner) || r.Row.State.Ended():
		return errStale
	}
	return ""
}

// apply executes a commit, whose frames are data unless it has a blob. It reports whether that is possible: another
// attempt may have written frames since it was sent.
func (r *record) apply(c *commit, data []byte) bool {
	if c.Frames > 0 && c.From != r.Frames {
		return false
	}
	r.append(c.Blob, data)
	r.Frames += c.Frames
	if c.Head != nil {
		r.Row.Head = c.Head
	}
	if s := c.Set; s != nil {
		r.Row.State, r.Row.Wake, r.Row.Updated, r.Row.Stuck = s.State, s.Wake, s.Updated, s.Stuck
	}
	if c.Last != nil {
		r.Last = *c.Last
	}
	r.Owner = c.Owner
	return true
}

// append adds a segment to the stream: a blob, or data.
func (r *record) append(blob segment, data []byte) {
	last := len(r.Segments) - 1
	switch {
	case blob.Blob != "":
		r.Segments = append(r.Segments, blob)
	case len(data) == 0:
	case last >= 0 && r.Segments[last].Blob == "":
		r.Segments[last].Size += int64(len(data))
	default:
		r.Segments = append(r.Segments, segment{Size: int64(len(data))})
	}
	r.data = append(r.data, data...)
}

// stored replaces the data of the record by blobs that have it.
func (r *record) stored(blobs []segment) {
	var all []segment
	for _, s := range r.Segments {
		for left := s.Size; s.Blob == "" && left > 0; blobs = blobs[1:] {
			all, left = append(all, blobs[0]), left-blobs[0].Size
		}
		if s.Blob != "" {
			all = append(all, s)
		}
	}
	r.Segments, r.data = all, nil
}

// chunks returns the data of the record in parts for [record.stored], of at most so many bytes.
func (r *record) chunks(most int) (parts [][]byte) {
	rest := r.data
	for _, s := range r.Segments {
		if s.Blob == "" {
			parts = slices.AppendSeq(parts, slices.Chunk(rest[:s.Size], most))
			rest = rest[s.Size:]
		}
	}
	return parts
}

// taken returns the message that was taken with the kind and the key of m.
func (r *record) taken(m journal.Message) (journal.Message, bool) {
	i := slices.IndexFunc(r.Taken, func(t journal.Message) bool { return t.Kind == m.Kind && t.Key == m.Key })
	if i < 0 {
		return m, false
	}
	return r.Taken[i], true
}

// refusesLetter returns why a letter is not delivered, or "".
func (r *record) refusesLetter(run string, l *letter) string {
	_, repeated := r.Letters[l.ID]
	_, taken := r.taken(l.Message)
	switch {
	case l.Run != run:
		return errForeign
	case repeated:
		return ""
	case taken:
		return errTaken
	case r.Row.State.Ended():
		return errEnded
	}
	return ""
}

// deliver adds a letter to the inbox, and returns its number there.
func (r *record) deliver(l *letter) int64 {
	if seq, repeated := r.Letters[l.ID]; repeated {
		return seq
	}
	l.Message.Seq = int64(len(r.Inbox) + 1)
	if r.Letters == nil {
		r.Letters = map[string]int64{}
	}
	r.Inbox, r.Letters[l.ID] = append(r.Inbox, l.Message), l.Message.Seq
	return l.Message.Seq
}

// take closes a kind and key, and returns the last message that came for them, or nil.
func (r *record) take(m journal.Message) *journal.Message {
	if t, ok := r.taken(m); ok {
		return &t
	}
	for i := len(r.Inbox) - 1; i >= 0; i-- {
		if t := r.Inbox[i]; t.Kind == m.Kind && t.Key == m.Key {
			r.Taken = append(r.Taken, t)
			return &t
		}
	}
	return nil
}

// A view is a part of a record: the answer to a query.
type view struct {
	Record record
	From   int64  // the position in the stream from which on Data is
	Data   []byte // that of the segments without a blob, or the first part of it
}

// mostData is how much data is in one payload, which Temporal limits to 2 MB, in bytes.
const mostData = 1 << 20

// view returns the record with its data from a position in the stream. A negative position is for no data.
func (r *record) view(from int64) view {
	v := view{Record: *r, From: from}
	if from < 0 {
		return v
	}
	pos, rest := int64(0), r.data
	for _, s := range r.Segments {
		if s.Blob == "" {
			if skip := max(0, from-pos); skip < s.Size {
				v.Data = append(v.Data, rest[skip:s.Size]...)
			}
			rest = rest[s.Size:]
		}
		pos += s.Size
	}
	v.Data = v.Data[:min(len(v.Data), mostData)]
	return v
}

// appendFrame appends a frame to a stream.
func appendFrame(stream, frame []byte) []byte {
	return append(binary.AppendUvarint(stream, uint64(len(frame))), frame...)
}

// frames returns the frames of a stream, up to a damage.
func frames(stream []byte) (list [][]byte) {
	for len(stream) > 0 {
		size, n := binary.Uvarint(stream)
		if n <= 0 || size > uint64(len(stream)-n) {
			return list
		}
		end := n + int(size)
		list, stream = append(list, stream[n:end:end]), stream[end:]
	}
	return list
}
