package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/cassidy-run/cassidy/runtime/value"
)

// applicationID marks a database as a journal: "cass".
const applicationID = 0x63617373

// version is the format of the database. Version 1 had no columns to find runs by, and in
// version 2 the hashes of frames were shorter; neither is converted.
const version = 3

// schema creates an empty journal. Columns that change often are in heads and frames,
// so that a step changes neither a row of runs nor an index.
const schema = `
-- The columns to find runs by. Times are microseconds since 1970.
CREATE TABLE runs (
	num INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is never used again
	tenant TEXT NOT NULL, id TEXT NOT NULL, project TEXT NOT NULL, kind TEXT NOT NULL,
	parent TEXT NOT NULL, forked_from TEXT NOT NULL, session TEXT NOT NULL, nonce TEXT NOT NULL,
	state INTEGER NOT NULL, wake INTEGER NOT NULL, updated INTEGER NOT NULL, stuck TEXT NOT NULL,
	UNIQUE (tenant, id));
-- Equal entries of an index are in the order of num, so a list is never sorted.
CREATE INDEX runs_state ON runs (tenant, state);
CREATE INDEX runs_tenant ON runs (tenant);
CREATE INDEX runs_kind ON runs (tenant, kind);
CREATE INDEX runs_session ON runs (tenant, session) WHERE session <> '';
-- How far each run has come. The name is here again so that a run is not lost
-- with a damaged page of runs.
CREATE TABLE heads (num INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, body BLOB);
CREATE INDEX heads_tenant ON heads (tenant);
-- What was recorded, in the order of each run: at is num << 32 | seq.
CREATE TABLE frames (at INTEGER PRIMARY KEY, body BLOB NOT NULL);
-- What was sent to each run. A row whose takes is not NULL is not a message: it
-- closes its kind and key, and takes is the seq of the message that was taken.
CREATE TABLE inbox (
	num INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
	body BLOB NOT NULL, takes INTEGER,
	PRIMARY KEY (num, seq)) WITHOUT ROWID;
CREATE INDEX inbox_key ON inbox (num, kind, key);
`

// busyTimeout is how long to wait for other processes: for a checkpoint on a
// slow disk.
const busyTimeout = 10 * time.Second

// The pragmas of a connection.
const (
	// toWrite is for reading and writing.
	toWrite = "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	// toRead is for a file that may not be a journal, and for one that cannot be written.
	// Such a connection changes nothing, even if it is the last one to be closed.
	toRead = "&mode=ro"
	// toSalvage is for a damaged database. SQLite rejects a truncated file unless
	// writable_schema is on.
	toSalvage = "&mode=ro&_pragma=query_only(1)&_pragma=writable_schema(1)"
)

// createFile creates the file of the database if it does not exist, and returns which file it is.
func createFile(path string) ([]inUse, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite gives its other files the same mode
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return []inUse{{path, info}}, errors.Join(err, f.Close())
}

// openDB opens the database.
func openDB(path, pragmas string) (*sql.DB, error) {
	escape := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")
	name := filepath.ToSlash(path)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // C:/…
	}
	db, err := sql.Open("sqlite", "file://"+escape.Replace(name)+
		fmt.Sprintf("?_pragma=busy_timeout(%d)", busyTimeout.Milliseconds())+
		pragmas+"&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)") // the file may hold anything
	if err != nil {
		return nil, dbError("open the journal", err)
	}
	// To open a connection takes longer than most queries. The servers of many tenants read at the same time.
	db.SetMaxIdleConns(maxIdle)
	db.SetConnMaxIdleTime(time.Minute)
	return db, nil
}

// maxIdle is how many connections stay open that nobody uses.
const maxIdle = 16

// openChecked opens the database if it is a readable journal. A new one is empty, see
// create; with existing it is an error.
func openChecked(ctx context.Context, path, pragmas string, existing bool) (*sql.DB, error) {
	db, err := openDB(path, pragmas)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		var found int
		found, err = checkFormat(ctx, conn, path)
		conn.Close()
		if err == nil && existing && found != version {
			err = value.Errorf(value.Failed, "open the journal: the database is damaged: it has no tables").WithHint(hintUnreadable)
		}
	}
	if err != nil {
		db.Close()
		return nil, dbError("open the journal", err)
	}
	return db, nil
}

// rollBack undoes a transaction that a killed process has left in the middle. Only a database
// that is not yet in WAL mode has one: that of a process killed while it created the journal.
func rollBack(ctx context.Context, path string) error {
	db, err := openDB(path, "&mode=rw")
	if err != nil {
		return err
	}
	var objects int
	return errors.Join(db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects), db.Close())
}

// create creates the tables of a new journal.
func create(ctx context.Context, db *sql.DB, path string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	found, err := checkFormat(ctx, conn, path)
	if err != nil || found == version {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // has no effect after COMMIT
	// Another process may have created them in the meantime.
	if found, err = checkFormat(ctx, conn, path); err != nil || found == version {
		return err
	}
	mark := fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d;", version, applicationID)
	if _, err := conn.ExecContext(ctx, schema+mark); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// checkFormat returns the version of the database, 0 for an empty file, and rejects
// every file that this package must not write to.
func checkFormat(ctx context.Context, conn *sql.Conn, path string) (int, error) {
	var found, app, objects, foreign int
	err := conn.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),
		count(*), count(*) FILTER (WHERE type NOT IN ('table', 'index')) FROM sqlite_schema`).Scan(&found, &app, &objects, &foreign)
	dir := filepath.Dir(path)
	switch {
	case err != nil:
		return 0, err
	case objects > 0 && app != applicationID:
		return 0, notJournal(path)
	case found > version:
		return 0, value.Errorf(value.Unavailable, "open the journal: %s was written by a newer cassidy: it has format %d, and this version reads %d", path, found, version).
			WithHint("use the newer cassidy, or another folder: set CASSIDY_HOME; nothing was changed; in Go, pass another folder to sqlite.Open")
	case foreign > 0, found == 0 && objects > 0: // no version has triggers or views
		return 0, notJournal(path)
	case found > 0 && found < version:
		return 0, value.Errorf(value.Invalid, "open the journal: %s has format %d, which this version cannot read", path, found).
			WithHint("move the folder away to start a new journal: mv %s %s", quote(dir), quote(dir+".old"))
	case found < 0:
		return 0, value.Errorf(value.Invalid, "open the journal: %s has an unknown format: %d", path, found).
			WithHint("move the folder away to start a new journal: mv %s %s", quote(dir), quote(dir+".old"))
	}
	return found, nil
}

func notJournal(path string) error {
	return value.Errorf(value.Invalid, "open the journal: %s is not a cassidy journal", path).
		WithHint("use another folder: set CASSIDY_HOME; nothing was changed; in Go, pass another folder to sqlite.Open")
}

// quote quotes a path for a shell.
func quote(path string) string {
	for _, r := range path {
		if !strings.ContainsRune(`/\.:_-+~`, r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
		}
	}
	return path
}
