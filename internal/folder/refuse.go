package folder

import (
	"io"
	"io/fs"
)

// Refusing returns files without those that refuse returns an error for, whatever their names: opening one of them fails. A
// nil refuse refuses none.
func Refusing(files fs.FS, refuse func(fs.FileInfo) error) fs.FS {
	if refuse == nil {
		return files
	}
	return refusing{files, refuse}
}

type refusing struct {
	fs.FS
	refuse func(fs.FileInfo) error
}

// Open implements [fs.FS].
func (r refusing) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat() // of what was opened: the name may lead elsewhere by now
	if err == nil && info.Mode().IsRegular() {
		err = r.refuse(info)
	}
	if err != nil {
		_ = f.Close() // it was not read
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

// Stat implements [fs.StatFS].
func (r refusing) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.FS, name) }

// ReadDir implements [fs.ReadDirFS].
func (r refusing) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS, name) }

// Lstat implements [fs.ReadLinkFS].
func (r refusing) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(r.FS, name) }

// ReadLink implements [fs.ReadLinkFS].
func (r refusing) ReadLink(name string) (string, error) { return fs.ReadLink(r.FS, name) }

// Close implements [io.Closer].
func (r refusing) Close() error {
	if c, ok := r.FS.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
