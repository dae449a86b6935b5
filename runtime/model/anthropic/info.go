package anthropic

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/catalog"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// lookUpTimeout is how long the server is asked about a model before the catalog counts: a
	// task begins with it.
	lookUpTimeout = 5 * time.Second
	// mostPages is the limit of a list of models, in pages of 1,000.
	mostPages = 20
)

// lookUp returns what the server knows about the model, and of the rest what the catalog knows.
func (m *client) lookUp(ctx context.Context) model.Info {
	known := catalog.Find("anthropic", plainName(m.o.Model))
	if !isID(m.o.Model) {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	var d *value.Dict
	f := m.authorized(func() (f *wire.Failure) {
		d, f = m.w.Ask(ctx, m.get("/v1/models/"+m.o.Model))
		return f
	})
	if f != nil || d.Int("max_input_tokens") <= 0 && d.Int("max_tokens") <= 0 {
		return known
	}
	return infoOf(d, known)
}

// get returns a request that is not repeated.
func (m *client) get(path string) *wire.Query {
	return &wire.Query{Method: "GET", Path: path, Header: m.header(fix{}), Retry: func(*wire.Failure) bool { return false }}
}

// infoOf reads the server's description of a model.
//
// Source: https://platform.claude.com/docs/en/api/models/retrieve
func infoOf(d *value.Dict, known model.Info) model.Info {
	info := known
	info.Context = cmp.Or(int(d.Int("max_input_tokens")), known.Context)
	info.MaxOutput = cmp.Or(int(d.Int("max_tokens")), known.MaxOutput)
	if info.Context != known.Context || info.MaxOutput != known.MaxOutput || d.Int("max_input_tokens") > 0 {
		info.Source = "server"
	}
	if can := wire.Child(d, "capabilities"); can != nil {
		info.Media = []string{}
		if wire.Child(can, "image_input").Bool("supported") {
			info.Media = append(info.Media, "image/png", "image/jpeg", "image/gif", "image/webp")
		}
		if wire.Child(can, "pdf_input").Bool("supported") {
			info.Media = append(info.Media, "application/pdf")
		}
	}
	return info
}

// List returns the models of the account, the newest first. Options.Model is ignored.
//
// Source: https://platform.claude.com/docs/en/api/models/list
func List(ctx context.Context, o *Options) ([]model.Listing, error) {
	if o == nil {
		o = &Options{}
	}
	m, err := connect(o, "anthropic")
	if err != nil {
		return nil, err
	}
	var list []model.Listing
	path := "/v1/models?limit=1000"
	for range mostPages {
		var page *value.Dict
		f := m.authorized(func() (f *wire.Failure) {
			q := m.get(path)
			q.Retry = nil
			page, f = m.w.Ask(ctx, q)
			return f
		})
		if f != nil {
			return nil, f.Err
		}
		if f := failureIn(m.w, page); f != nil {
			return nil, f.Err
		}
		for _, d := range wire.Children(page, "data") {
			name := d.Text("id")
			list = append(list, model.Listing{Name: name, Info: infoOf(d, catalog.Find("anthropic", plainName(name)))})
		}
		last := page.Text("last_id")
		if !page.Bool("has_more") || !isID(last) {
			break
		}
		path = "/v1/models?limit=1000&after_id=" + last
	}
	return list, nil
}

// isID reports whether a name can be a part of an address as it is.
func isID(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@:") == "" && strings.Trim(name, ".") != ""
}
