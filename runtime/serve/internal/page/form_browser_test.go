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
