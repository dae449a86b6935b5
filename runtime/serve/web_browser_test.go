package serve

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func browserRig(t *testing.T, s *speaker) *rig {
	t.Helper()
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
	b.Do(chromedp.WaitVisible(`[name="/cities/0"]`))
	b.enter(`[name="/cities/0"]`, "Bern")
	b.click(`[name="_add"][value="/rename"]`)
	b.Do(chromedp.WaitVisible(`[name="/rename/0/key"]`))
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
	if at := b.Text("document.activeElement.id"); at != "result" {
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
	id := strings.TrimPrefix(b.Text("location.search"), "?run=")
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
	b.Do(chromedp.SendKeys("#say-in", "now a line"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(kb.ModifierShift)), chromedp.SendKeys("#say-in", "and then slowly\r"))
	b.has("now a line and then slowly", "Running", "Stop", "Send after this turn")
	b.Do(chromedp.WaitReady("[data-stream]"))
	s.pieces <- "Once upon "
	b.has("Once upon")
	b.enter("#say-in", "a draft")
	s.pieces <- "a *time*"
	b.has("Once upon a *time*", "a draft")
	if got := b.Text("document.querySelector('#say-in').value"); got != "a draft" {
		t.Errorf("the composer has %q, and the storage %s", got, b.Text("JSON.stringify(sessionStorage)"))
	}
	b.shot("live")
	s.pieces <- ""
	b.has("Once upon a time", "turn 2", "a draft", "Send")
	if got := b.Text("!!document.querySelector('[name=stop]') || !!document.querySelector('.caret')"); got != "false" {
		t.Error("the turn has not ended on the page")
	}
	b.set("#say-in", "")
	b.enter("#say-in", "call ask\r")
	b.has("which?", "Waiting")
	b.shot("asks")
	talk := b.Text("location.pathname")
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
	b.WithoutScript()
	b.open("/login")
	b.enter("#token", "ada\r")
	b.has("ada")
	b.open("/tools/kinds")
	b.enter(`[name="/path"]`, "a")
	b.click(`[name="_add"][value="/cities"]`)
	b.has("Remove")
	b.enter(`[name="/cities/0"]`, "Bern")
	b.click(".form .acts .pri")
	b.has("Done", "rows", "Bern")
	b.open("/workflows/greet")
	b.enter(`[name="/name"]`, "Ann")
	b.click(".form .acts .pri")
	b.has("hello Ann")
	b.open("/chat")
	b.enter("#say-in", "hello")
	b.click(".compose .pri")
	b.has("hello", "As of")
	id := ""
	for id == "" {
		for run := range r.projects[0].Host.Runs(t.Context(), history.Filter{Kind: chatKind}) {
			id = run.ID
		}
	}
	r.until(id, history.Done)
	b.open("/chat/" + id)
	b.has("You said: hello")
	b.quiet()
}
