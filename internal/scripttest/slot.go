package scripttest

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A slot runs one test at a time. Its host and its folder are used for many tests, since it takes
// longer to open a host than to run a short test.
type slot struct {
	suite *Suite
	host  *host.Host
	dir   string // with the project and the state of its user
	test  atomic.Pointer[test]
}

// project is the folder that the effects of a test act on.
func (s *slot) project() string { return filepath.Join(s.dir, "project") }

// open opens the host of the slot, unless it is open.
func (s *slot) open() (err error) {
	if s.host != nil {
		return nil
	}
	for _, name := range []string{"project", "state"} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), 0o755); err != nil {
			return value.Errorf(value.Failed, "create a folder for tests: %w", folder.Cause(err))
		}
	}
	// Trust, config and environment of the user are not used, so that a test has the same result
	// for everybody.
	s.host, err = s.suite.opts.Runtime.Open(cassidy.Dir(s.suite.source()), &cassidy.Options{
		Dir: s.project(), State: filepath.Join(s.dir, "state"), Cache: filepath.Join(s.suite.dir, "cache"), TrustSource: true,
		Env: s.env, Secrets: s.secret, HTTP: func(http.RoundTripper) http.RoundTripper { return s }, Private: ownNetworks(),
		Modules: modules(&s.suite.opts, s), Approver: host.ApproverFunc(approve), Asker: host.AskerFunc(s.ask),
		Executor: s.execute,
	})
	return err
}

// approve approves everything: a test has no effects. What a person would be asked is tested
// with the needs of a tool, not with a test.
func approve(context.Context, tool.Question) (tool.Answer, error) { return tool.Answer{Yes: true}, nil }

// modules returns the modules of a host for tests. Without a slot it can only describe tools.
func modules(o *Options, s *slot) []tool.Module {
	list := []tool.Module{agent.ModelModule(func(context.Context) (model.Model, error) {
		return script.New("test", false, s.reply), nil
	})}
	list = append(list, o.Modules...)
	if s == nil {
		return list
	}
	if o.Cover {
		list = append(list, s.suite.cover.module())
	}
	return append(list, testModules(s)...)
}

// begin begins a test.
func (s *slot) begin(t *Test) *test {
	x := &test{Test: t, slot: s, id: "test-" + strconv.FormatInt(s.suite.numbers.Add(1), 10)}
	s.test.Store(x)
	return x
}

// end ends the test of the slot, and removes its files.
func (s *slot) end() {
	x := s.test.Swap(nil)
	if x == nil {
		return
	}
	x.end()
	if err := removeFiles(s.project()); err != nil || x.secrets != nil {
		// The values of secrets are hidden for as long as a host is open.
		_ = s.closeHost()
	}
}

func (s *slot) closeHost() error {
	if s.host == nil {
		return nil
	}
	err := s.host.Close()
	s.host = nil
	return err
}

// removeFiles removes everything in a folder.
func removeFiles(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// running returns the test that is running, or an error.
func (s *slot) running() (*test, error) {
	if s != nil {
		if x := s.test.Load(); x != nil {
			return x, nil
		}
	}
	return nil, value.Errorf(value.Canceled, "the test has ended")
}

// execute carries out an effect: it is the [host.Executor] of the slot.
func (s *slot) execute(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	x, err := s.running()
	if err != nil {
		return tool.Outcome{}, err
	}
	return x.execute(ctx, f, e, g)
}

func (s *slot) env(_ context.Context, name string) (string, error) {
	x, err := s.running()
	if err != nil {
		return "", err
	}
	return x.variable(name)
}

func (s *slot) secret(_ context.Context, name string) (string, error) {
	x, err := s.running()
	if err != nil {
		return "", err
	}
	return x.secret(name)
}

func (s *slot) ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	x, err := s.running()
	if err != nil {
		return tool.Answer{}, err
	}
	return x.answer(ctx, q)
}

func (s *slot) reply(ctx context.Context, messages value.List, _ int) (value.Value, error) {
	x, err := s.running()
	if err != nil {
		return nil, err
	}
	return x.reply(ctx, messages)
}

// RoundTrip implements [http.RoundTripper].
func (s *slot) RoundTrip(r *http.Request) (*http.Response, error) {
	x, err := s.running()
	if err != nil {
		return nil, err
	}
	return x.respond(r)
}

// internalEffects are effects that a test neither fakes nor lists.
var internalEffects = []string{"fs.prepare", "fs.commit", "fs.reconcile", "fs.finish", "fs.restore"}

func isInternal(f *tool.Func, name string) bool {
	return f.Mode == tool.ModeInternal && name != "random.seed" || slices.Contains(internalEffects, name)
}

// ownNetworks are the addresses that a user may have named in the config. Nothing is sent to them, so a test needs no config.
func ownNetworks() (all []netip.Prefix) {
	for _, text := range []string{"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"} {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}
