package page

import (
	_ "embed"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cassidy-run/cassidy/internal/browsertest"
	"github.com/cassidy-run/cassidy/internal/testutil"
)

var shots = flag.String("shots", "", "write pictures of the pages to this folder")

// policy is the Content-Security-Policy of the server.
const policy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

//go:embed testdata/check.js
var checkScript string

func TestMain(m *testing.M) { browsertest.Main(m) }

// TestBrowser checks pages in Chromium: contrast, overflow, the order and sight of the focus, and that nothing
// is written to the console.
func TestBrowser(t *testing.T) {
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
	b := browsertest.Open(t)
	for i, s := range list {
		looked, tabs := screens, 80
		if !testutil.Soak() {
			if i%2 > 0 {
				continue
			}
			looked, tabs = screens[i/2%len(screens):][:1], 20
		}
		t.Run(s.name, func(t *testing.T) {
			b.Console()
			b.Do(chromedp.Navigate(url + "/sample/" + s.name))
			browsertest.Eval[any](b, checkScript+"; true")
			for _, on := range looked {
				tabs = min(tabs, checkPage(t, b, s.name, on))
			}
			checkFocus(t, b, tabs)
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

// showOn sets the screen of a tab.
func showOn(b *browsertest.Tab, s screen) {
	b.Screen(s.width, s.height)
	b.Zone("UTC")
	browsertest.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
}

// found is what the script in the page has found.
type found struct {
	Overflow []string
	Contrast []string
	Small    []string
	Stops    int
}

// checkPage looks at the page on one screen, and returns how many elements Tab stops at.
func checkPage(t *testing.T, b *browsertest.Tab, name string, on screen) int {
	t.Helper()
	what := fmt.Sprintf("%d px, %s", on.width, on.theme)
	showOn(b, on)
	f := browsertest.Eval[found](b, "check()")
	for _, list := range [][]string{f.Overflow, f.Contrast, f.Small, b.Console()} {
		for _, text := range list {
			t.Errorf("%s: %s", what, text)
		}
	}
	if *shots != "" {
		shoot(t, b, name, on)
	}
	return f.Stops
}

// checkFocus presses Tab through the page, so often. The focus must be seen, and go down the document.
func checkFocus(t *testing.T, b *browsertest.Tab, tabs int) {
	t.Helper()
	for range tabs {
		b.Do(chromedp.KeyEvent(kb.Tab))
		problem := browsertest.Eval[string](b, "checkFocus()")
		if problem != "" {
			t.Error(problem)
			return
		}
	}
}

// shoot writes a picture of the page, for people.
func shoot(t *testing.T, b *browsertest.Tab, name string, on screen) {
	t.Helper()
	shot := chromedp.CaptureScreenshot()
	if on.width < 600 && name != "question-whole" || strings.Contains(name, "run-") || strings.Contains(name, "question-") && name != "question-whole" {
		shot = chromedp.FullScreenshot(100)
	}
	data := browsertest.Run(b, shot)
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

func visit(b *browsertest.Tab, url string) {
	showOn(b, screens[0])
	b.Do(chromedp.Navigate(url))
	b.Wait(`document.documentElement.matches('.js')`)
}

// TestLive checks what the module does with the events of the stream.
func TestLive(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	s := serveSite(t, p, map[string]sample{"/runs": runSamples()[0]})
	b := browsertest.Open(t)
	visit(b, s.url+"/runs")
	s.events <- part(t, p, 1, "run-row", sampleRow("digest-9k2", "digest", "folder=notes", Status{Done, ""}))
	b.Wait(`document.querySelector('#r-digest-9k2 .st')?.textContent === 'Done'`)
	s.events <- part(t, p, 2, "run-row", sampleRow("new-1", "bill", "", Status{Running, ""}))
	b.Wait(`document.querySelector('[data-new]').textContent === '1 new run · Show'`)
	b.Do(chromedp.Click("[data-new]"))
	b.Wait(`document.querySelector('#runs > li').id === 'r-new-1'`)
	s.events <- "id: 3\nevent: count\ndata: 7\n\n"
	b.Wait(`document.title.startsWith('(7) Runs') && document.querySelector('.rail [data-count]').textContent === '7'`)
	s.events <- "id: 4\nevent: say\ndata: Run digest is done\n\n"
	b.Wait(`document.querySelector('#say').textContent.includes('Run digest is done')`)
	s.events <- "event: draining\ndata:\n\n"
	b.Wait(`!document.querySelector('#offline').hidden && document.querySelector('#offline').textContent.includes('restarting')`)
	if list := b.Console(); len(list) > 0 {
		t.Errorf("the console has %q", list)
	}
	visit(b, s.url+"/runs")
	close(s.broken)
	b.Wait(`document.querySelector('#offline').textContent.includes('Not live since')`)
}

// TestPane opens a step beside the tree, without another page, and answers a question there.
func TestPane(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	f := sampleFrame("bill", SectionRuns)
	f.Live = "/live/run/april"
	failed := sample{page: "run", frame: f, view: sampleRun(Pane{Step: sampleFailure()})}
	asks := sample{page: "run", frame: f, view: sampleRun(Pane{Question: sampleFiles()})}
	s := serveSite(t, p, map[string]sample{"/runs/april?step=3.1": failed, "/runs/april?step=13.2": asks})
	b := browsertest.Open(t)
	visit(b, s.url+"/runs/april?step=3.1")
	browsertest.Eval[bool](b, `window.still = true`)
	b.Do(chromedp.Click(`[id="s-13.2"] > a`))
	b.Wait(`document.querySelector('#answer') && document.querySelector('[id="s-13.2"] > a').matches('[aria-current]')`)
	b.Wait(`window.still && location.search === '?step=13.2' && document.querySelectorAll('[data-tree] [aria-current]').length === 1`)
	b.Do(chromedp.SendKeys("#q-why", "because"))
	q := sampleFiles()
	q.Rev, q.State, q.OwnPage, q.Given = 1, Answered, false, &Given{Verb: "refused", By: "Bob", No: true, At: clock()}
	s.events <- part(t, p, 1, "question", q)
	s.events <- "id: 2\nevent: count\ndata: 8\n\n"
	b.Wait(`document.title.startsWith('(8)')`)
	if !browsertest.Eval[bool](b, `document.querySelector('[name=rev]').value === '0' && document.activeElement.id === 'q-why'`) {
		t.Error("the question was replaced while somebody wrote")
	}
	browsertest.Eval[bool](b, `document.activeElement.blur() ?? true`)
	b.Wait(`document.querySelector('[name=rev]').value === '1' && document.querySelector('#q-why').value === 'because'`)
	b.Do(chromedp.KeyEvent("a"))
	b.Wait(`document.activeElement.matches('.answer *')`)
	browsertest.Eval[bool](b, `document.querySelector('.answer .pri').focus() ?? true`)
	b.Do(chromedp.KeyEvent(kb.Enter))
	var sent string
	select {
	case sent = <-s.posts:
	case <-time.After(browsertest.LastResort):
		t.Fatalf("the form is not sent: the focus is on %s", browsertest.Eval[string](b, `document.activeElement.outerHTML`))
	}
	if !strings.HasPrefix(sent, "/questions/april:13.2:1?") || !strings.Contains(sent, "answer=yes") || !strings.Contains(sent, "why=because") || !strings.Contains(sent, "rev=1") {
		t.Errorf("the form sends %s", sent)
	}
	b.Wait(`[...document.querySelectorAll('.answer button')].every(b => b.disabled)`)
	if list := b.Console(); len(list) > 0 {
		t.Errorf("the console has %q", list)
	}
}

// TestKeys checks the keys. None of them decides.
func TestKeys(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	list := questionSamples()
	q := list[slices.IndexFunc(list, func(s sample) bool { return s.name == "question-files" })]
	s := serveSite(t, p, map[string]sample{"/runs": runSamples()[0], "/questions": list[0], "/questions/1": q})
	b := browsertest.Open(t)
	visit(b, s.url+"/runs")
	b.Do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"))
	b.Wait(`document.activeElement === document.querySelector('.runs .t')`)
	b.Do(chromedp.KeyEvent("?"))
	b.Wait(`document.querySelector('#keys').open`)
	b.Do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("/"))
	b.Wait(`document.activeElement.type === 'search'`)
	b.Do(chromedp.KeyEvent("gq"))
	b.Wait(`document.activeElement.value.endsWith('gq') && location.pathname === '/runs'`)
	browsertest.Eval[bool](b, `document.activeElement.blur() ?? true`)
	b.Do(chromedp.KeyEvent("g"), chromedp.KeyEvent("q"))
	b.Wait(`location.pathname === '/questions'`)
	visit(b, s.url+"/questions/1")
	b.Do(chromedp.KeyEvent("a"), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(kb.ModifierCtrl)))
	b.Wait(`document.activeElement.matches('.answer *')`)
	select {
	case sent := <-s.posts:
		t.Errorf("a key has sent %s", sent)
	default:
	}
}

// TestNoScript checks that the pages say what they are without the module, and offer nothing that needs it.
func TestNoScript(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	s := serveSite(t, p, map[string]sample{"/runs": runSamples()[0]})
	b := browsertest.Open(t)
	b.WithoutScript()
	showOn(b, screens[0])
	b.Do(chromedp.Navigate(s.url + "/runs"))
	text := browsertest.Run(b, chromedp.Text("body"))
	for want, there := range map[string]bool{"As of 19:31:14 UTC. Reload": true, "Show": true, "Keys": false, "Not live": false, "new run ·": false} {
		if strings.Contains(text, want) != there {
			t.Errorf("%q: there is %t, want %t, in\n%s", want, !there, there, text)
		}
	}
}
