package page

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

	"github.com/cassidy-run/cassidy/internal/testutil"
)

var shots = flag.String("shots", "", "write pictures of the pages to this folder")

// policy is the Content-Security-Policy of the server.
const policy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

//go:embed testdata/check.js
var checkScript string

// TestBrowser checks pages in Chromium: contrast, overflow, the order and sight of the focus, and that nothing
// is written to the console.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a browser")
	}
	t.Parallel()
	checkBrowser(t, samples())
}

// A screen is what pages are looked at with.
type screen struct {
	width, height int64
	theme         string
}

// screens are looked at in this order.
var screens = []screen{{1280, 860, "light"}, {1280, 860, "dark"}, {390, 844, "light"}, {390, 844, "dark"}}

// checkBrowser checks all pages on all screens under make soak, and else every other page on one screen, in turn.
func checkBrowser(t *testing.T, list []sample) {
	t.Helper()
	url := serveSamples(t, list)
	b := openBrowser(t)
	for i, s := range list {
		looked, tabs := screens, 80
		if !testutil.Soak() {
			if i%2 > 0 {
				continue
			}
			looked, tabs = screens[i/2%len(screens):][:1], 20
		}
		t.Run(s.name, func(t *testing.T) {
			b.console()
			b.do(t, chromedp.Navigate(url+"/sample/"+s.name))
			evaluate[any](t, b, checkScript+"; true")
			for _, on := range looked {
				tabs = min(tabs, b.check(t, s.name, on))
			}
			b.checkFocus(t, tabs)
		})
	}
}

// serveSamples serves sample pages with the policy of the server, and a stream that says nothing.
func serveSamples(t *testing.T, list []sample) string {
	t.Helper()
	p := newPages(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) {
		a := p.Asset(r.PathValue("name"))
		if a == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", a.Type)
		w.Write(a.Data)
	})
	mux.HandleFunc("GET /live/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: ping\ndata:\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for _, s := range list {
		mux.HandleFunc("GET /sample/"+s.name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", policy)
			if err := p.Render(w, s.page, s.frame, s.view); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// lastResort is how long a test waits for a page.
const lastResort = 3 * time.Minute

// A browser is one tab of Chromium.
type browser struct {
	ctx context.Context
	mu  sync.Mutex
	log []string // of the console
}

// openBrowser starts Chromium. It skips the test if there is none.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("THE PAGES ARE NOT CHECKED: there is no Chromium. On Debian: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.Flag("hide-scrollbars", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	call(t, ctx, log.Enable, cdp.Empty{})
	call(t, ctx, runtime.Enable, cdp.Empty{})
	return b
}

func call[P, R any](t *testing.T, ctx context.Context, cmd cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(ctx, cmd, params); err != nil {
		t.Fatal(err)
	}
}

// on sets the screen of the browser.
func (b *browser) on(t *testing.T, s screen) {
	t.Helper()
	call(t, b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: s.width, Height: s.height, DeviceScaleFactor: 1, Mobile: s.width < 600})
	call(t, b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
	call(t, b.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"})
}

// evaluate returns the value of a script in the page.
func evaluate[T any](t *testing.T, b *browser, script string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, lastResort)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// do acts in the page.
func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, lastResort)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// wait waits until a script in the page is true.
func (b *browser) wait(t *testing.T, script string) {
	t.Helper()
	for end := time.Now().Add(lastResort); !evaluate[bool](t, b, "Boolean("+script+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it stays false that %s", script)
		}
	}
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.log = append(b.log, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *runtime.EventExceptionThrown:
		b.log = append(b.log, e.ExceptionDetails.Text+" "+e.ExceptionDetails.URL)
	case *runtime.EventConsoleAPICalled:
		b.log = append(b.log, "console."+string(e.Type))
	}
}

func (b *browser) console() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.log
	b.log = nil
	return list
}

// found is what the script in the page has found.
type found struct {
	Overflow []string
	Contrast []string
	Small    []string
	Stops    int
}

// check looks at the page on one screen, and returns how many elements Tab stops at.
func (b *browser) check(t *testing.T, name string, on screen) int {
	t.Helper()
	what := fmt.Sprintf("%d px, %s", on.width, on.theme)
	b.on(t, on)
	f := evaluate[found](t, b, "check()")
	for _, list := range [][]string{f.Overflow, f.Contrast, f.Small, b.console()} {
		for _, text := range list {
			t.Errorf("%s: %s", what, text)
		}
	}
	if *shots != "" {
		b.shoot(t, name, on)
	}
	return f.Stops
}

// checkFocus presses Tab through the page, so often. The focus must be seen, and go down the document.
func (b *browser) checkFocus(t *testing.T, tabs int) {
	t.Helper()
	for range tabs {
		b.do(t, chromedp.KeyEvent(kb.Tab))
		problem := evaluate[string](t, b, "checkFocus()")
		if problem != "" {
			t.Error(problem)
			return
		}
	}
}

// shoot writes a picture of the page, for people.
func (b *browser) shoot(t *testing.T, name string, on screen) {
	t.Helper()
	shot := chromedp.CaptureScreenshot()
	if on.width < 600 && name != "question-whole" || strings.Contains(name, "run-") || strings.Contains(name, "question-") && name != "question-whole" {
		shot = chromedp.FullScreenshot(100)
	}
	data, err := chromedp.Run(b.ctx, shot)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(*shots, fmt.Sprintf("%s-%d-%s.png", name, on.width, on.theme))
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A site serves some pages at their addresses, and a stream that a test writes.
type site struct {
	url    string
	events chan string
	posts  chan string   // the forms that were sent
	broken chan struct{} // closed to end the stream, and to refuse others
}

func serveSite(t *testing.T, p *Pages, pages map[string]sample) *site {
	t.Helper()
	s := &site{events: make(chan string, 8), posts: make(chan string, 8), broken: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		of, ok := pages[r.URL.RequestURI()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := p.Render(w, of.page, of.frame, of.view); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		s.posts <- r.URL.Path + "?" + r.PostForm.Encode()
		w.WriteHeader(http.StatusNoContent) // so the page stays
	})
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) {
		a := p.Asset(r.PathValue("name"))
		w.Header().Set("Content-Type", a.Type)
		w.Write(a.Data)
	})
	mux.HandleFunc("GET /live/", s.stream)
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.url = server.URL
	return s
}

func (s *site) stream(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.broken:
		http.Error(w, "the server is away", http.StatusServiceUnavailable)
		return
	default:
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	http.NewResponseController(w).Flush()
	for {
		select {
		case e := <-s.events:
			fmt.Fprint(w, e)
			http.NewResponseController(w).Flush()
		case <-s.broken:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// part returns the event with a part of a page.
func part(t *testing.T, p *Pages, id int, name string, view any) string {
	t.Helper()
	text, err := p.RenderPart(name, view)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("id: %d\nevent: part\ndata: %s\n\n", id, strings.ReplaceAll(text, "\n", "\ndata: "))
}

func visit(t *testing.T, b *browser, url string) {
	t.Helper()
	b.on(t, screens[0])
	b.do(t, chromedp.Navigate(url))
	b.wait(t, `document.documentElement.matches('.js')`)
}

// TestLive checks what the module does with the events of the stream.
func TestLive(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a browser")
	}
	t.Parallel()
	p := newPages(t)
	s := serveSite(t, p, map[string]sample{"/runs": runSamples()[0]})
	b := openBrowser(t)
	visit(t, b, s.url+"/runs")
	s.events <- part(t, p, 1, "run-row", sampleRow("digest-9k2", "digest", "folder=notes", Status{Done, ""}))
	b.wait(t, `document.querySelector('#r-digest-9k2 .st')?.textContent === 'Done'`)
	s.events <- part(t, p, 2, "run-row", sampleRow("new-1", "bill", "", Status{Running, ""}))
	b.wait(t, `document.querySelector('[data-new]').textContent === '1 new run · Show'`)
	b.do(t, chromedp.Click("[data-new]"))
	b.wait(t, `document.querySelector('#runs > li').id === 'r-new-1'`)
	s.events <- "id: 3\nevent: count\ndata: 7\n\n"
	b.wait(t, `document.title.startsWith('(7) Runs') && document.querySelector('.rail [data-count]').textContent === '7'`)
	s.events <- "id: 4\nevent: say\ndata: Run digest is done\n\n"
	b.wait(t, `document.querySelector('#say').textContent.includes('Run digest is done')`)
	s.events <- "event: draining\ndata:\n\n"
	b.wait(t, `!document.querySelector('#offline').hidden && document.querySelector('#offline').textContent.includes('restarting')`)
	if list := b.console(); len(list) > 0 {
		t.Errorf("the console has %q", list)
	}
	visit(t, b, s.url+"/runs")
	close(s.broken)
	b.wait(t, `document.querySelector('#offline').textContent.includes('Not live since')`)
}

// TestPane opens a step beside the tree, without another page, and answers a question there.
func TestPane(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a browser")
	}
	t.Parallel()
	p := newPages(t)
	f := sampleFrame("bill", SectionRuns)
	f.Live = "/live/run/april"
	failed := sample{page: "run", frame: f, view: sampleRun(Pane{Step: sampleFailure()})}
	asks := sample{page: "run", frame: f, view: sampleRun(Pane{Question: sampleFiles()})}
	s := serveSite(t, p, map[string]sample{"/runs/april?step=3.1": failed, "/runs/april?step=13.2": asks})
	b := openBrowser(t)
	visit(t, b, s.url+"/runs/april?step=3.1")
	evaluate[bool](t, b, `window.still = true`)
	b.do(t, chromedp.Click(`[id="s-13.2"] > a`))
	b.wait(t, `document.querySelector('#answer') && document.querySelector('[id="s-13.2"] > a').matches('[aria-current]')`)
	b.wait(t, `window.still && location.search === '?step=13.2' && document.querySelectorAll('[data-tree] [aria-current]').length === 1`)
	b.do(t, chromedp.SendKeys("#q-why", "because"))
	q := sampleFiles()
	q.Rev, q.State, q.OwnPage, q.Given = 1, Answered, false, &Given{Verb: "refused", By: "Bob", No: true, At: clock()}
	s.events <- part(t, p, 1, "question", q)
	s.events <- "id: 2\nevent: count\ndata: 8\n\n"
	b.wait(t, `document.title.startsWith('(8)')`)
	if !evaluate[bool](t, b, `document.querySelector('[name=rev]').value === '0' && document.activeElement.id === 'q-why'`) {
		t.Error("the question was replaced while somebody wrote")
	}
	evaluate[bool](t, b, `document.activeElement.blur() ?? true`)
	b.wait(t, `document.querySelector('[name=rev]').value === '1' && document.querySelector('#q-why').value === 'because'`)
	b.do(t, chromedp.KeyEvent("a"))
	b.wait(t, `document.activeElement.matches('.answer *')`)
	evaluate[bool](t, b, `document.querySelector('.answer .pri').focus() ?? true`)
	b.do(t, chromedp.KeyEvent(kb.Enter))
	var sent string
	select {
	case sent = <-s.posts:
	case <-time.After(lastResort):
		t.Fatalf("the form is not sent: the focus is on %s", evaluate[string](t, b, `document.activeElement.outerHTML`))
	}
	if !strings.HasPrefix(sent, "/questions/april:13.2:1?") || !strings.Contains(sent, "answer=yes") || !strings.Contains(sent, "why=because") || !strings.Contains(sent, "rev=1") {
		t.Errorf("the form sends %s", sent)
	}
	b.wait(t, `[...document.querySelectorAll('.answer button')].every(b => b.disabled)`)
	if list := b.console(); len(list) > 0 {
		t.Errorf("the console has %q", list)
	}
}

// TestKeys checks the keys. None of them decides.
func TestKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a browser")
	}
	t.Parallel()
	p := newPages(t)
	list := questionSamples()
	q := list[slices.IndexFunc(list, func(s sample) bool { return s.name == "question-files" })]
	s := serveSite(t, p, map[string]sample{"/runs": runSamples()[0], "/questions": list[0], "/questions/1": q})
	b := openBrowser(t)
	visit(t, b, s.url+"/runs")
	b.do(t, chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"))
	b.wait(t, `document.activeElement === document.querySelector('.runs .t')`)
	b.do(t, chromedp.KeyEvent("?"))
	b.wait(t, `document.querySelector('#keys').open`)
	b.do(t, chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("/"))
	b.wait(t, `document.activeElement.type === 'search'`)
	b.do(t, chromedp.KeyEvent("gq"))
	b.wait(t, `document.activeElement.value.endsWith('gq') && location.pathname === '/runs'`)
	evaluate[bool](t, b, `document.activeElement.blur() ?? true`)
	b.do(t, chromedp.KeyEvent("g"), chromedp.KeyEvent("q"))
	b.wait(t, `location.pathname === '/questions'`)
	visit(t, b, s.url+"/questions/1")
	b.do(t, chromedp.KeyEvent("a"), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(kb.ModifierCtrl)))
	b.wait(t, `document.activeElement.matches('.answer *')`)
	select {
	case sent := <-s.posts:
		t.Errorf("a key has sent %s", sent)
	default:
	}
}

// TestNoScript checks that the pages say what they are without the module, and offer nothing that needs it.
func TestNoScript(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a browser")
	}
	t.Parallel()
	p := newPages(t)
	s := serveSite(t, p, map[string]sample{"/runs": runSamples()[0]})
	b := openBrowser(t)
	call(t, b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.on(t, screens[0])
	b.do(t, chromedp.Navigate(s.url+"/runs"))
	text, err := chromedp.Run(b.ctx, chromedp.Text("body"))
	if err != nil {
		t.Fatal(err)
	}
	for want, there := range map[string]bool{"As of 19:31:14 UTC. Reload": true, "Show": true, "Keys": false, "Not live": false, "new run ·": false} {
		if strings.Contains(text, want) != there {
			t.Errorf("%q: there is %t, want %t, in\n%s", want, !there, there, text)
		}
	}
}
