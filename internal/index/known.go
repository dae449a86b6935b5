package index

import (
	"maps"
	"sync"
)

// A Known is the result of loading a project, for the next load in the same process:
// that load describes only changed files, and keeps the last good version of a file
// that is broken now. The zero value is empty and ready to use; a nil one stays empty.
// It is safe for concurrent use.
type Known struct {
	mu     sync.Mutex
	places map[string]*Index
}

// Of returns the index of a place, or nil.
func (k *Known) Of(place string) *Index {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.places[place]
}

// Take stores the index of a place.
func (k *Known) Take(place string, read *Index) {
	if k == nil {
		return
	}
	x := *read
	x.Findings, x.Libs = sorted(x.Findings), maps.Clone(x.Libs)
	for name, lib := range x.Libs {
		lib.Text = ""
		x.Libs[name] = lib
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.places == nil {
		k.places = map[string]*Index{}
	}
	k.places[place] = &x
}
