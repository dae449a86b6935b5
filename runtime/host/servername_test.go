package host_test

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestServerNames checks that a tool named SERVER.TOOL is found by each spelling of its name, and
// that another one cannot take the name in another spelling.
func TestServerNames(t *testing.T) {
	t.Parallel()
	h, err := host.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	do := func(context.Context, *value.Dict) (value.Value, error) { return "fine", nil }
	if err := h.Register(tool.Tool{Name: "weather.get-forecast", Description: "Return the forecast."}, do); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"weather.get-forecast", "weather__get_forecast", "weather.get_forecast"} {
		if r, err := h.Call(t.Context(), tool.Call{Tool: name}); err != nil || !r.Success || r.Value != "fine" {
			t.Errorf("the call of %s = %+v", name, r)
		}
	}
	if err := h.Register(tool.Tool{Name: "weather.get_forecast", Description: "Another one."}, do); err == nil {
		t.Error("a second tool has the same name in another spelling")
	}
	info, err := h.Tool("weather.get-forecast")
	if err != nil || info.ModelName() != "weather__get-forecast" {
		t.Errorf("ModelName = %q, %v", info.ModelName(), err)
	}
}
