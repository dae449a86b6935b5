package tool

import "testing"

func TestStage(t *testing.T) {
	var s Stage
	file := func(text string) FileState {
		return FileState{Exists: true, Mode: 0o644, Data: []byte(text), Hash: HashBytes([]byte(text))}
	}
	if !s.Empty() || !(*Stage)(nil).Empty() {
		t.Errorf("a new stage is not empty")
	}
	if _, ok := s.Changed("a"); ok {
		t.Errorf("a new stage has a change")
	}
	s.Saw("b", FileState{})
	s.Saw("a", FileState{Exists: true, Hash: file("old").Hash}) // listed
	s.Saw("a", file("old"))                                     // and then read
	s.Saw("a", file("newer"))                                   // somebody else wrote it since
	if got, _ := s.Seen("a"); string(got.Data) != "old" {
		t.Errorf("first seen is %q, want %q", got.Data, "old")
	}
	s.Change("b", file("b"))
	s.Change("a", file("1"))
	s.Change("a", file("22"))
	if got, ok := s.Changed("a"); !ok || string(got.Data) != "22" {
		t.Errorf("Changed(a) = %q, %v, want the last", got.Data, ok)
	}
	changes := s.Changes()
	if len(changes) != 2 || changes[0].Path != "a" || changes[1].Path != "b" || string(changes[0].Before.Data) != "old" || changes[1].Before.Exists {
		t.Errorf("Changes() = %+v, want a and b with what they were", changes)
	}
	if got, want := s.Size(), (StageSize{Files: 2, Written: 3, Kept: 3}); got != want {
		t.Errorf("Size() = %+v, want %+v", got, want)
	}
	s.Change("a", file("old")) // as it was
	if got, want := s.Size(), (StageSize{Files: 1, Written: 1}); got != want {
		t.Errorf("Size() = %+v, want %+v", got, want)
	}
	s.Saw("dir", FileState{})
	s.Change("dir", FileState{Exists: true, Dir: true})
	s.Committed()
	if got, want := s.Size(), (StageSize{Files: 1, Folders: 1, Written: 1}); got != want || !s.Empty() {
		t.Errorf("after the commit Size() = %+v, want %+v, and empty", got, want)
	}
	if _, ok := s.Seen("a"); ok {
		t.Errorf("after the commit a is still seen")
	}
	one := Change{After: file("xyz")}
	if got := (StageSize{}).Plus(one).Minus(one); got != (StageSize{}) {
		t.Errorf("plus and minus one change is %+v, want nothing", got)
	}
}
