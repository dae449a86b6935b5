package protect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxFiles is how many files the programs of a project may have, and maxFile how large one
	// may be, in bytes. Nobody reviews more.
	maxFiles = 1000
	maxFile  = 512 << 20
	// maxText is the limit of a text that is reviewed as it is, in bytes.
	maxText = 1 << 20
)

// installed are the folders whose files nobody reviews: they are protected, and made from other files.
var installed = []string{"__pycache__", "node_modules", ".venv", "venv", ".git"}

// A File is a file that a program starts. Text is what a person reviews: its text, or for another
// file its size and its hash.
type File struct {
	Path string // from the root, without links
	Text string
}

// Files returns the files of the project that exist of those that some programs name, by path, with
// all files of the folders among them but what was installed there. A file that a program may write itself is left out: it can
// only be protected. The error is of the file in its path.
func (p *Project) Files(programs []Program) (files []File, err error) {
	found := map[string]bool{}
	for i := range programs {
		for _, code := range p.Named(".", &programs[i]) {
			at, info := p.leads(code.Path)
			if info == nil || code.Ends != nil { // what is in the folder is listed, too
				continue
			}
			err := fs.WalkDir(p.Root.FS(), at, func(at string, d fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return err
				case d.IsDir() && slices.Contains(installed, path.Base(at)):
					return fs.SkipDir
				case d.Type().IsRegular() && !p.writes(&programs[i], at):
					found[at] = true
				}
				if len(found) > maxFiles {
					return &fs.PathError{Op: "read", Path: at, Err: fmt.Errorf("the programs of the servers have more than %d files", maxFiles)}
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for at := range found {
		text, err := p.text(at)
		if err != nil {
			return nil, err
		}
		files = append(files, File{at, text})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// writes reports whether a program may write a file itself.
func (p *Project) writes(of *Program, at string) bool {
	return slices.ContainsFunc(of.Writes, func(name string) bool {
		to, info := p.leads(p.from(".", name))
		return info != nil && (to == "." || at == to || strings.HasPrefix(at, to+"/"))
	})
}

// text returns what a person reviews of a file.
func (p *Project) text(at string) (string, error) {
	f, err := p.Root.Open(at)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return "", err
	}
	if len(head) <= maxText && utf8.Valid(head) {
		return string(head), nil
	}
	sum := sha256.New()
	_, _ = sum.Write(head)
	n, err := io.Copy(sum, io.LimitReader(f, maxFile))
	if err == nil && n == maxFile {
		err = &fs.PathError{Op: "read", Path: at, Err: fmt.Errorf("the file is larger than %d MB", maxFile>>20)}
	}
	return fmt.Sprintf("a file of %d bytes that is not shown, sha256:%s\n", int64(len(head))+n, hex.EncodeToString(sum.Sum(nil))), err
}
