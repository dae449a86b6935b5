package page

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/cassidy-run/cassidy/internal/browsertest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestFormScript changes a form in the browser: the server renders what is new, and what was entered stays.
func TestFormScript(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	x := sampleTool()
	form := NewForm(must(x.ArgsSchema()), clock().Location(), clock())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) {
		a := p.Asset(r.PathValue("name"))
		w.Header().Set("Content-Type", a.Type)
		w.Write(a.Data)
	})
	mux.HandleFunc("/tool", func(w http.ResponseWriter, r *http.Request) {
		v := FormView{Action: "/tool", Key: "k1", Deed: "Run it", Command: "cassidy tool run it", Can: true}
		var s *Submission
		if r.Method == http.MethodPost {
			if err := r.ParseMultipartForm(1 << 20); err != nil && !errors.Is(err, http.ErrNotMultipart) {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			s = form.Submit(Input{Values: r.PostForm}, func(args *value.Dict) error { _, err := x.Check(args); return err })
			if s.Run {
				http.Redirect(w, r, "/done?"+s.Args.String(), http.StatusSeeOther)
				return
			}
		}
		form.Show(&v, s)
		page := sampleToolPage()
		page.Form = &v
		w.Header().Set("Content-Security-Policy", policy)
		if err := p.Render(w, "tool", sampleFrame("Tool", SectionTools), page); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b := browsertest.Open(t)
	showOn(b, screens[0])
	b.Do(chromedp.Navigate(server.URL + "/tool"))
	enter := func(name, text string) {
		t.Helper()
		b.Wait(`(() => { const el = document.getElementsByName('` + name + `')[0]; if (!el) return false; el.value = '` + text + `'; el.dispatchEvent(new Event('input', { bubbles: true })); return true })()`)
	}
	press := func(name, value string) {
		t.Helper()
		b.Wait(`(() => { const el = document.querySelector('button[name="` + name + `"][value="` + value + `"]'); if (!el || el.form.inert) return false; el.click(); return true })()`)
	}
	enter("/path", "a.csv")
	enter("/password", "hunter2")
	press("_add", "/cities")
	b.Wait(`document.activeElement.name === '/cities/0'`)
	enter("/cities/0", "Bern")
	press("_add", "/cities")
	b.Wait(`document.activeElement.name === '/cities/1' && document.getElementsByName('/cities/0')[0].value === 'Bern'`)
	press("_del", "/cities/0")
	b.Wait(`!document.getElementsByName('/cities/0')[0] && document.activeElement.value === '/cities'`)
	b.Wait(`document.getElementsByName('/password')[0].value === 'hunter2'`)
	b.Wait(`(document.querySelector('[data-sent]').open = true)`)
	b.Wait(`document.querySelector('[data-args-out]').textContent.includes('"path": "a.csv"')`)
	enter("/limit", "7")
	b.Wait(`document.querySelector('[data-args-out]').textContent.includes('"limit": 7')`)
	press("_act", "json")
	b.Wait(`document.getElementsByName('_json')[0]?.value.includes('"limit": 7')`)
	press("_act", "form")
	b.Wait(`document.getElementsByName('/limit')[0]?.value === '7'`)
	enter("/limit", "7")
	b.Wait(`(document.querySelector('#call .pri').click(), true)`)
	b.Wait(`location.pathname === '/done' && decodeURIComponent(location.search).includes('"limit":7')`)
}

// TestSortScript sorts a table in the browser, as the server does it.
func TestSortScript(t *testing.T) {
	t.Parallel()
	url := serveSamples(t, toolSamples())
	b := browsertest.Open(t)
	showOn(b, screens[0])
	b.Do(chromedp.Navigate(url + "/sample/tool-wrong"))
	for _, c := range []struct{ column, want string }{
		{"4", "Thun Zürich Bern Lugano Chur Basel Genève St. Gallen"},
		{"4", "Genève Basel Chur Lugano Bern Zürich Thun St. Gallen"},
		{"1", "Basel Bern Chur Genève Lugano St. Gallen Thun Zürich"},
		{"1", "Zürich Thun St. Gallen Lugano Genève Chur Bern Basel"},
	} {
		b.Do(chromedp.Click(".data th:nth-child(" + c.column + ") a"))
		if got := browsertest.Eval[string](b, `[...document.querySelectorAll('.data tbody th')].map(x => x.textContent).join(' ')`); got != c.want {
			t.Errorf("column %s: %s, want %s", c.column, got, c.want)
		}
	}
	if list := b.Console(); len(list) > 0 {
		t.Errorf("the console has %q", list)
	}
}

// TestChatScript sends a message with the key Enter, and breaks a line with Shift.
func TestChatScript(t *testing.T) {
	t.Parallel()
	url := serveSamples(t, moreSamples())
	b := browsertest.Open(t)
	showOn(b, screens[0])
	b.Do(chromedp.Navigate(url + "/sample/chat"))
	b.Wait(`(document.querySelector('.compose').addEventListener('submit', e => { e.preventDefault(); document.body.dataset.sent = e.submitter.textContent }), true)`)
	b.Do(chromedp.Focus("#say-in"), chromedp.KeyEvent("Hello"))
	b.Wait(`document.querySelector('#say-in').value === 'Hello'`)
	b.Do(chromedp.KeyEvent("\r"))
	b.Wait(`document.body.dataset.sent === 'Send after this turn'`)
}
