package serve

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"time"

	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// formBody is how long the form of a tool may be, with its files.
const formBody = value.MaxMedia + maxBody

// input reads the form of a tool, with its files. They are kept in memory.
func (r *request) input() (page.Input, error) {
	in := page.Input{}
	if err := r.readForm(); err != nil {
		return in, err
	}
	in.Values = r.PostForm
	if r.MultipartForm == nil {
		return in, nil
	}
	in.Files = map[string]page.Upload{}
	for name, list := range r.MultipartForm.File {
		if len(list) == 0 || list[0].Filename == "" && list[0].Size == 0 { // nothing was chosen
			continue
		}
		file, err := upload(list[0])
		if err != nil {
			return in, value.Errorf(value.Invalid, "read the form: %w", err)
		}
		in.Files[name] = file
	}
	return in, nil
}

// readForm reads a form into PostForm.
func (r *request) readForm() error {
	conn := http.NewResponseController(r.w)
	_ = conn.SetReadDeadline(time.Now().Add(bodyTime))
	defer conn.SetReadDeadline(time.Time{}) // afterwards it would end the request
	err := r.ParseMultipartForm(formBody)   // so nothing is written to a file
	if err == nil || errors.Is(err, http.ErrNotMultipart) {
		return nil
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return e
	}
	return value.Errorf(value.Invalid, "read the form: %w", err)
}

// upload reads a file of a form.
func upload(h *multipart.FileHeader) (page.Upload, error) {
	u := page.Upload{Name: h.Filename, TooLarge: h.Size > value.MaxMedia}
	if u.TooLarge {
		return u, nil
	}
	f, err := h.Open()
	if err != nil {
		return u, err
	}
	defer f.Close()
	u.Data, err = io.ReadAll(f)
	return u, err
}
