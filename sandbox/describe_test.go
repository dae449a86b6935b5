package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestDescribeAll checks that scripts described together are described as each is by
// itself, those that are broken, too long or have other shared files among them.
func TestDescribeAll(t *testing.T) {
	box := newProcess(t, nil, world)
	ctx := context.Background()
	var scripts []tool.Script
	for i := range 150 {
		s := script(fmt.Sprintf("f%d", i), "return 1")
		switch i % 10 {
		case 3:
			s.Source = "def f(:\n"
		case 5:
			s.Libs = map[string]string{"lib/a.star": "A = 1\n"}
			s.Source = "load(\"lib/a.star\", \"A\")\n" + s.Source
		case 7:
			s.Source += "x = " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "\n"
		}
		if i == 11 {
			s.Source = strings.Repeat("#", engine.MaxSource+1)
		}
		scripts = append(scripts, s)
	}
	tools, errs := box.DescribeAll(ctx, scripts)
	for i, s := range scripts {
		want, wantErr := box.Describe(ctx, s)
		if !reflect.DeepEqual(tools[i], want) || fmt.Sprint(errs[i]) != fmt.Sprint(wantErr) || value.KindOf(errs[i]) != value.KindOf(wantErr) {
			t.Errorf("DescribeAll gave %+v, %v for %s, Describe %+v, %v", tools[i], errs[i], s.Path, want, wantErr)
		}
	}
	if tools, errs := box.DescribeAll(ctx, nil); len(tools)+len(errs) != 0 {
		t.Errorf("DescribeAll of nothing = %v, %v", tools, errs)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, errs := box.DescribeAll(over, scripts[:3]); !errors.Is(errs[0], value.ErrCanceled) || errs[2] == nil {
		t.Errorf("with a context that has ended DescribeAll fails with %v, want each canceled", errs)
	}
}

// TestDescribeAllOfAHostileWorker checks that a worker which breaks the protocol is
// believed nothing, and that each script is then judged by itself.
func TestDescribeAllOfAHostileWorker(t *testing.T) {
	box := hostileProcess(t, "bad-type")
	scripts := []tool.Script{script("f0", "return 0"), script("f1", "return 1")}
	for range 2 {
		tools, errs := box.DescribeAll(context.Background(), scripts)
		for i := range scripts {
			if value.KindOf(errs[i]) != value.Security || tools[i].Name != "" {
				t.Errorf("DescribeAll in a hostile worker gave %+v, %v, want a security error", tools[i], errs[i])
			}
		}
	}
	poolIsQuiet(t, box)
}
