package index

import (
	"maps"
	"sync"
)

// A Known is what a load of a project has read, for the next one in the same process: that
// one describes only the files that have changed, and keeps of a file which is
// broken now the last version that was not. The zero value is empty and ready, a
// nil one stays empty. It is safe for concurrent use.
type Known struct {
	mu     sync.Mutex
	places map[string]*Index
}

// Of returns what is known of a place, or nil.
func (k *Known) Of(place string) *Index {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.places[place]
}

// Take notes what was read of a place.
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
