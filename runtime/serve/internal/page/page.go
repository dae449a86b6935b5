// Package page makes the HTML of the server: plain structs in, HTML out. It knows no host and no
// request. A view holds everything that its page shows, and no HTML: a field of type string is
// untrusted text, which the templates mark and isolate, while the named types such as [State] and
// [URL] hold words of our own.
//
// Times are shown in their own location, so put them into the reader's zone with [time.Time.In].
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"mime"
	"path"
	"regexp"
	"strings"
	"time"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed assets
var assets embed.FS

// Pages renders pages. It is safe for concurrent use.
type Pages struct {
	templates *template.Template
	assets    map[string]*Asset // by hashed name
	names     map[string]URL    // the address of each file
	now       func() time.Time
}

// An Asset is a file that pages need. Its name has a hash of its content, so it can be cached as
// "public, max-age=31536000, immutable".
type Asset struct {
	Type string
	Data []byte
}

// A URL is an address that the server made. It is never a text that somebody else wrote.
type URL string

// New returns the renderer of pages. The clock tells what is past; nil is [time.Now].
func New(clock func() time.Time) (*Pages, error) {
	if clock == nil {
		clock = time.Now
	}
	p := &Pages{assets: map[string]*Asset{}, names: map[string]URL{}, now: clock}
	if err := p.readAssets(); err != nil {
		return nil, err
	}
	t, err := template.New("").Funcs(p.funcs()).ParseFS(templates, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse the templates of pages: %w", err)
	}
	p.templates = t
	return p, nil
}

// readAssets gives the embedded files their hashed names.
func (p *Pages) readAssets() error {
	list, err := fs.ReadDir(assets, "assets")
	if err != nil {
		return fmt.Errorf("read the files of pages: %w", err)
	}
	for _, e := range list {
		data, err := assets.ReadFile("assets/" + e.Name())
		if err != nil {
			return fmt.Errorf("read the files of pages: %w", err)
		}
		if path.Ext(e.Name()) == ".css" {
			data = squeeze(data)
		}
		sum := sha256.Sum256(data)
		ext := path.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		p.assets[name] = &Asset{Type: mime.TypeByExtension(ext), Data: data}
		p.names[e.Name()] = URL("/assets/" + name)
	}
	return nil
}

// squeeze removes comments and white space that browsers skip from a style sheet, before everything waits for it.
func squeeze(css []byte) []byte {
	for _, r := range []struct{ old, to string }{{`(?s)/\*.*?\*/`, ""}, {`\s*([{};])\s*`, "$1"}, {`([:,])\s+`, "$1"}, {`;}`, "}"}} {
		css = regexp.MustCompile(r.old).ReplaceAll(css, []byte(r.to))
	}
	return css
}

// Asset returns the file that pages need below /assets/, or nil.
func (p *Pages) Asset(name string) *Asset { return p.assets[name] }

// Render writes a page: the template of that name with the view, inside the frame. Nothing is written
// if the template fails.
func (p *Pages) Render(w io.Writer, name string, frame *Frame, view any) error {
	body, err := p.execute(name, view)
	if err != nil {
		return err
	}
	page, err := p.execute("layout", layout{frame, template.HTML(body)}) // body is what html/template wrote
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, page)
	return err
}

// layout is what the template of the frame gets.
type layout struct {
	*Frame
	Body template.HTML
}

// RenderPart returns a part of a page, for live updates. It is the template with which the page itself
// shows the part.
func (p *Pages) RenderPart(name string, view any) (string, error) { return p.execute(name, view) }

func (p *Pages) execute(name string, view any) (string, error) {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, name, view); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return b.String(), nil
}

// funcs returns the functions of templates.
func (p *Pages) funcs() template.FuncMap {
	return template.FuncMap{
		"asset": func(name string) (URL, error) {
			url, ok := p.names[name]
			if !ok {
				return "", fmt.Errorf("there is no file %s", name)
			}
			return url, nil
		},
		"u":      text,
		"lines":  lines,
		"spans":  spans,
		"plain":  plain,
		"count":  count,
		"num":    num[int],
		"num64":  num[int64],
		"bytes":  size,
		"cost":   cost,
		"dur":    duration,
		"when":   func(t time.Time) template.HTML { return element(t, when(t, p.now())) },
		"at":     func(t time.Time) template.HTML { return element(t, t.Format("15:04")) },
		"second": func(t time.Time) template.HTML { return element(t, t.Format("15:04:05")) },
		"left":   func(t time.Time) string { return left(t.Sub(p.now())) },
		"since":  func(t time.Time) string { return duration(p.now().Sub(t)) },
		"past":   func(t time.Time) bool { return !t.IsZero() && !t.After(p.now()) },
		"now":    p.now,
		"day":    func(t time.Time) string { return day(t, p.now()) },
		"today":  func(t time.Time) bool { return sameDay(t, p.now()) },
		"short":  short,
		// running and ticks are for what still runs: how long it ran before, and since when it runs now.
		"running": func(since time.Time, before time.Duration) time.Duration { return before + p.now().Sub(since) },
		"ticks": func(since time.Time, before time.Duration) string {
			return since.Add(-before).UTC().Format(time.RFC3339)
		},
		"look": look,
	}
}
