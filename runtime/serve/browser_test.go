package serve

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/internal/browsertest"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var shots = flag.String("shots", "", "write pictures of the pages to this folder")

// A tab is a tab of Chromium that shows a server.
type tab struct {
	*rig
	*browsertest.Tab
	shots int
}

// openTab opens a tab. It skips the test if there is no Chromium.
func (r *rig) openTab() *tab {
	r.t.Helper()
	b := &tab{rig: r, Tab: browsertest.Open(r.t)}
	b.Zone("Europe/Zurich")
	b.Screen(1280, 860)
	return b
}

// quiet checks that nothing was written to the console but what the status of a page says, and that a page was replaced while
// it was drawn.
func (b *tab) quiet() {
	b.t.Helper()
	for _, line := range b.Console() {
		if !strings.Contains(line, "a status of 4") && !strings.Contains(line, "Transition was ") {
			b.t.Errorf("the console has %q", line)
		}
	}
}

func (b *tab) open(path string) { b.Do(chromedp.Navigate(b.url + path)) }

// click presses a link or a button, by the keyboard.
func (b *tab) click(selector string) { b.press(selector, kb.Enter) }

// press presses a key in an element that a selector finds.
func (b *tab) press(selector, key string) {
	b.t.Helper()
	b.Do(chromedp.WaitVisible(selector), chromedp.Focus(selector), chromedp.KeyEvent(key))
}

// enter types into a field.
func (b *tab) enter(selector, text string) { b.Do(chromedp.SendKeys(selector, text)) }

// set replaces what is in a field.
func (b *tab) set(selector, text string) {
	b.Text(fmt.Sprintf("document.querySelector(%q).value = %q", selector, text))
}

// has waits until the page is loaded and its text has texts, and its address too if they begin with a slash. What is
// entered into a page that still loads may be lost.
func (b *tab) has(texts ...string) {
	b.t.Helper()
	b.Until(func() string {
		at, all := b.Text("location.pathname + location.search"), strings.Join(strings.Fields(b.Text("document.readyState != 'complete' ? '' : document.body.innerText + ' ' + [...document.querySelectorAll('input,textarea')].map(x => x.value).join(' ')")), " ")
		for _, text := range texts {
			if in := strings.HasPrefix(text, "/") && strings.HasPrefix(at, text) || !strings.HasPrefix(text, "/") && strings.Contains(all, text); !in {
				return fmt.Sprintf("%q is missing", text)
			}
		}
		return ""
	})
}

// shot writes a picture of the page in both widths, if the flag asks for it.
func (b *tab) shot(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	b.shots++
	for _, s := range [][2]int64{{390, 844}, {1280, 860}} {
		b.Screen(s[0], s[1])
		png := browsertest.Run(b.Tab, chromedp.FullScreenshot(100))
		if err := os.WriteFile(filepath.Join(*shots, fmt.Sprintf("%s-%02d-%s-%d.png", b.t.Name(), b.shots, name, s[0])), png, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// sees waits until the page contains a text, whether that is drawn or not.
func (b *tab) sees(text string) {
	b.t.Helper()
	b.Wait(fmt.Sprintf("document.body?.textContent.includes(%q)", text))
}

// choose presses the button or follows the link with a text.
func (b *tab) choose(text string) {
	b.t.Helper()
	b.sees(text)
	browsertest.Eval[bool](b.Tab, fmt.Sprintf("[...document.querySelectorAll('button, a.btn')].find(x => x.textContent.includes(%q)).click(); true", text))
}

// signIn signs in with a token. It needs no page.
func (b *tab) signIn(token string) {
	b.t.Helper()
	for _, c := range b.browser(nil, http.MethodPost, "/login", "token="+token).Cookies() {
		browsertest.Call(b.Tab, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: b.url})
	}
}
