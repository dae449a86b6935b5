package eval_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/agent/eval"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A program runs a suite with a model of its own. Each case gets a temporary folder and a host.
func Example() {
	suite, err := eval.Parse("evals.yaml", `
tasks:
  - name: capital
    task: What is the capital of France?
    checks: [answer: Paris]
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	runtime, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runtime.Close()
	open := func(_ context.Context, c *eval.Case) (*eval.Bench, error) {
		dir, err := os.MkdirTemp("", "eval-")
		if err != nil {
			return nil, err
		}
		for name, text := range c.Files {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
				return nil, err
			}
		}
		host, err := runtime.Open(cassidy.Dir(dir), &cassidy.Options{Dir: dir})
		if err != nil {
			return nil, err
		}
		end := func() error { return errors.Join(host.Close(), os.RemoveAll(dir)) }
		return &eval.Bench{Host: host, Files: os.DirFS(dir), Close: end}, nil
	}
	report, err := suite.Run(context.Background(), &eval.Options{Open: open, Model: func(context.Context, string, bool) (model.Model, error) {
		return script.New("geographer", false, func(context.Context, value.List, int) (value.Value, error) {
			return "TASK COMPLETE: It is Paris.", nil
		}), nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		fmt.Println(r.Name(), r.Success, r.Answer)
	}
	// Output: capital/script:geographer/pure_json true It is Paris.
}
