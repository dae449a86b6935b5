package agent_test

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestNewNeeds checks that an agent without a host or a model is an error that says
// what to set.
func TestNewNeeds(t *testing.T) {
	t.Parallel()
	h, err := host.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	_, noHost := agent.New(nil, &agent.Options{Model: parrot{}})
	_, noOptions := agent.New(h, nil)
	for name, err := range map[string]error{"no host": noHost, "no options": noOptions} {
		if e := value.ErrorOf(err, value.Failed); e == nil || e.Kind != value.Invalid || e.Hint == "" {
			t.Errorf("%s: New gave %v, want an error of kind Invalid with a hint", name, err)
		}
	}
}
