// Package swap changes the files of a folder so that no change of another process is lost,
// and so that after a crash it is known which changes were carried out.
//
// A change exchanges a file with its new content, compares what it displaced with what it
// expected there, and puts a change of somebody else back. What was displaced stays under a
// temporary name, which has a random mark, until [Place.Drop]: it is the proof that this
// change was carried out, also if the file is changed again.
package swap

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Prefix begins the names of temporary files.
const Prefix = ".cassidy-tmp-"

// The kinds of temporary files: the last letter of their names.
const (
	partial = "w" // a new content that is being written
	spare   = "n" // a new content, or after the exchange the old one
	gone    = "o" // a file that was removed, or a mark that one was created
)

// Errors of a [Place].
var (
	// ErrChanged: the file is not the expected one.
	ErrChanged = errors.New("the file was changed by another process")
	// ErrOpen: another process has the displaced file open for writing.
	ErrOpen = errors.New("the file is open for writing in another process")
)

// NewMark returns a random mark for the temporary files of one commit. It has the time,
// from which [Sweep] takes their age.
func NewMark(now time.Time) string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return fmt.Sprintf("%08x", uint32(now.Unix())) + hex.EncodeToString(b[:])
}

// markLen is the length of a mark.
const markLen = 24

// Derived returns the mark of a part of what has a mark, such as a step.
func Derived(mark, part string) string {
	if !ValidMark(mark) {
		return ""
	}
	return mark[:8] + sum([]byte(mark + "\x00" + part))[:16]
}

// ValidMark reports whether a text can be a mark.
func ValidMark(mark string) bool {
	return len(mark) == markLen && strings.Trim(mark, "0123456789abcdef") == ""
}

// Begun returns the time of a mark.
func Begun(mark string) time.Time {
	n, _ := strconv.ParseUint(mark[:8], 16, 32)
	return time.Unix(int64(n), 0)
}

// A Place is a name in a folder, with the names of its temporary files. The caller holds the
// [Lock] of the project.
type Place struct {
	dir   *os.Root // nil if the folder does not exist
	name  string
	temps *os.Root // the folder of the temporary files
	temp  string   // the beginning of their names

	exchanged func() // called after each exchange; nil except in tests
}

// At returns a place in a folder, which may be nil if it does not exist. Its temporary files
// are in temps, a folder of the same file system that no change of the commit removes. path
// identifies the place among those with the same mark.
func At(dir *os.Root, name string, temps *os.Root, mark, path string) Place {
	return Place{dir: dir, name: name, temps: temps, temp: Prefix + mark + sum([]byte(path))[:12]}
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// Write writes a new content beside the place, complete and durable. was is the file that
// it will replace, or nil; the new file gets its owner. exact sets the permissions
// independently of the umask. If the new content is there already, Write does nothing.
func (p Place) Write(data []byte, mode fs.FileMode, exact bool, was fs.FileInfo) (err error) {
	if _, err := p.temps.Lstat(p.temp + spare); err == nil {
		return nil
	}
	_ = p.temps.Remove(p.temp + partial) // of a process that died
	f, err := p.temps.OpenFile(p.temp+partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = p.temps.Remove(p.temp + partial) // the first error is returned
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if was != nil {
		keepOwner(f, was)
	}
	if exact {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return renameNew(p.temps, p.temp+partial, p.temps, p.temp+spare)
}

// Create gives the place, where there is nothing, the content of Write. It fails with
// fs.ErrExist if there is something now.
func (p Place) Create() error { return p.marked(renameNew) }

// marked gives the place the content of Write with a rename after which no displaced file shows
// that the change was carried out. A mark does, which is made before: it counts once the new
// content is no longer beside the place.
func (p Place) marked(rename func(in *os.Root, from string, dir *os.Root, to string) error) error {
	f, err := p.temps.OpenFile(p.temp+gone, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = rename(p.temps, p.temp+spare, p.dir, p.name)
	}
	if err != nil {
		_ = p.remove(gone) // the first error is returned
	}
	return err
}

// Replace exchanges the file was with the content of Write, which has the hash after. It fails
// with [ErrChanged], and leaves the place as it is, if another file is there.
func (p Place) Replace(was fs.FileInfo, after string) error {
	own, err := p.temps.Lstat(p.temp + spare)
	if err != nil {
		return err
	}
	err = p.exchange()
	if errors.Is(err, errors.ErrUnsupported) {
		return p.replaceBlindly(was)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	if p.isAt(spare, was) {
		return nil
	}
	return errors.Join(ErrChanged, p.exchangeBack(own, after))
}

// replaceBlindly is Replace on a file system that cannot exchange files: a change in the
// instant between the comparison and the rename is lost.
func (p Place) replaceBlindly(was fs.FileInfo) error {
	if info, err := p.dir.Lstat(p.name); err != nil || !Same(was, info) {
		return ErrChanged
	}
	return p.marked(rename)
}

func (p Place) exchange() error {
	err := exchange(p.temps, p.temp+spare, p.dir, p.name)
	if p.exchanged != nil {
		p.exchanged()
	}
	return err
}

// exchangeBack puts a file back that is not the expected one. own is the file that has taken
// its place, and content the hash that it had then. Where somebody has put another one there since, the newest stays and the
// displaced one is saved under a visible name, which the error has.
func (p Place) exchangeBack(own fs.FileInfo, content string) error {
	for range 3 { // each try needs another process that changes the file in the same instant
		if err := p.exchange(); err != nil {
			break
		}
		info, err := p.temps.Lstat(p.temp + spare)
		if err != nil {
			return err
		}
		if os.SameFile(own, info) {
			return p.carryOver(own, content)
		}
	}
	if p.isAt(spare, own) {
		return nil
	}
	return p.save(spare)
}

// carryOver appends what somebody has appended to the file own, while that was in the place, to
// the file that was put back. If somebody has changed it otherwise, it is saved under a visible
// name.
func (p Place) carryOver(own fs.FileInfo, content string) error {
	f, err := p.temps.OpenFile(p.temp+spare, os.O_RDONLY|noWait, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := waitQuiet(f); err != nil {
		return p.save(spare)
	}
	info, err := f.Stat()
	if err != nil || Same(own, info) {
		return err
	}
	begin, err := digest(io.NewSectionReader(f, 0, own.Size()))
	if err != nil || begin != content || info.Size() == own.Size() {
		return p.save(spare)
	}
	to, err := p.dir.OpenFile(p.name, os.O_WRONLY|os.O_APPEND|noWait, 0)
	if err != nil {
		return p.save(spare)
	}
	tail := io.NewSectionReader(f, own.Size(), info.Size()-own.Size())
	_, err = io.Copy(to, tail)
	return errors.Join(err, to.Close())
}

// waitQuiet waits until no process has a file open for writing.
func waitQuiet(f *os.File) error {
	for end := time.Now().Add(settleFor); ; time.Sleep(time.Millisecond) {
		quiet, known := isQuiet(f)
		if quiet || !known {
			return nil
		}
		if time.Now().After(end) {
			return ErrOpen
		}
	}
}

// save gives a displaced file that is not in a record a name that people see.
func (p Place) save(kind string) error {
	mark := p.temp[len(Prefix) : len(Prefix)+markLen] // another commit must not save to the same name
	name := fmt.Sprintf("%s.saved-%s", p.name, mark[markLen-8:])
	if err := renameNew(p.temps, p.temp+kind, p.dir, name); err != nil {
		return fmt.Errorf("cannot save the other version of the file: %w", err)
	}
	return fmt.Errorf("the other version of the file was saved as %s", name)
}

// Remove removes the file was. It fails with [ErrChanged], and leaves the place as it is, if
// another file is there.
func (p Place) Remove(was fs.FileInfo) error {
	if err := renameNew(p.dir, p.name, p.temps, p.temp+gone); err != nil {
		return err
	}
	if p.isAt(gone, was) {
		return nil
	}
	if err := renameNew(p.temps, p.temp+gone, p.dir, p.name); err != nil {
		return errors.Join(ErrChanged, p.save(gone))
	}
	return ErrChanged
}

// isAt reports whether a temporary name has a file, unchanged.
func (p Place) isAt(kind string, was fs.FileInfo) bool {
	info, err := p.temps.Lstat(p.temp + kind)
	return err == nil && Same(was, info)
}

// Same reports whether a thing on disk has not changed.
func Same(was, is fs.FileInfo) bool {
	if was == nil || is == nil {
		return was == nil && is == nil
	}
	if !os.SameFile(was, is) || was.Mode().Type() != is.Mode().Type() {
		return false
	}
	return was.IsDir() || was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
}

// settleFor is how long a process that has a displaced file open for writing has to close it.
const settleFor = 200 * time.Millisecond

// Verify checks last that what the change displaced is the content that was expected, and
// that nobody has it open for writing: what they would write would be lost.
func (p Place) Verify(before string) error {
	kind := spare
	if _, err := p.temps.Lstat(p.temp + kind); err != nil {
		kind = gone
	}
	f, err := p.temps.OpenFile(p.temp+kind, os.O_RDONLY|noWait, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := waitQuiet(f); err != nil {
		return err
	}
	if kind == gone && p.isMark(kind) { // of a file that was replaced blindly
		return nil
	}
	if is, err := digest(f); err != nil || is != before {
		return cmpErr(err, ErrChanged)
	}
	return nil
}

func digest(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), err
}

// irregular is the hash of what is not a regular file.
const irregular = "irregular"

// hash returns the digest of the file with a name, or "" where there is none.
func hash(dir *os.Root, name string) (string, error) {
	if dir == nil {
		return "", nil
	}
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return irregular, err
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return digest(f)
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// Evidence is what the temporary files of a place prove.
type Evidence uint8

const (
	None    Evidence = iota // nothing
	Ready                   // the change was not carried out, and its new content is there
	Done                    // it was carried out
	Foreign                 // it displaced a file that somebody else had changed
)

// Evidence returns what is known of a change from one content to another, by their hashes;
// "" is nothing.
func (p Place) Evidence(before, after string) (Evidence, error) {
	extra, err := hash(p.temps, p.temp+spare)
	if err != nil {
		return None, err
	}
	removed, err := hash(p.temps, p.temp+gone)
	switch {
	case err != nil:
		return None, err
	case extra != "" && extra == after:
		return Ready, nil
	case extra != "" && extra == before:
		return Done, nil
	case extra != "":
		return Foreign, nil
	case removed == "":
		return None, nil
	case after == "" && removed != before:
		return Foreign, nil
	}
	return Done, nil
}

// Undo reverts a change that was carried out, from one content to another. It fails with
// [ErrChanged] if the file is not as the change left it. needs reports that the old content is
// not there: the caller calls Write with it, and Overwrite.
func (p Place) Undo(before, after string) (needs bool, err error) {
	if after == "" {
		err := renameNew(p.temps, p.temp+gone, p.dir, p.name)
		if errors.Is(err, fs.ErrExist) {
			err = ErrChanged
		}
		return false, err
	}
	own, _ := p.dir.Lstat(p.name) // first: what changes after the comparison is then seen
	if is, err := hash(p.dir, p.name); err != nil || is != after {
		return false, cmpErr(err, ErrChanged)
	}
	if before == "" {
		return false, p.uncreate(own)
	}
	err = p.undoExchange(own, before)
	if !errors.Is(err, ErrChanged) && (errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist)) {
		_, missing := p.temps.Lstat(p.temp + spare)
		return missing != nil, ErrChanged
	}
	return false, err
}

// undoExchange puts the old content back in place of the file own, unless that has changed.
func (p Place) undoExchange(own fs.FileInfo, before string) error {
	old, err := p.temps.Lstat(p.temp + spare)
	if err == nil {
		err = p.exchange()
	}
	if err != nil || p.isAt(spare, own) {
		return err
	}
	return errors.Join(ErrChanged, p.exchangeBack(old, before))
}

// uncreate moves a created file away.
func (p Place) uncreate(own fs.FileInfo) error {
	if err := renameNew(p.dir, p.name, p.temps, p.temp+spare); err != nil {
		return err
	}
	if !p.isAt(spare, own) {
		return errors.Join(ErrChanged, renameNew(p.temps, p.temp+spare, p.dir, p.name))
	}
	return p.remove(gone)
}

// Overwrite gives the place the content of Write, whatever is there.
func (p Place) Overwrite() error {
	err := p.exchange()
	if errors.Is(err, fs.ErrNotExist) {
		return p.Create()
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(p.remove(gone), rename(p.temps, p.temp+spare, p.dir, p.name))
	}
	return err
}

// Restore puts back a file of somebody else that an interrupted change displaced. It fails
// with [ErrChanged] if the place is not as the change left it.
func (p Place) Restore(after string) error {
	if after == "" {
		_, err := p.Undo("", "")
		return err
	}
	own, _ := p.dir.Lstat(p.name)
	if is, err := hash(p.dir, p.name); err != nil || is != after {
		return cmpErr(err, ErrChanged)
	}
	return p.exchangeBack(own, after)
}

// Drop removes the temporary files of the place.
func (p Place) Drop() error {
	return errors.Join(p.remove(partial), p.remove(spare), p.remove(gone))
}

func (p Place) remove(kind string) error {
	err := p.temps.Remove(p.temp + kind)
	if err == nil {
		return nil
	}
	// A read-only file system reports that first, also for a file that does not exist.
	if _, missing := p.temps.Lstat(p.temp + kind); errors.Is(missing, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Salvage is Drop after a failure: a displaced content that has none of the known hashes, or that
// another process has open for writing, gets a visible name, which the error has.
func (p Place) Salvage(known map[string]bool) error {
	errs := []error{p.remove(partial)}
	for _, kind := range []string{spare, gone} {
		open := p.isOpen(kind) // first: what is written then is in the hash
		is, err := hash(p.temps, p.temp+kind)
		if err != nil || open || is != "" && !known[is] && !p.isMark(kind) {
			errs = append(errs, p.save(kind))
		} else {
			errs = append(errs, p.remove(kind))
		}
	}
	return errors.Join(errs...)
}

// isOpen reports whether another process has a temporary file open for writing, and does not
// close it in time.
func (p Place) isOpen(kind string) bool {
	f, err := p.temps.OpenFile(p.temp+kind, os.O_RDONLY|noWait, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return waitQuiet(f) != nil
}

// isMark reports whether a temporary file is the mark of a created file.
func (p Place) isMark(kind string) bool {
	info, err := p.temps.Lstat(p.temp + kind)
	return kind == gone && err == nil && info.Size() == 0
}

// Kept returns the content that a change has displaced, or if it was not carried out, its new
// content. It is nil if neither is there.
func (p Place) Kept(limit int64) []byte {
	for _, kind := range []string{spare, gone} {
		f, err := p.temps.OpenFile(p.temp+kind, os.O_RDONLY|noWait, 0)
		if err != nil {
			continue
		}
		defer f.Close()
		if data, err := io.ReadAll(io.LimitReader(f, limit)); err == nil {
			return data
		}
	}
	return nil
}

// maxSwept is how many names of a folder are looked at.
const maxSwept = 10_000

// Sweep removes the temporary files in a folder that began before a time. It ignores errors.
func Sweep(dir *os.Root, before time.Time) {
	f, err := dir.Open(".")
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxSwept)
	for _, name := range names {
		mark, ok := strings.CutPrefix(name, Prefix)
		if !ok || len(mark) != markLen+13 || !ValidMark(mark[:markLen]) || !Begun(mark).Before(before) {
			continue
		}
		if info, err := dir.Lstat(name); err == nil && info.Mode().IsRegular() {
			_ = dir.Remove(name)
		}
	}
}

// lockWait is how long a lock is waited for without a deadline: no commit takes that long.
const lockWait = time.Minute

// ErrLocked is the error of [Lock] if another process has the lock for too long.
var ErrLocked = errors.New("another process has locked the folder")

// Lock locks a folder for all processes that use Lock, until unlock is called or the process
// ends. It waits until ctx ends, and a minute at most. On systems and file systems without
// such locks it locks nothing.
func Lock(ctx context.Context, dir *os.Root) (unlock func(), err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(lockWait)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for wait := time.Millisecond; ; wait = min(2*wait, 8*time.Millisecond) {
		held, err := tryLock(f)
		if err != nil || !held { // there are no locks, or it is ours
			return func() { f.Close() }, nil
		}
		if time.Now().After(end) {
			f.Close()
			return nil, ErrLocked
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

// linkNew is a rename that fails if there is another file, on file systems where only links
// do: the file has two names for an instant. Where there are no links either, it looks first.
func linkNew(in *os.Root, from string, dir *os.Root, to string) error {
	err := link(in, from, dir, to)
	if err == nil {
		return in.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := dir.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return rename(in, from, dir, to)
}
