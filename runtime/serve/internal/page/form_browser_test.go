package page

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestFormScript changes a form in the browser: the server renders what is new, and what was entered stays.
func TestFormScript(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a browser")
	}
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
	b := openBrowser(t)
	b.on(t, screens[0])
	b.do(t, chromedp.Navigate(server.URL+"/tool"))
	enter := func(name, text string) {
		t.Helper()
		b.wait(t, `(() => { const el = document.getElementsByName('`+name+`')[0]; if (!el) return false; el.value = '`+text+`'; el.dispatchEvent(new Event('input', { bubbles: true })); return true })()`)
	}
	press := func(name, value string) {
		t.Helper()
		b.wait(t, `(() => { const el = document.querySelector('button[name="`+name+`"][value="`+value+`"]'); if (!el || el.form.inert) return false; el.click(); return true })()`)
	}
	enter("/path", "a.csv")
	enter("/password", "hunter2")
	press("_add", "/cities")
	b.wait(t, `document.activeElement.name === '/cities/0'`)
	enter("/cities/0", "Bern")
	press("_add", "/cities")
	b.wait(t, `document.activeElement.name === '/cities/1' && document.getElementsByName('/cities/0')[0].value === 'Bern'`)
	press("_del", "/cities/0")
	b.wait(t, `!document.getElementsByName('/cities/0')[0] && document.activeElement.value === '/cities'`)
	b.wait(t, `document.getElementsByName('/password')[0].value === 'hunter2'`)
	b.wait(t, `(document.querySelector('[data-sent]').open = true)`)
	b.wait(t, `document.querySelector('[data-args-out]').textContent.includes('"path": "a.csv"')`)
	enter("/limit", "7")
	b.wait(t, `document.querySelector('[data-args-out]').textContent.includes('"limit": 7')`)
	press("_act", "json")
	b.wait(t, `document.getElementsByName('_json')[0]?.value.includes('"limit": 7')`)
	press("_act", "form")
	b.wait(t, `document.getElementsByName('/limit')[0]?.value === '7'`)
	enter("/limit", "7")
	b.wait(t, `(document.querySelector('#call .pri').click(), true)`)
	b.wait(t, `location.pathname === '/done' && decodeURIComponent(location.search).includes('"limit":7')`)
}

// TestSortScript sorts a table in the browser, as the server does it.
func TestSortScript(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a browser")
	}
	t.Parallel()
	url := serveSamples(t, toolSamples())
	b := openBrowser(t)
	b.on(t, screens[0])
	b.do(t, chromedp.Navigate(url+"/sample/tool-wrong"))
	for _, c := range []struct{ column, want string }{
		{"4", "Thun Zürich Bern Lugano Chur Basel Genève St. Gallen"},
		{"4", "Genève Basel Chur Lugano Bern Zürich Thun St. Gallen"},
		{"1", "Basel Bern Chur Genève Lugano St. Gallen Thun Zürich"},
		{"1", "Zürich Thun St. Gallen Lugano Genève Chur Bern Basel"},
	} {
		b.do(t, chromedp.Click(".data th:nth-child("+c.column+") a"))
		if got := evaluate[string](t, b, `[...document.querySelectorAll('.data tbody th')].map(x => x.textContent).join(' ')`); got != c.want {
			t.Errorf("column %s: %s, want %s", c.column, got, c.want)
		}
	}
	if list := b.console(); len(list) > 0 {
		t.Errorf("the console has %q", list)
	}
}

// TestChatScript sends a message with the key Enter, and breaks a line with Shift.
func TestChatScript(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a browser")
	}
	t.Parallel()
	url := serveSamples(t, moreSamples())
	b := openBrowser(t)
	b.on(t, screens[0])
	b.do(t, chromedp.Navigate(url+"/sample/chat"))
	b.wait(t, `(document.querySelector('.compose').addEventListener('submit', e => { e.preventDefault(); document.body.dataset.sent = e.submitter.textContent }), true)`)
	b.do(t, chromedp.Focus("#say-in"), chromedp.KeyEvent("Hello"))
	b.wait(t, `document.querySelector('#say-in').value === 'Hello'`)
	b.do(t, chromedp.KeyEvent("\r"))
	b.wait(t, `document.body.dataset.sent === 'Send after this turn'`)
}
