package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// valueRoutes are the values of runs themselves.
func (s *Server) valueRoutes() []route {
	return []route{
		{pattern: "GET /runs/{id}/steps/{n}/value", role: View, page: true, serve: (*request).rawValue},
		{pattern: "GET /runs/{id}/media/{sha256}", role: View, page: true, serve: (*request).media},
	}
}

// sandboxPolicy is for what somebody else made: it can do nothing, also where a browser would show it.
const sandboxPolicy = "sandbox; default-src 'none'"

// rawValue answers with the value of a step, or with the result of the run, as a file.
func (r *request) rawValue() error {
	p, run, err := r.pageRun()
	if err != nil {
		return err
	}
	v, name := run.Result, "result"
	if n := r.PathValue("n"); n != "result" {
		e, err := r.entry(p, run, page.Path(n))
		if err != nil {
			return err
		}
		_, _, v, _ = describe.Parts(e)
		name = "step-" + n
	}
	data, kind, ext := []byte(value.FormatJSON(v, "  ")), "application/json", ".json"
	switch got := v.(type) {
	case string:
		data, kind, ext = []byte(got), "text/plain; charset=utf-8", ".txt"
	case value.Media:
		data, kind, ext = got.Data, "application/octet-stream", ""
	}
	if r.URL.Query().Get("form") == "csv" {
		var b bytes.Buffer
		if err := page.WriteCSV(&b, v); err != nil {
			return err
		}
		data, kind, ext = b.Bytes(), "text/csv; charset=utf-8", ".csv"
	}
	if text := r.URL.Query().Get("offset"); text != "" {
		from, err := strconv.Atoi(text)
		if err != nil || from < 0 || from > len(data) {
			return value.Errorf(value.Invalid, "offset should be a number from 0 to %d", len(data))
		}
		data = data[from:]
	}
	r.foreign(kind, name+ext, true)
	return r.content(data)
}

// foreign says of an answer that somebody else made it.
func (r *request) foreign(kind, name string, download bool) {
	h := r.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", sandboxPolicy)
	if download {
		h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	}
}

// content answers with data, or the part of it that the client asks for.
func (r *request) content(data []byte) error {
	http.ServeContent(r.w, r.Request, "", time.Time{}, slowly{bytes.NewReader(data), http.NewResponseController(r.w)})
	return nil
}

// A slowly gives a client time as long as it reads.
type slowly struct {
	io.ReadSeeker
	out *http.ResponseController
}

func (s slowly) Read(p []byte) (int, error) {
	_ = s.out.SetWriteDeadline(time.Now().Add(writeTime))
	return s.ReadSeeker.Read(p)
}

// shownMedia are the types that a page shows. Others are downloads.
var shownMedia = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// media answers with an image or a document of a run.
func (r *request) media() error {
	p, run, err := r.pageRun()
	if err != nil {
		return err
	}
	sum := strings.ToLower(r.PathValue("sha256"))
	m, err := r.findMedia(p, run, sum)
	if err != nil {
		return err
	}
	kind := value.MediaType(m.Data)
	if slices.Contains(shownMedia, kind) {
		r.foreign(kind, "", false)
	} else {
		r.foreign("application/octet-stream", "file-"+sum[:12], true)
	}
	r.w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	return r.content(m.Data)
}

// findMedia finds an image or a document by its SHA-256 among the values of a run.
func (r *request) findMedia(p *project, run *history.Run, sum string) (value.Media, error) {
	in := func(v value.Value) (value.Media, bool) {
		for _, m := range value.MediaIn(v) {
			if got := sha256.Sum256(m.Data); hex.EncodeToString(got[:]) == sum {
				return m, true
			}
		}
		return value.Media{}, false
	}
	if m, ok := in(run.Result); ok {
		return m, nil
	}
	for e, err := range p.op.Steps(r.Context(), run.ID) {
		if err != nil {
			continue
		}
		if m, ok := in(e.Outcome.Value); ok {
			return m, nil
		}
	}
	return value.Media{}, value.Errorf(value.NotFound, "the run '%s' has no such file", run.ID)
}
