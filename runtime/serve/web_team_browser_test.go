package serve

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/cassidy-run/cassidy/runtime/history"
)

var shots = flag.String("shots", "", "write pictures of the pages to this folder")

// A window is a tab of Chromium.
type window struct {
	t   *testing.T
	ctx context.Context
	mu  sync.Mutex
	log []string // of the console
}

// openWindow starts Chromium. It skips the test if there is none.
func openWindow(t *testing.T) *window {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Skip("THE PAGES ARE NOT CHECKED: there is no Chromium. On Debian: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1280, 900))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &window{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	issue(b, log.Enable, cdp.Empty{})
	issue(b, runtime.Enable, cdp.Empty{})
	issue(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"})
	return b
}

func issue[P, R any](b *window, cmd cdp.Command[P, R], params P) R {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, cmd, params)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *window) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.log = append(b.log, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		b.log = append(b.log, text)
	case *runtime.EventConsoleAPICalled:
		b.log = append(b.log, "console."+string(e.Type))
	}
}

// quiet checks that nothing was written to the console, besides what has a word.
func (b *window) quiet(except string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.log {
		if except == "" || !strings.Contains(text, except) {
			b.t.Errorf("the console has %q", text)
		}
	}
	b.log = nil
}

func (b *window) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

func eval[T any](b *window, script string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// sees waits until the page has a text.
func (b *window) sees(text string) {
	b.t.Helper()
	for end := time.Now().Add(30 * time.Second); !eval[bool](b, fmt.Sprintf("document.body?.textContent.includes(%q) ?? false", text)); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.shoot("missing")
			b.t.Fatalf("the page %s lacks %q:\n%s", eval[string](b, "location.href"), text, eval[string](b, "document.querySelector('main')?.innerText ?? document.body.innerText"))
		}
	}
}

// press presses the button or follows the link with a text.
func (b *window) press(text string) {
	b.t.Helper()
	b.sees(text)
	eval[bool](b, fmt.Sprintf("[...document.querySelectorAll('button, a.btn')].find(x => x.textContent.includes(%q)).click(); true", text))
}

// shoot writes a picture of the page.
func (b *window) shoot(name string) {
	if *shots == "" {
		return
	}
	for eval[string](b, "document.readyState") != "complete" {
		time.Sleep(20 * time.Millisecond)
	}
	data, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(*shots, name+".png"), data, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// signIn signs in with a token. It needs no page.
func (b *window) signIn(r *rig, token string) {
	b.t.Helper()
	response := r.browser(nil, http.MethodPost, "/login", "token="+token)
	for _, c := range response.Cookies() {
		issue(b, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: r.url})
	}
}

// TestTeamInBrowser begins a run over the API, watches its page, approves what it would change, sees it finish, and undoes it.
func TestTeamInBrowser(t *testing.T) {
	b := openWindow(t)
	r := newRig(t, nil).start()
	b.signIn(r, "ann")
	b.do(chromedp.Navigate(r.url + "/runs"))
	b.sees("Nothing has run here yet")
	b.shoot("first")
	run := r.post("rob", "/v1/tools/bump/call", `{"project": "bakery"}`, http.StatusAccepted).Text("id")
	b.press("1 new run")
	b.sees("bump wants to change 1 file")
	b.shoot("runs")
	b.do(chromedp.Navigate(r.url + "/runs/" + run))
	b.sees("May bump change this file?")
	b.sees("Live")
	b.shoot("question")
	file := filepath.Join(r.dirs["bakery"], "count")
	if err := os.WriteFile(file, []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.press("Approve: change 1 file")
	b.sees("Not approved: count has changed since you looked.")
	b.shoot("conflict")
	b.press("Approve: change 1 file")
	b.sees("You approved this")
	b.shoot("approved")
	r.until(run, history.Done)
	b.do(chromedp.Navigate(r.url + "/runs/" + run))
	b.press("Undo…")
	b.sees("Undo: restore 1 file")
	b.shoot("undo")
	b.press("Undo: restore 1 file")
	b.sees("Undoes")
	b.sees("Done")
	b.shoot("undone")
	if text, _ := os.ReadFile(file); string(text) != "5" {
		t.Errorf("the file is %q after the undo", text)
	}
	b.quiet("409")
}

// TestLiveRunInBrowser watches a run until it has ended, on a page that is not loaded again.
func TestLiveRunInBrowser(t *testing.T) {
	b := openWindow(t)
	r := newRig(t, nil).start()
	b.signIn(r, "vera")
	run := r.begin("rob", "sure", `{}`)
	q := r.question(run)
	r.until(run, history.Parked)
	b.do(chromedp.Navigate(r.url + "/runs/" + run))
	b.sees("You can view this question.")
	eval[bool](b, "window.stayed = true")
	r.post("ann", "/v1/runs/"+run+"/questions/"+q.Text("id")+"/answer", `{"yes": true}`, http.StatusOK)
	b.sees("ann: yes")
	b.sees("Result")
	b.sees("Done")
	if n := eval[int](b, "document.querySelectorAll('[data-tree] li[id]').length"); n != 7 {
		t.Errorf("the tree has %d steps, want 7", n)
	}
	if !eval[bool](b, "window.stayed === true") {
		t.Error("the page was loaded again")
	}
	b.shoot("live")
	b.quiet("")
}

// TestWithoutScript approves a change in a browser without scripts.
func TestWithoutScript(t *testing.T) {
	b := openWindow(t)
	r := newRig(t, nil).start()
	b.signIn(r, "ann")
	run, path, _ := r.questionOf()
	issue(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.do(chromedp.Navigate(r.url+path), chromedp.Click(`button[name=answer][value=yes]`), chromedp.WaitVisible("#answered"))
	r.until(run, history.Done)
	b.do(chromedp.Navigate(r.url+"/runs"), chromedp.Click("#runs a, .runs a"), chromedp.WaitVisible("#run-head"))
	b.quiet("")
}
