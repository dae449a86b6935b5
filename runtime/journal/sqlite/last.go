package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A last names the last frame that was written, in a file beside the database. SQLite
// reports no error if its log is missing or cut: it continues with an older database. The
// file is written after each transaction and is not flushed, so after a loss of power it
// may be older than the database, but never newer.
type last struct{ f *os.File }

// lastName is its file: the keys of frames have 8 bytes, and a checksum has 4.
const lastName = "journal.last"

func openLast(dir string) (last, error) {
	f, err := os.OpenFile(filepath.Join(dir, lastName), os.O_RDWR|os.O_CREATE, 0o600)
	return last{f}, err
}

// set stores the key of the last frame of writes. An error is ignored: without the file,
// nothing is checked.
func (l last) set(writes []*journal.Write, nums []int64) {
	for i := len(writes) - 1; i >= 0; i-- {
		if n := len(writes[i].Frames); n > 0 {
			at := binary.LittleEndian.AppendUint64(nil, uint64(frameAt(nums[i], writes[i].Frames[n-1].Seq)))
			_, _ = l.f.WriteAt(binary.LittleEndian.AppendUint32(at, crc32.ChecksumIEEE(at)), 0)
			return
		}
	}
}

// readLast returns the key of the last frame, or 0 if the file has none.
func readLast(dir string) int64 {
	data, err := os.ReadFile(filepath.Join(dir, lastName))
	if err != nil || len(data) != 12 || crc32.ChecksumIEEE(data[:8]) != binary.LittleEndian.Uint32(data[8:]) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(data))
}

// openWithoutLog opens the database without its log, if the log is that of another database: the last
// frame is there without the log, and not with it, as in db, which is nil if it cannot be opened.
// foreign reports that.
func (s *Store) openWithoutLog(ctx context.Context, db *sql.DB) (own *sql.DB, foreign error) {
	at := readLast(s.dir)
	if info, err := os.Stat(s.file() + "-wal"); err != nil || info.Size() == 0 || at == 0 || db != nil && checkLast(ctx, db, s.dir, at) == nil {
		return nil, nil
	}
	own, err := openChecked(ctx, s.file(), toSalvage+"&immutable=1", true)
	if err != nil {
		return nil, nil
	}
	if checkLast(ctx, own, s.dir, at) != nil {
		own.Close()
		return nil, nil
	}
	return own, value.Errorf(value.Failed, "open the journal: journal.db-wal is the log of another database").
		WithHint("move it away: mv %s %s", quote(s.file()+"-wal"), quote(s.file()+"-wal.old"))
}

// checkLast returns an error for isDamage if the database lacks the frame with the key at,
// and its run was not deleted.
func checkLast(ctx context.Context, db *sql.DB, dir string, at int64) error {
	var found, deleted bool
	var id string
	err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM frames WHERE at = ?1), coalesce((SELECT id FROM heads WHERE num = ?1 >> 32), ''),
		coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'runs'), 0) >= ?1 >> 32 AND NOT EXISTS (SELECT 1 FROM runs WHERE num = ?1 >> 32)`, at).
		Scan(&found, &id, &deleted)
	switch {
	case isDamage(err): // there are no tables any more
	case err != nil || found || deleted:
		return err
	}
	what := "a lost run"
	if id != "" {
		what = "the run '" + id + "'"
	}
	return value.Errorf(value.Failed, "open the journal: its last writes are lost, because journal.db-wal was removed or truncated, or journal.db was replaced by an older copy: record %d of %s is %w", at&journal.MaxSeq, what, errLost).
		WithHint("restore both files from a backup; or open the journal without the lost records, so that effects in these records may be repeated: rm %s", quote(filepath.Join(dir, lastName)))
}
