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
	"github.com/chromedp/chromedp/kb"
)

var shots = flag.String("shots", "", "write pictures of the pages to this folder")

// A tab is a tab of Chromium that shows a server.
type tab struct {
	*rig
	ctx   context.Context
	shots int
	mu    sync.Mutex
	log   []string // of the console
}

// lastResort is how long a test waits for a page.
const lastResort = 3 * time.Minute

// openTab starts Chromium. It skips the test if there is none.
func (r *rig) openTab() *tab {
	r.t.Helper()
	if testing.Short() {
		r.t.Skip("it takes a browser")
	}
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
	ctx, cancel := context.WithTimeout(b.ctx, lastResort)
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
	ctx, cancel := context.WithTimeout(b.ctx, lastResort)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+script+")"))
	if err != nil {
		return err.Error()
	}
	return v
}

// has waits until the page is loaded and its text has texts, and its address too if they begin with a slash. What is
// entered into a page that still loads may be lost.
func (b *tab) has(texts ...string) {
	b.t.Helper()
	at, all := "", ""
	for end := time.Now().Add(lastResort); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		at, all = b.text("location.pathname + location.search"), strings.Join(strings.Fields(b.text("document.readyState != 'complete' ? '' : document.body.innerText + ' ' + [...document.querySelectorAll('input,textarea')].map(x => x.value).join(' ')")), " ")
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
	if *shots == "" {
		return
	}
	b.shots++
	for _, s := range [][2]int64{{390, 844}, {1280, 860}} {
		b.screen(s[0], s[1])
		ctx, cancel := context.WithTimeout(b.ctx, lastResort)
		png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		cancel()
		if err == nil {
			err = os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%s-%02d-%s-%d.png", b.t.Name(), b.shots, name, s[0])), png, 0o600)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// eval returns the value of a script in the page.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, lastResort)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// sees waits until the page contains a text, whether that is drawn or not.
func (b *tab) sees(text string) {
	b.t.Helper()
	for end := time.Now().Add(lastResort); !eval[bool](b, fmt.Sprintf("document.body?.textContent.includes(%q) ?? false", text)); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("the page %s lacks %q:\n%s", b.text("location.href"), text, b.text("document.querySelector('main')?.innerText ?? document.body.innerText"))
		}
	}
}

// choose presses the button or follows the link with a text.
func (b *tab) choose(text string) {
	b.t.Helper()
	b.sees(text)
	eval[bool](b, fmt.Sprintf("[...document.querySelectorAll('button, a.btn')].find(x => x.textContent.includes(%q)).click(); true", text))
}

// signIn signs in with a token. It needs no page.
func (b *tab) signIn(token string) {
	b.t.Helper()
	for _, c := range b.browser(nil, http.MethodPost, "/login", "token="+token).Cookies() {
		command(b, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.url})
	}
}
