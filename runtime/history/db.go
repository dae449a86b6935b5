package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// applicationID marks a database as a journal: "cass".
const applicationID = 0x63617373

// migrations bring a database from each version of its schema to the next; an
// empty one is version 0. A step that was released is never changed.
func migrations() []string {
	return []string{`
-- A run by its name.
CREATE TABLE runs (num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
-- What was recorded, in the order of each run: at is num << 32 | seq.
CREATE TABLE frames (at INTEGER PRIMARY KEY, body BLOB NOT NULL);
-- How far each run has come.
CREATE TABLE heads (num INTEGER PRIMARY KEY, body BLOB NOT NULL);
-- What was answered, by whoever it was, while the run was in nobody's hands.
CREATE TABLE answers (num INTEGER NOT NULL, place TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (num, place)) WITHOUT ROWID;
`}
}

// The pragmas of a connection: how it writes, or that it reads what it can. A
// database that was cut off is refused as a whole unless writable_schema is on;
// query_only sees to it that nothing is written all the same.
const (
	toWrite = "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	toRead  = "&_pragma=query_only(1)&_pragma=writable_schema(1)"
)

// openDB opens the database, which is made if it is not there.
func openDB(path, pragmas string) (*sql.DB, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite gives its other files the same mode
	if err != nil {
		return nil, ioError("open the journal", err)
	}
	f.Close()
	escape := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // C:/…
	}
	db, err := sql.Open("sqlite", "file://"+escape.Replace(name)+
		"?_pragma=busy_timeout(10000)"+ // ten seconds: a checkpoint of another process on a slow disk
		pragmas+"&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)") // the file may hold anything
	if err != nil {
		return nil, dbError(err)
	}
	return db, nil
}

// openToRead opens a damaged database, if its schema can still be read.
func openToRead(ctx context.Context, path string) (*sql.DB, error) {
	db, err := openDB(path, toRead)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		var version int
		version, err = schemaVersion(ctx, conn, len(migrations()))
		conn.Close()
		if err == nil && version < len(migrations()) {
			err = tool.Errorf(tool.Failed, "the journal is damaged, and of an older format")
		}
	}
	if err != nil {
		db.Close()
		return nil, dbError(err)
	}
	return db, nil
}

// migrate brings the database to the schema of this program, or refuses it.
func migrate(ctx context.Context, db *sql.DB, steps []string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return dbError(err)
	}
	defer conn.Close()
	version, err := schemaVersion(ctx, conn, len(steps))
	if err != nil || version == len(steps) {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return dbError(err)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // after COMMIT there is nothing to roll back
	// Another process may have been quicker.
	if version, err = schemaVersion(ctx, conn, len(steps)); err != nil {
		return err
	}
	for ; version < len(steps); version++ {
		set := fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d;", version+1, applicationID)
		if _, err := conn.ExecContext(ctx, steps[version]+set); err != nil {
			return dbError(fmt.Errorf("bring it to version %d: %w", version+1, err))
		}
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return dbError(err)
	}
	return nil
}

// schemaVersion reads the version of the schema, and refuses what this program
// must not touch.
func schemaVersion(ctx context.Context, conn *sql.Conn, newest int) (int, error) {
	var version, app, objects, strange int
	err := conn.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),
		count(*), count(*) FILTER (WHERE type NOT IN ('table', 'index')) FROM sqlite_schema`).Scan(&version, &app, &objects, &strange)
	switch {
	case err != nil:
		return 0, dbError(err)
	case objects > 0 && app != applicationID, strange > 0:
		return 0, tool.Errorf(tool.Invalid, "journal.db is not a journal of cassidy").
			WithHint("the file was left as it is; give the journal a folder of its own")
	case version > newest:
		return 0, tool.Errorf(tool.Unavailable, "the journal was written by a newer cassidy: its format is %d, and this one knows %d", version, newest).
			WithHint("use the newer cassidy, or another folder; the journal was left as it is")
	case version < 0 || version == 0 && objects > 0 && newest < 1:
		return 0, tool.Errorf(tool.Invalid, "journal.db has a format that no cassidy ever wrote: %d", version)
	}
	return version, nil
}

// dbError says what an error of the database means.
func dbError(err error) error {
	var known *tool.Error
	var e *sqlite.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return tool.AsError(err, tool.Canceled)
	case !errors.As(err, &e):
		return tool.Errorf(tool.Unavailable, "the journal: %w", err)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return diskFull(err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return tool.Errorf(tool.Failed, "the journal is damaged: %w", err).
			WithHint("nothing was deleted: what can be read still can be; keep a copy of its folder, and begin a new one elsewhere")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return tool.Errorf(tool.Unavailable, "another process keeps the journal busy: %w", err).
			WithHint("try again, or look which cassidy hangs")
	case sqlite3.SQLITE_IOERR:
		return tool.Errorf(tool.Unavailable, "the journal cannot be read or written: %w", err).
			WithHint("see whether its disk is full or failing")
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return tool.Errorf(tool.Unavailable, "the journal cannot be written: %w", err).
			WithHint("see who owns its folder")
	}
	return tool.Errorf(tool.Unavailable, "the journal: %w", err)
}

// isDuplicate reports whether a row was there already.
func isDuplicate(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_CONSTRAINT
}

// isDamage reports whether the database file itself cannot be read here.
func isDamage(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB || code == sqlite3.SQLITE_IOERR
}
