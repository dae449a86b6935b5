package project

import (
	"maps"
	"sync"
)

// A Known is what a [Load] has read, for the next one in the same process: that
// one describes only the files that have changed, and keeps of a file which is
// broken now the last version that was not. The zero value is empty and ready, a
// nil one stays empty. It is safe for concurrent use.
type Known struct {
	mu     sync.Mutex
	places map[string]*index
}

// of returns what is known of a place, or nil.
func (k *Known) of(place string) *index {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.places[place]
}

// take notes what was read of a place.
func (k *Known) take(place string, read *index) {
	if k == nil {
		return
	}
	x := *read
	x.findings, x.libs = sorted(x.findings), maps.Clone(x.libs)
	for name, lib := range x.libs {
		lib.text = ""
		x.libs[name] = lib
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.places == nil {
		k.places = map[string]*index{}
	}
	k.places[place] = &x
}
