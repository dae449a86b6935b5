package oauth

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/oauth2"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A record is what is stored of the sign-in at one server. Its tokens and its secret are never
// shown.
type record struct {
	Server         string    `json:"server"`    // the only one that gets the token
	TokenURL       string    `json:"token_url"` // the only one that gets the refresh token
	ClientID       string    `json:"client_id"`
	ClientSecret   string    `json:"client_secret"`
	SecretInHeader bool      `json:"secret_in_header"`
	Token          string    `json:"token"` // "" if nobody has signed in
	Refresh        string    `json:"refresh"`
	Expiry         time.Time `json:"expiry"` // zero means never
	Wanted         []string  `json:"wanted"` // the rights that the next sign-in asks for
}

// take takes the tokens of an answer.
func (r *record) take(t *oauth2.Token) {
	r.Token, r.Expiry = t.AccessToken, t.Expiry
	if t.RefreshToken != "" {
		r.Refresh = t.RefreshToken
	}
}

// String keeps the tokens out of formatted texts.
func (r record) String() string { return "sign-in at " + r.Server }

// A store is the file of one record.
type store struct {
	dir    string
	server string
	file   string
}

// newStore returns the store of a server. The name of the file is a digest of the URL.
func newStore(dir, server string) *store {
	return &store{dir: dir, server: server, file: filepath.Join(dir, tool.HashBytes([]byte(server))[:32]+".json")}
}

// maxRecord is the limit of a record, in bytes.
const maxRecord = 256 << 10

// read returns the record. If there is none, it is empty.
func (s *store) read() (*record, error) {
	empty := &record{Server: s.server}
	data, cut, err := folder.ReadHead(os.DirFS(s.dir), filepath.Base(s.file), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return nil, value.Errorf(value.Failed, "read the stored sign-in: %w", folder.Cause(err))
	}
	v, err := value.ParseJSON(data)
	if err != nil || cut {
		return empty, nil // it is damaged: the user signs in again
	}
	r, err := value.ToGo[record](v)
	if err != nil || r.Server != s.server {
		return empty, nil
	}
	return &r, nil
}

// change changes the record. Changes of several processes are made one after another.
func (s *store) change(edit func(*record) error) error {
	return s.locked(func(r *record) error {
		if err := edit(r); err != nil {
			return err
		}
		v, err := value.FromGo(r)
		if err == nil {
			err = s.write([]byte(value.FormatJSON(v, "  ") + "\n"))
		}
		if err != nil {
			return s.writeError(err)
		}
		return nil
	})
}

// locked calls a function with the record, which no other process changes meanwhile. The file that
// is locked stays: if it were deleted, two processes could have locked one of this name.
func (s *store) locked(do func(*record) error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return s.writeError(err)
	}
	unlock, err := lockedfile.MutexAt(s.file + ".lock").Lock()
	if err != nil {
		return s.writeError(err)
	}
	defer unlock()
	r, err := s.read()
	if err != nil {
		return err
	}
	return do(r)
}

func (s *store) writeError(err error) error {
	return folder.HomeError("write the sign-in in", s.dir, err)
}

// write replaces the file in one step. Only its user can read it.
func (s *store) write(data []byte) error {
	t, err := os.CreateTemp(s.dir, ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(t.Name()) // nothing after the rename
	_, err = t.Write(data)
	if err = errors.Join(err, t.Sync(), t.Close()); err != nil {
		return err
	}
	return os.Rename(t.Name(), s.file)
}

// remove deletes the record, and reports whether there was a token. A refresh in progress ends
// before.
func (s *store) remove() (had bool, err error) {
	if _, err := os.Stat(s.file); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = s.locked(func(r *record) error {
		had = r.Token != ""
		if err := os.Remove(s.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.writeError(err)
		}
		return nil
	})
	return had, err
}
