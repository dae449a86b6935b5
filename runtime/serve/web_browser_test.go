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
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cassidy-run/cassidy/runtime/history"
)

var tabShots = flag.String("tabshots", "", "write pictures of the pages of tools and chats to this folder")

// A tab is a tab of Chromium that shows a server.
type tab struct {
	*rig
	ctx   context.Context
	shots int
	mu    sync.Mutex
	log   []string // of the console
}

// openTab starts Chromium. It skips the test if there is none.
func (r *rig) openTab() *tab {
	r.t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		r.t.Skip("THE PAGES ARE NOT CHECKED: there is no Chromium. On Debian: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(r.t.TempDir()), chromedp.Flag("hide-scrollbars", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	r.t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	r.t.Cleanup(cancel)
	b := &tab{rig: r, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		r.t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		r.t.Fatal(err)
	}
	command(b, log.Enable, cdp.Empty{})
	command(b, runtime.Enable, cdp.Empty{})
	command(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Zurich"})
	b.screen(1280, 860)
	return b
}

func command[P, R any](b *tab, cmd cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, cmd, params); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) screen(width, height int64) {
	b.t.Helper()
	command(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600})
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if strings.Contains(e.Entry.Text, "a status of 4") { // of a page that says what is wrong
			return
		}
		b.log = append(b.log, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text + " " + e.ExceptionDetails.URL
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		if strings.Contains(text, "Transition was ") { // a picture was taken while a page was replaced
			return
		}
		b.log = append(b.log, text)
	case *runtime.EventConsoleAPICalled:
		b.log = append(b.log, "console."+string(e.Type))
	}
}

// quiet checks that nothing was written to the console.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.log) > 0 {
		b.t.Errorf("the console has %q", b.log)
	}
}

// act acts in the page.
func (b *tab) act(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%v on %s:\n%s", err, b.text("location.href"), b.text("document.body.innerText"))
	}
}

func (b *tab) open(path string) { b.act(chromedp.Navigate(b.url + path)) }

// click presses a link or a button, by the keyboard.
func (b *tab) click(selector string) { b.press(selector, kb.Enter) }

// press presses a key in an element that a selector finds.
func (b *tab) press(selector, key string) {
	b.t.Helper()
	b.act(chromedp.WaitVisible(selector), chromedp.Focus(selector), chromedp.KeyEvent(key))
}

// enter types into a field.
func (b *tab) enter(selector, text string) { b.act(chromedp.SendKeys(selector, text)) }

// set replaces what is in a field.
func (b *tab) set(selector, text string) {
	b.text(fmt.Sprintf("document.querySelector(%q).value = %q", selector, text))
}

// text returns the text of a script in the page.
func (b *tab) text(script string) string {
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+script+")"))
	if err != nil {
		return err.Error()
	}
	return v
}

// has waits until the text of the page has texts, and its address too if they begin with a slash.
func (b *tab) has(texts ...string) {
	b.t.Helper()
	at, all := "", ""
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		at, all = b.text("location.pathname + location.search"), strings.Join(strings.Fields(b.text("document.body?.innerText + ' ' + [...document.querySelectorAll('input,textarea')].map(x => x.value).join(' ')")), " ")
		missing := ""
		for _, text := range texts {
			if strings.HasPrefix(text, "/") && !strings.HasPrefix(at, text) || !strings.HasPrefix(text, "/") && !strings.Contains(all, text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
	}
	b.t.Fatalf("%s has not %q:\n%s", at, texts, all)
}

// shot writes a picture of the page in both widths, if the flag asks for it.
func (b *tab) shot(name string) {
	b.t.Helper()
	if *tabShots == "" {
		return
	}
	b.shots++
	for _, s := range [][2]int64{{390, 844}, {1280, 860}} {
		b.screen(s[0], s[1])
		ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
		png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		cancel()
		if err == nil {
			err = os.WriteFile(filepath.Join(*tabShots, fmt.Sprintf("%s-%02d-%s-%d.png", b.t.Name(), b.shots, name, s[0])), png, 0o600)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

func browserRig(t *testing.T, s *speaker) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes a browser")
	}
	t.Parallel()
	r := newRig(t, func(o *Options) {
		o.Projects = o.Projects[:1]
		withAgent(s, o, 0)
	}).start()
	r.addKinds()
	return r
}

// TestToolsInBrowser signs in, runs a tool with a parameter of each kind, begins a workflow from its form, and signs out.
func TestToolsInBrowser(t *testing.T) {
	r := browserRig(t, &speaker{})
	b := r.openTab()
	b.open("/tools")
	b.has("/login?next=%2Ftools", "Token")
	b.shot("login")
	b.open("/login?code=" + r.SignInCode() + "&next=%2Ftools")
	b.has("works once", "Tools")
	b.shot("login-code")
	b.click("form .pri")
	b.has("/tools", "Return the arguments.", "owner")
	b.shot("tools")
	b.enter("#q", "kinds\r")
	b.has("/tools?q=kinds", "kinds")
	b.click(".tools a")
	b.has("/tools/kinds", "Run kinds", "The result appears here.")
	b.shot("kinds")
	b.enter(`[name="/path"]`, "data/orders.csv")
	b.press(`label:nth-of-type(3) > [name="/by"]`, " ")
	b.enter(`[name="/more"]`, "anything")
	b.click(`[name="_add"][value="/cities"]`)
	b.act(chromedp.WaitVisible(`[name="/cities/0"]`))
	b.enter(`[name="/cities/0"]`, "Bern")
	b.click(`[name="_add"][value="/rename"]`)
	b.act(chromedp.WaitVisible(`[name="/rename/0/key"]`))
	b.enter(`[name="/rename/0/key"]`, "amount")
	b.enter(`[name="/rename/0/value"]`, "euros")
	b.enter(`[name="/password"]`, "hidden")
	b.click(`[data-sent] summary`)
	b.has("cassidy tool run kinds", "••••••")
	b.click(".form .acts .pri")
	b.has("Not run yet.", "is not JSON", "data/orders.csv")
	b.shot("kinds-wrong")
	b.set(`[name="/more"]`, "[1, 2]")
	b.enter(`[name="/password"]`, "hidden")
	b.click(".form .acts .pri")
	b.has("/tools/kinds?run=", "Done", "6 rows", "amount", "hidden")
	if at := b.text("document.activeElement.id"); at != "result" {
		t.Errorf("the focus is on %q", at)
	}
	b.shot("kinds-done")
	b.click("th a")
	b.has("/tools/kinds?run=")
	b.click(`.form [value="json"]`)
	b.has("Edit as a form", `"path": "data/orders.csv"`)
	b.shot("kinds-json")
	for _, tab := range []string{"doc", "runs"} {
		b.open("/tools/kinds?tab=" + tab)
		b.has("kinds")
		b.shot("kinds-" + tab)
	}

	b.open("/workflows")
	b.has("greet")
	b.shot("workflows")
	b.open("/workflows/sure")
	b.enter(`[name="/n"]`, "2")
	b.click(".form .acts .pri")
	b.has("/workflows/sure?run=", "Waiting", "It waits for an answer.")
	b.shot("workflow-waits")
	id := strings.TrimPrefix(b.text("location.search"), "?run=")
	r.post("owner-token", "/v1/runs/"+id+"/questions/"+r.question(id).Text("id")+"/answer", `{"yes": true}`, http.StatusOK)
	b.has("Done", "done", "Edit and run again")

	b.open("/settings")
	b.has("now Europe/Zurich")
	b.enter("#zone", "Asia/Tokyo")
	b.press(`[name="theme"][value="dark"]`, " ")
	b.click("form.narrow .pri")
	b.has("Saved.", "Times in Asia/Tokyo")
	b.shot("settings")
	b.open("/audit")
	b.has("began a run", "signed in", "approved")
	b.shot("audit")
	b.click(`form[action="/logout"] button`)
	b.has("/login", "Token")
	b.quiet()
	b.enter("#token", "wrong\r")
	b.has("This token is not known")
	b.enter("#token", "rob\r")
	b.has("/runs", "rob")
}

// TestChatInBrowser talks with an agent whose text arrives live.
func TestChatInBrowser(t *testing.T) {
	s := &speaker{make(chan string)}
	r := browserRig(t, s)
	b := r.openTab()
	b.open("/login?code=" + r.SignInCode() + "&next=%2Fchat")
	b.click("form .pri")
	b.has("/chat", "New chat")
	b.shot("new")
	b.enter("#say-in", "please call echo\r")
	b.has("/chat/", "The tool says:", "a line of echo", "turn 1")
	b.shot("called")
	b.act(chromedp.SendKeys("#say-in", "now a line"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(kb.ModifierShift)), chromedp.SendKeys("#say-in", "and then slowly\r"))
	b.has("now a line and then slowly", "Running", "Stop", "Send after this turn")
	b.act(chromedp.WaitReady("[data-stream]"))
	s.pieces <- "Once upon "
	b.has("Once upon")
	b.enter("#say-in", "a draft")
	s.pieces <- "a *time*"
	b.has("Once upon a *time*", "a draft")
	if got := b.text("document.querySelector('#say-in').value"); got != "a draft" {
		t.Errorf("the composer has %q, and the storage %s", got, b.text("JSON.stringify(sessionStorage)"))
	}
	b.shot("live")
	s.pieces <- ""
	b.has("Once upon a time", "turn 2", "a draft", "Send")
	if got := b.text("!!document.querySelector('[name=stop]') || !!document.querySelector('.caret')"); got != "false" {
		t.Error("the turn has not ended on the page")
	}
	b.set("#say-in", "")
	b.enter("#say-in", "call ask\r")
	b.has("which?", "Waiting")
	b.shot("asks")
	talk := b.text("location.pathname")
	b.enter(".calls textarea", "the second one")
	b.click(".calls .answer .pri")
	b.has("/questions/", "the second one")
	b.open(talk)
	b.has("turn 3", "The tool says: RESULT (ask): the second one")
	b.enter("#say-in", "call ask\r")
	b.has("turn 4", "Waiting")
	b.enter("#say-in", "kept")
	b.click("[name=stop]")
	b.has("Cancelled", "kept")
	b.shot("cancelled")
	b.open("/agents/reviewer")
	b.has("You review invoices.")
	b.shot("agent")
	b.click(".acts .pri")
	b.has("/chat?agent=reviewer")
	b.open("/agents")
	b.shot("agents")
	b.quiet()
}

// TestToolsWithoutScript does the same without the module.
func TestToolsWithoutScript(t *testing.T) {
	r := browserRig(t, &speaker{})
	b := r.openTab()
	command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.open("/login")
	page := func(texts ...string) {
		t.Helper()
		text := ""
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
			got, err := chromedp.Run(ctx, chromedp.Text("body"))
			cancel()
			if text = strings.Join(strings.Fields(got), " "); err == nil && containsAll(text, texts) {
				return
			}
		}
		t.Fatalf("the page has not %q:\n%s", texts, text)
	}
	b.enter("#token", "ada\r")
	page("ada")
	b.open("/tools/kinds")
	b.enter(`[name="/path"]`, "a")
	b.click(`[name="_add"][value="/cities"]`)
	page("Remove")
	b.enter(`[name="/cities/0"]`, "Bern")
	b.click(".form .acts .pri")
	page("Done", "rows", "Bern")
	b.open("/workflows/greet")
	b.enter(`[name="/name"]`, "Ann")
	b.click(".form .acts .pri")
	page("hello Ann")
	b.open("/chat")
	b.enter("#say-in", "hello")
	b.click(".compose .pri")
	page("hello", "As of")
	id := ""
	for id == "" {
		for run := range r.projects[0].Host.Runs(t.Context(), history.Filter{Kind: chatKind}) {
			id = run.ID
		}
	}
	r.until(id, history.Done)
	b.open("/chat/" + id)
	page("You said: hello")
	b.quiet()
}

func containsAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
