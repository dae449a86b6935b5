package skill

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A skill of the standard (https://agentskills.io/specification) is a folder: the file SKILL.md has its instructions, and
// beside it are files that these name, such as scripts and references. All of them are reviewed together, as one text.

const (
	mainFile = "SKILL.md"
	// maxDepth is how deep below a folder of skills they are searched.
	maxDepth = 4
	// maxFound is how many entries are searched in one folder. A larger one is a mistake.
	maxFound = 1000
	// maxBytes is how many bytes of files beside SKILL.md are read in one folder of skills, and maxFiles how many files a
	// skill may have.
	maxBytes = 64 << 20
	maxFiles = 1000
)

// isSkill reports whether a name below a folder of skills is that of a skill which is a folder.
func isSkill(name string) bool { return path.Base(name) == mainFile }

// keyOf returns the key of a skill with a file.
func keyOf(file string) string {
	if isSkill(file) {
		return path.Base(path.Dir(file))
	}
	return strings.TrimSuffix(path.Base(file), ".md")
}

// Read calls read for the files of the skills in a folder, by their names there, and returns the errors. A skill is a
// Markdown file, in the folders of cassidy itself, or the file SKILL.md of a folder. For a folder without any skill, read
// is called with a file SKILL.md that does not exist.
func Read(p trust.Place, read func(files fs.FS, name string) error) []*value.Error {
	return p.Read(Max, func(files fs.FS, e fs.DirEntry) []string { return find(p, files, e) }, read)
}

// find returns the files of skills in an entry of a place.
func find(p trust.Place, files fs.FS, e fs.DirEntry) []string {
	name := e.Name()
	if strings.HasPrefix(name, ".") {
		return nil
	}
	if info, err := fs.Stat(files, path.Join(p.Dir, name)); err == nil && info.IsDir() {
		if found := findBelow(p, files, name, 1); len(found) > 0 {
			return found
		}
		return []string{path.Join(name, mainFile)}
	}
	if p.Own() && path.Ext(name) == ".md" && !strings.EqualFold(name, "README.md") {
		return []string{name}
	}
	return nil
}

// findBelow returns the files of the skills in a folder and below it. What is in a skill is no other skill.
func findBelow(p trust.Place, files fs.FS, dir string, depth int) (found []string) {
	main := path.Join(dir, mainFile)
	if _, err := fs.Stat(files, path.Join(p.Dir, main)); !errors.Is(err, fs.ErrNotExist) {
		return []string{main}
	}
	entries, _, err := folder.ReadDir(files, path.Join(p.Dir, dir), maxFound)
	if err != nil || depth == maxDepth {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "node_modules" {
			found = append(found, findBelow(p, files, path.Join(dir, e.Name()), depth+1)...)
		}
		if len(found) > Max {
			break
		}
	}
	return found
}

// A bundle is a skill that is a folder, as it is reviewed: the contents of its files, each after its name and its size, so
// different folders never have the same text. A file that a model cannot read as text counts by its hash.
type bundle struct {
	to    io.Writer
	left  *int64            // how many bytes may be read
	files []string          // the names from the skill's folder, but for SKILL.md
	sums  map[string][]byte // of the files that are text
}

// newBundle writes the bundle of a folder where SKILL.md has a text.
func newBundle(to io.Writer, left *int64, files fs.FS, dir, text string) (*bundle, error) {
	b := &bundle{to: to, left: left, sums: map[string][]byte{}}
	fmt.Fprintf(to, "=== %s (%d bytes)\n%s\n", mainFile, len(text), text) // as all of to, it does not fail
	err := fs.WalkDir(files, dir, func(name string, e fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, dir+"/")
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir // no part of the skill, unlike __pycache__, whose code Python runs
		case e.IsDir(), rel == mainFile:
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			if err := staysInside(files, dir, name); err != nil {
				return err
			}
		}
		return b.add(files, name, rel)
	})
	return b, err
}

// staysInside returns an error for a link that leads out of the folder of a skill: what is there was not reviewed with it.
func staysInside(files fs.FS, dir, name string) error {
	to, err := fs.ReadLink(files, name)
	if err != nil {
		return err
	}
	rel := folder.OneLine(strings.TrimPrefix(name, dir+"/"))
	if at := path.Join(path.Dir(name), to); !path.IsAbs(to) && strings.HasPrefix(at, dir+"/") {
		info, err := fs.Lstat(files, at)
		switch {
		case errors.Is(err, fs.ErrNotExist): // the skill itself exists, so the error does not match ErrNotExist
			return value.Errorf(value.Invalid, "the skill is not used: %s is a link to %s, which does not exist", rel, folder.OneLine(to)).
				WithHint("create that file, or remove the link")
		case err != nil:
			return fmt.Errorf("%s: %w", rel, folder.Cause(err))
		case info.Mode().IsRegular():
			return nil
		}
	}
	return value.Errorf(value.Invalid, "the skill is not used: %s is a link that leads out of its folder, or to another link", rel).
		WithHint("copy the file to the skill's folder")
}

// add adds a file.
func (b *bundle) add(files fs.FS, name, rel string) error {
	if len(b.files) == maxFiles {
		return value.Errorf(value.Limit, "the skill is not used: it has more than %d files", maxFiles)
	}
	b.files = append(b.files, rel)
	data, more, err := folder.ReadHead(files, name, *b.left)
	if err != nil {
		return fmt.Errorf("%s: %w", folder.OneLine(rel), folder.Cause(err))
	}
	if *b.left -= int64(len(data)); more {
		return value.Errorf(value.Limit, "the skill is not used: the files of skills are larger than %d MB in total", maxBytes>>20)
	}
	sum := sha256.Sum256(data)
	if isText(data) {
		b.sums[rel] = sum[:]
		fmt.Fprintf(b.to, "\n=== %q (%d bytes)\n%s\n", rel, len(data), data)
	} else {
		fmt.Fprintf(b.to, "\n=== %q (%d bytes, not text, SHA-256 %x)\n", rel, len(data), sum)
	}
	return nil
}

// isText reports whether a model can read a file.
func isText(data []byte) bool {
	return len(data) <= maxSize && utf8.Valid(data) && strings.IndexByte(string(data), 0) < 0
}

// resource returns the text of one of the skill's files.
func (b *bundle) resource(files fs.FS, dir, rel string) (string, error) {
	sum, known := b.sums[rel]
	if !known {
		e := value.Errorf(value.NotFound, "the skill has no file '%.200s' with text", folder.OneLine(rel))
		if len(b.files) == 0 {
			return "", e.WithHint("load the skill without the name of a file: it has no other files")
		}
		return "", e.WithHint("use one of: %s", value.Cut(strings.Join(value.Map(b.files, folder.OneLine), ", "), 500))
	}
	data, _, err := folder.ReadHead(files, path.Join(dir, rel), maxSize)
	if now := sha256.Sum256(data); err == nil && string(now[:]) != string(sum) {
		err = value.Errorf(value.Denied, "the file has changed while it was read").WithHint("try again")
	}
	return string(data), err
}

// ReviewedText returns what a review of a skill covers: the text of its file, or of all files of its folder.
func ReviewedText(files fs.FS, name string) (string, error) {
	text, err := folder.ReadText(files, name, maxSize)
	if err != nil || !isSkill(name) {
		return text, err
	}
	var b strings.Builder
	left := int64(maxBytes)
	_, err = newBundle(&b, &left, files, path.Dir(name), text)
	return b.String(), err
}
