// Package browsertest shows pages to tests in Chromium, of which each test binary starts one at most. A package declares that
// once:
//
//	func TestMain(m *testing.M) { browsertest.Main(m) }
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

// LastResort is how long a test waits for a page.
const LastResort = 3 * time.Minute

// Main is the body of a TestMain, as [testutil.Main], and ends the browser of the tests.
func Main(m *testing.M) {
	testutil.CollectRarely()
	testutil.TempInMemory()
	b := &browser{}
	current.Store(b)
	code := m.Run()
	b.close()
	os.Exit(code)
}

// current is the browser of these tests.
var current atomic.Pointer[browser]

// A browser is a process of Chromium, which begins with the first tab.
type browser struct {
	once   sync.Once
	ctx    context.Context // nil without Chromium
	err    error
	cancel []func()
}

func (b *browser) start() {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		dir, err := os.MkdirTemp("", "browsertest")
		if err != nil {
			b.err = err
			return
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(dir), chromedp.Flag("hide-scrollbars", true))
		ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, leave := chromedp.NewContext(ctx)
		b.cancel = []func(){leave, stop, func() { _ = os.RemoveAll(dir) }}
		b.ctx, b.err = ctx, chromedp.Do(ctx)
		return
	}
}

func (b *browser) close() {
	for _, cancel := range b.cancel {
		cancel()
	}
}

// A Tab is a tab of Chromium, with cookies of its own and the focus.
type Tab struct {
	t   testing.TB
	ctx context.Context
	log *console
}

// A console is what a tab has written there.
type console struct {
	sync.Mutex
	lines []string
}

// Open opens a tab until the test ends. It skips the test if there is no Chromium, and in a short run, since pages are no
// goroutines.
func Open(t testing.TB) *Tab {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes a browser")
	}
	b := current.Load()
	if b == nil {
		t.Fatal("the TestMain of the package must call browsertest.Main")
	}
	b.once.Do(b.start)
	if b.err != nil {
		t.Fatal(b.err)
	}
	if b.ctx == nil {
		t.Skip("THE PAGES ARE NOT CHECKED: there is no Chromium. On Debian: apt-get install chromium")
	}
	written := &console{}
	ctx, leave := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(written.listen))
	t.Cleanup(leave)
	tab := &Tab{t: t, ctx: ctx, log: written}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	Call(tab, log.Enable, cdp.Empty{})
	Call(tab, runtime.Enable, cdp.Empty{})
	Call(tab, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return tab
}

// For returns the same tab for a subtest, which fails if something does.
func (tab *Tab) For(t testing.TB) *Tab { return &Tab{t: t, ctx: tab.ctx, log: tab.log} }

// Call sends a command of the DevTools protocol.
func Call[P, R any](tab *Tab, cmd cdp.Command[P, R], params P) {
	tab.t.Helper()
	if _, err := chromedp.Call(tab.ctx, cmd, params); err != nil {
		tab.t.Fatal(err)
	}
}

// Screen sets the size of the page. A narrow one is that of a phone.
func (tab *Tab) Screen(width, height int64) {
	tab.t.Helper()
	Call(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600})
}

// Zone sets the time zone of the page.
func (tab *Tab) Zone(id string) {
	tab.t.Helper()
	Call(tab, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: id})
}

// WithoutScript lets the page execute no script of its own.
func (tab *Tab) WithoutScript() {
	tab.t.Helper()
	Call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// Run acts in the page, and returns the result of the action.
func Run[T any](tab *Tab, action chromedp.Action[T]) T {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, LastResort)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		tab.t.Fatalf("%v on %s:\n%s", err, tab.Text("location.href"), tab.Text("document.body.innerText"))
	}
	return v
}

// Do acts in the page.
func (tab *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	for _, a := range actions {
		Run(tab, a)
	}
}

// Eval returns the value of a script in the page.
func Eval[T any](tab *Tab, script string) T {
	tab.t.Helper()
	return Run(tab, chromedp.Evaluate[T](script))
}

// Text returns the value of a script in the page as a text, or why there is none.
func (tab *Tab) Text(script string) string {
	ctx, cancel := context.WithTimeout(tab.ctx, LastResort)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+script+")"))
	if err != nil {
		return err.Error()
	}
	return v
}

// Until calls a function again and again until it returns "", and fails with what it returns.
func (tab *Tab) Until(missing func() string) {
	tab.t.Helper()
	for end := time.Now().Add(LastResort); ; time.Sleep(20 * time.Millisecond) {
		text := missing()
		if text == "" {
			return
		}
		if time.Now().After(end) {
			tab.t.Fatalf("%s on %s:\n%s", text, tab.Text("location.href"), tab.Text("document.body.innerText"))
		}
	}
}

// Wait waits until a script in the page is true.
func (tab *Tab) Wait(script string) {
	tab.t.Helper()
	tab.Until(func() string {
		if Eval[bool](tab, "Boolean("+script+")") {
			return ""
		}
		return "it stays false that " + script
	})
}

// Console returns what was written to the console since the last call.
func (tab *Tab) Console() []string {
	tab.log.Lock()
	defer tab.log.Unlock()
	lines := tab.log.lines
	tab.log.lines = nil
	return lines
}

func (c *console) listen(event any) {
	c.Lock()
	defer c.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		c.lines = append(c.lines, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text + " " + e.ExceptionDetails.URL
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		c.lines = append(c.lines, text)
	case *runtime.EventConsoleAPICalled:
		c.lines = append(c.lines, "console."+string(e.Type))
	}
}
