package testutil

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
)

func TestSample(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for soak, want := range map[string][]int{"": {0, 3, 6}, "1": all} {
		t.Setenv("CASSIDY_SOAK", soak)
		if got := Sample(all, 3); !slices.Equal(got, want) {
			t.Errorf("CASSIDY_SOAK=%s: Sample = %v, want %v", soak, got, want)
		}
		if got := Sample(all, 20); !slices.Equal(got, all) {
			t.Errorf("CASSIDY_SOAK=%s: Sample = %v, want %v", soak, got, all)
		}
	}
}

// Build builds a program once, however many tests ask for it at a time.
func TestBuild(t *testing.T) {
	root, err := moduleRoot("")
	if err != nil {
		t.Fatal(err)
	}
	var programs [4]string
	var errs [4]error
	var all sync.WaitGroup
	for i := range programs {
		all.Go(func() { programs[i], errs[i] = build(root, "cmd/cassidy-worker") })
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(programs[0])
	if err != nil {
		t.Fatal(err)
	}
	again, err := build(root, "cmd/cassidy-worker")
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(again)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the program was built again: %v", err)
	}
	out, err := exec.Command(programs[3]).CombinedOutput()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 2 {
		t.Errorf("the program ended with %v, %s", err, out)
	}
}
