package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/trust"
)

// ownerFile holds the ID of a project that its user has marked.
const ownerFile = ".cassidy/owner/id"

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// wantForeign checks that a tool is untrusted, since the folder is another one.
func (b *bench) wantForeign(what, reason string) {
	b.t.Helper()
	p, _ := b.load()
	if len(p.Tools) != 1 || p.Tools[0].Trusted || !strings.Contains(p.Tools[0].Reason, reason) {
		b.t.Errorf("%s: the tools are %+v, want one that is untrusted: %s", what, p.Tools, reason)
	}
}

const replaced = "the folder was replaced after you marked it as yours"

// TestX7AnotherFolder checks that files of an untrusted author that take the path of one's
// own project are not one's own, whatever they copy.
func TestX7AnotherFolder(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"project", "file"} {
		for _, tt := range []struct {
			name    string
			replace func(b *bench, id []byte)
		}{
			{"a new folder", func(b *bench, _ []byte) {
				b.must(os.RemoveAll(b.root))
			}},
			{"a new folder with the ID", func(b *bench, id []byte) {
				b.must(os.RemoveAll(b.root))
				b.write(ownerFile, string(id))
			}},
			{"the same folder, emptied", func(b *bench, _ []byte) {
				b.must(os.RemoveAll(filepath.Join(b.root, ".cassidy")))
			}},
			{"the same folder with the ID", func(b *bench, id []byte) {
				b.must(os.RemoveAll(filepath.Join(b.root, ".cassidy")))
				b.write(ownerFile, string(id))
			}},
			{"a copy in its place", func(b *bench, _ []byte) {
				copied := b.root + "-copy"
				b.must(os.CopyFS(copied, os.DirFS(b.root)))
				b.must(os.RemoveAll(b.root))
				b.must(os.Rename(copied, b.root))
			}},
			{"the old .cassidy in a new folder", func(b *bench, _ []byte) {
				b.must(os.Rename(filepath.Join(b.root, ".cassidy"), b.root+"-kept"))
				b.must(os.RemoveAll(b.root))
				b.must(os.Mkdir(b.root, 0o777))
				b.must(os.Rename(b.root+"-kept", filepath.Join(b.root, ".cassidy")))
			}},
			{"another ID", func(b *bench, _ []byte) { b.write(ownerFile, strings.Repeat("A", 26)) }},
			{"no ID", func(b *bench, _ []byte) { b.write(ownerFile, "") }},
			{"an ID elsewhere", func(b *bench, id []byte) {
				b.write("id", string(id))
				b.must(os.Remove(filepath.Join(b.root, ownerFile)))
				if err := os.Symlink("../../id", filepath.Join(b.root, ownerFile)); err != nil {
					b.t.Skip("no symbolic links here:", err)
				}
			}},
		} {
			t.Run(own+", "+tt.name, func(t *testing.T) {
				for range 4 { // the disk may give the numbers of the old files to the new ones
					b := trusting(t)
					b.write(tools+"a.star", star("Mine."))
					if own == "project" {
						b.author()
					} else {
						b.must(b.opts.Trust.Record(b.root, b.review().Files, true))
					}
					b.write(tools+"a.star", star("Edited."))
					b.wantStates("before", "a")
					id, err := os.ReadFile(filepath.Join(b.root, ownerFile))
					b.must(err)
					tt.replace(b, id)
					b.write(tools+"a.star", star("Of an untrusted author."))
					b.wantForeign(tt.name, replaced)
					if r := b.review(); r.Author || len(r.Untrusted()) != 1 {
						t.Errorf("the review has author %v and %d untrusted files, want one", r.Author, len(r.Untrusted()))
					}
				}
			})
		}
	}
}

// TestX7Moved checks what a move by the owner does: at another path nothing is trusted
// until it is marked there, and back at the old one everything is as it was.
func TestX7Moved(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(tools+"a.star", star("Mine."))
	b.author()
	old := b.root
	b.root = old + "-moved"
	b.must(os.Rename(old, b.root))
	b.wantForeign("moved", "nobody has reviewed it yet")
	b.author()
	b.write(tools+"a.star", star("Edited."))
	b.wantStates("marked again", "a")
	b.must(os.Rename(b.root, old))
	b.root = old
	b.wantStates("moved back", "a")
}

// TestX7MarkedAgain checks that a new mark in another folder does not revive what was
// trusted as own work in the old one.
func TestX7MarkedAgain(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(tools+"a.star", star("Mine."))
	b.must(b.opts.Trust.Record(b.root, b.review().Files, true))
	b.author()
	b.must(os.RemoveAll(b.root))
	b.write(tools+"a.star", star("Theirs."))
	b.write(tools+"b.star", star("Theirs."))
	files := b.review().Files
	b.must(b.opts.Trust.Record(b.root, files[1:], true)) // as cassidy tool new does
	b.wantStates("one new file of one's own", "a (the file has changed since it was trusted), b")
}

// TestX7Homes checks that two homes can own a project, and that a copied home still does.
func TestX7Homes(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(tools+"a.star", star("Mine."))
	first := t.TempDir()
	for _, state := range []string{first, t.TempDir(), first} {
		b.opts.Trust = trust.New(state)
		b.author()
		b.write(tools+"a.star", star("Edited."))
		b.wantStates("own", "a")
	}
	copied := filepath.Join(t.TempDir(), "copy")
	b.must(os.CopyFS(copied, os.DirFS(first)))
	b.opts.Trust = trust.New(copied)
	b.wantStates("a copied home", "a")
}

// TestX7Clone checks that git leaves the ID out of what others get.
func TestX7Clone(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.author()
	ignored, err := os.ReadFile(filepath.Join(b.root, ".cassidy/owner/.gitignore"))
	if err != nil || string(ignored) != "*\n" {
		t.Errorf(".gitignore = %q, %v", ignored, err)
	}
	link := filepath.Join(t.TempDir(), "project")
	outside := t.TempDir()
	b.must(os.Mkdir(link, 0o777))
	if err := os.Symlink(outside, filepath.Join(link, ".cassidy")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := b.opts.Trust.MarkAuthor(link); err == nil || !strings.Contains(err.Error(), ".cassidy/owner/id") {
		t.Errorf("marking a project whose .cassidy leads elsewhere: %v", err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("written outside of the project: %v", entries)
	}
}
