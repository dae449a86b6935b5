package table

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// readXLSX reads a sheet of a spreadsheet (ECMA-376, Office Open XML). The types are
// those of the cells; nothing is guessed from how a number is displayed. A formula has
// the value that was saved with it.
//
// The sheet is unpacked twice: for its extent and the types of its columns, and for the
// cells. The unpacked bytes are limited, and the table is held in memory.
func readXLSX(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	f, err := openXLSX(ctx, g, in)
	if err != nil {
		return nil, err
	}
	return f.read(o)
}

// read reads the table on the chosen sheet.
func (f *xlsxFile) read(o *readOptions) (*Table, error) {
	sheet, note, err := f.choose(o.sheet)
	if err != nil {
		return nil, err
	}
	if err := f.readStyles(); err != nil {
		return nil, err
	}
	if err := f.readStrings(); err != nil {
		return nil, err
	}
	n, err := o.numberFormat()
	if err != nil {
		return nil, err
	}
	r := &sheetReader{file: f, o: o, sheet: sheet, missing: o.missing, numbers: n}
	t, err := r.table()
	if err != nil {
		return nil, err
	}
	if note != "" {
		t.notes = append([]string{note}, t.notes...)
	}
	return t, nil
}

// An xlsxFile is a spreadsheet.
type xlsxFile struct {
	ctx    context.Context
	name   string
	zip    *zip.Reader
	budget *budget // memory
	left   int64   // remaining bytes to unpack

	sheets      []xlsxSheet
	stylesPart  string
	stringsPart string
	from1904    bool // the first day is in 1904
	formats     []cellFormat
	strings     []string // shared
}

// An xlsxSheet is a sheet with cells.
type xlsxSheet struct {
	name   string
	part   string
	hidden bool
}

const (
	// maxUnpacked is the number of bytes that may be unpacked for one pass, about ten
	// million cells. The sizes in the archive are not trusted.
	maxUnpacked = 512 << 20
	// maxDirectory is the maximum size of the list of parts: about 20,000 parts.
	maxDirectory = 2 << 20
)

// oldOffice is the beginning of files of Office before .xlsx, and of encrypted ones.
const oldOffice = "\xd0\xcf\x11\xe0"

// openXLSX reads the lists of parts and sheets.
func openXLSX(ctx context.Context, g tool.Grant, in *input) (*xlsxFile, error) {
	p, err := in.open(ctx, g)
	if err != nil {
		return nil, err
	}
	f := &xlsxFile{ctx: ctx, name: in.name, budget: newBudget(g), left: maxUnpacked}
	head := make([]byte, min(in.size, 8))
	if _, err := p.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte(oldOffice)):
		return nil, value.Errorf(value.Failed, "%s: unsupported format: an encrypted file or an old .xls file", in.name).WithHint("save the file as .xlsx without a password, or as .csv")
	case !bytes.HasPrefix(head, []byte("PK")):
		return nil, value.Errorf(value.Failed, "%s is not an .xlsx file: not a zip archive", in.name).WithHint(`set format to the format of the file, such as "csv"`)
	}
	bounded := &boundedReaderAt{r: p, left: maxDirectory}
	f.zip, err = zip.NewReader(bounded, in.size)
	if err != nil {
		return nil, f.zipError(err)
	}
	bounded.left = 1 << 62 // later bytes are counted as they are unpacked
	return f, f.readWorkbook()
}

// A boundedReaderAt limits the number of bytes that are read.
type boundedReaderAt struct {
	r    io.ReaderAt
	left int64
}

// ReadAt implements [io.ReaderAt].
func (b *boundedReaderAt) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, row.Limit("the .xlsx file has too many parts")
	}
	return b.r.ReadAt(p, at)
}

// zipError describes an error of an archive. Errors of the gate are returned unchanged.
func (f *xlsxFile) zipError(err error) error {
	var e *value.Error
	if errors.As(err, &e) {
		if e.Kind == value.Limit && e.Limit == value.LimitMemory {
			return renamedError(e, "%s: %s", f.name, e.Message())
		}
		return err
	}
	if f.ctx.Err() != nil {
		return f.ctx.Err()
	}
	return value.Errorf(value.Failed, "%s is not a valid .xlsx file: %s", f.name, strings.TrimPrefix(err.Error(), "zip: ")).WithHint("download or copy the file again")
}

func (f *xlsxFile) errorf(format string, args ...any) *value.Error {
	return value.Errorf(value.Failed, "%s: %s", f.name, fmt.Sprintf(format, args...))
}

// eachElement calls do at the start of each element in the root of a part. If do returns
// errStop, the rest of the part is only checked for damage.
func (f *xlsxFile) eachElement(part string, do func(r *xmlReader) error) error {
	body, err := f.open(part)
	if err != nil {
		return err
	}
	defer body.Close()
	r := newXMLReader(path.Base(part), body)
	for {
		token, err := r.next()
		if err == io.EOF {
			return nil
		}
		if _, ok := token.(xml.StartElement); ok && err == nil {
			err = r.children(func() error { return do(r) })
		}
		if err == errStop {
			_, err = io.Copy(io.Discard, r.bytes.Reader)
			if err == nil {
				return nil
			}
		}
		if err != nil {
			return f.partError(err)
		}
	}
}

// partError adds the name of the file to an error, once.
func (f *xlsxFile) partError(err error) error {
	var e *value.Error
	if !errors.As(err, &e) {
		return f.zipError(err)
	}
	if strings.HasPrefix(e.Message(), f.name) {
		return err
	}
	return renamedError(e, "%s: %s", f.name, e.Message())
}

// open opens a part. As in Excel, names are case-insensitive.
func (f *xlsxFile) open(part string) (io.ReadCloser, error) {
	file := f.find(part)
	switch {
	case file == nil:
		return nil, f.errorf("not a spreadsheet: the part %s is missing", cut(part)).WithHint("save the file as .xlsx in a spreadsheet program")
	case file.Flags&1 != 0:
		return nil, f.errorf("the file is encrypted").WithHint("save the file without a password, or as .csv")
	}
	body, err := file.Open()
	if err != nil {
		return nil, f.zipError(err)
	}
	return &unpacking{f, body}, nil
}

// find returns a part, or nil.
func (f *xlsxFile) find(part string) *zip.File {
	for _, file := range f.zip.File {
		if strings.EqualFold(strings.TrimPrefix(file.Name, "/"), part) {
			return file
		}
	}
	return nil
}

// unpacking limits the unpacked bytes, and stops when the context is done.
type unpacking struct {
	file *xlsxFile
	io.ReadCloser
}

// Read implements [io.Reader].
func (u *unpacking) Read(b []byte) (int, error) {
	if err := u.file.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := u.ReadCloser.Read(b)
	if u.file.left -= int64(n); u.file.left < 0 {
		e := u.file.errorf("the file is larger than %d MB after decompression", maxUnpacked>>20)
		e.Kind, e.Limit = value.Limit, value.LimitMemory
		return n, e.WithHint("save the sheet as .csv, which does not have this limit")
	}
	return n, err
}

// relations reads the parts that a part refers to, by id and by kind.
func (f *xlsxFile) relations(of string) (byID, byKind map[string]string, err error) {
	byID, byKind = map[string]string{}, map[string]string{}
	dir, base := path.Split(of)
	err = f.eachElement(path.Join(dir, "_rels", base+".rels"), func(r *xmlReader) error {
		if r.name != "Relationship" {
			return nil
		}
		id, kind, target := r.attr("Id"), relationKind(r.attr("Type")), r.attr("Target")
		if strings.HasPrefix(target, "/") {
			target = target[1:]
		} else {
			target = path.Join(dir, target)
		}
		if r.attr("TargetMode") == "External" {
			kind = ""
		}
		if _, ok := byKind[kind]; !ok {
			byKind[kind] = target
		}
		if kind != "worksheet" {
			target = ""
		}
		byID[id] = target
		const most = 10_000 // relations; there is one for each sheet
		if len(byID) > most {
			return r.limit("more than %d relations", most)
		}
		return nil
	})
	return byID, byKind, err
}

// readWorkbook reads the list of sheets.
func (f *xlsxFile) readWorkbook() error {
	workbook := "xl/workbook.xml" // where all programs put it
	if f.find("_rels/.rels") != nil || f.find(workbook) == nil {
		_, parts, err := f.relations("")
		if err != nil {
			return err
		}
		workbook = parts["officeDocument"]
	}
	if workbook == "" {
		return f.errorf("not a spreadsheet: the workbook is missing")
	}
	sheets, parts, err := f.relations(workbook)
	if err != nil {
		return err
	}
	f.stylesPart, f.stringsPart = parts["styles"], parts["sharedStrings"]
	err = f.eachElement(workbook, func(r *xmlReader) error {
		switch r.name {
		case "workbookPr":
			on := r.attr("date1904")
			f.from1904 = on == "1" || on == "true"
		case "sheets":
			return r.children(func() error {
				if part := sheets[r.relation()]; r.name == "sheet" && part != "" {
					state := r.attr("state")
					f.sheets = append(f.sheets, xlsxSheet{r.attr("name"), part, state == "hidden" || state == "veryHidden"})
				}
				return nil
			})
		}
		return nil
	})
	if err == nil && len(f.sheets) == 0 {
		err = f.errorf("no sheet with cells")
	}
	return err
}

// choose returns the selected sheet. If none is selected, it returns the first visible
// one, with a note that lists the others.
func (f *xlsxFile) choose(wanted value.Value) (sheet *xlsxSheet, note string, err error) {
	names := make([]string, len(f.sheets))
	for i, s := range f.sheets {
		names[i] = s.name
	}
	switch w := wanted.(type) {
	case nil:
		return f.firstShown()
	case string:
		for i := range f.sheets {
			if strings.EqualFold(f.sheets[i].name, w) {
				return &f.sheets[i], "", nil
			}
		}
		return nil, "", value.Errorf(value.Invalid, "%s: no sheet %q%s", f.name, cut(w), value.DidYouMean(w, names)).
			WithHint("the sheets are %s", someNames(names))
	case int64:
		if w >= 1 && w <= int64(len(f.sheets)) {
			return &f.sheets[w-1], "", nil
		}
		return nil, "", value.Errorf(value.Invalid, "%s: no sheet %d", f.name, w).
			WithHint("the first sheet has the number 1; the sheets are %s", someNames(names))
	}
	return nil, "", value.Errorf(value.Invalid, "argument 'sheet' should be a name or a number but got %s", value.TypeOf(wanted))
}

func (f *xlsxFile) firstShown() (*xlsxSheet, string, error) {
	at := 0
	for i, s := range f.sheets {
		if !s.hidden {
			at = i
			break
		}
	}
	if len(f.sheets) == 1 {
		return &f.sheets[at], "", nil
	}
	others := make([]string, 0, len(f.sheets)-1)
	for i, s := range f.sheets {
		switch {
		case i == at:
		case s.hidden:
			others = append(others, cut(s.name)+" (hidden)")
		default:
			others = append(others, cut(s.name))
		}
	}
	return &f.sheets[at], fmt.Sprintf("read the sheet %q; other sheets: %s", cut(f.sheets[at].name), someNames(others)), nil
}

// readStrings reads the shared texts, which cells refer to by number. Formatted parts of
// a text are joined; pronunciation is skipped.
func (f *xlsxFile) readStrings() error {
	if f.stringsPart == "" || f.find(f.stringsPart) == nil {
		return nil // an error only if a cell refers to a text
	}
	var text []byte
	return f.eachElement(f.stringsPart, func(r *xmlReader) error {
		if r.name != "si" {
			return nil
		}
		var err error
		if text, err = r.richText(text[:0]); err != nil {
			return err
		}
		text = plainText(text)
		const stringBytes = 48 // the string header, twice while the list grows, and the smallest allocation
		if err := f.budget.take(int64(len(text)) + stringBytes); err != nil {
			return err
		}
		f.strings = append(f.strings, string(text))
		return nil
	})
}

// plainText replaces escapes of characters that XML cannot contain: _x000D_.
func plainText(b []byte) []byte {
	const length = len("_x000D_")
	if !bytes.Contains(b, []byte("_x")) {
		return b
	}
	to := b[:0]
	for i := 0; i < len(b); i++ {
		if i+length <= len(b) && b[i] == '_' && b[i+1] == 'x' && b[i+6] == '_' {
			n, err := strconv.ParseUint(string(b[i+2:i+6]), 16, 16)
			if err == nil && n != 0 && utf8.ValidRune(rune(n)) {
				to = utf8.AppendRune(to, rune(n))
				i += length - 1
				continue
			}
		}
		to = append(to, b[i])
	}
	return to
}
