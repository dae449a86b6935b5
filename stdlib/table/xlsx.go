package table

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// readXLSX reads a sheet of a spreadsheet (ECMA-376, Office Open XML). The types
// come from the cells, so nothing is guessed from how a number is shown; a formula
// gives the value that was saved with it.
//
// The sheet is unpacked twice: to find out its extent and the types of its columns,
// and for the cells. What is unpacked is counted, and the table is held.
func readXLSX(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	f, err := openXLSX(ctx, g, in)
	if err != nil {
		return nil, err
	}
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
	r := &sheetReader{file: f, o: o, sheet: sheet, missing: o.missing}
	t, err := r.table()
	if err != nil {
		return nil, err
	}
	if note != "" {
		t.notes = append([]string{note}, t.notes...)
	}
	return t, nil
}

// An xlsxFile is a spreadsheet that is being read.
type xlsxFile struct {
	ctx    context.Context
	name   string
	zip    *zip.Reader
	budget *budget // of memory
	left   int64   // bytes that may still be unpacked

	sheets      []xlsxSheet
	stylesPart  string
	stringsPart string
	from1904    bool // days are counted from 1904
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
	// maxUnpacked is how much of a spreadsheet is unpacked for one reading, whatever
	// the archive says of its sizes: about ten million cells.
	maxUnpacked = 512 << 20
	// maxDirectory is how large the list of parts may be: some 20,000 of them.
	maxDirectory = 2 << 20
)

// oldOffice is what the files begin with that Office wrote before .xlsx, and those
// that it encrypts.
const oldOffice = "\xd0\xcf\x11\xe0"

// openXLSX reads which parts and sheets there are.
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
		return nil, value.Errorf(value.Failed, "%s is encrypted, or an old .xls file", in.name).WithHint("save it as .xlsx without a password, or as .csv")
	case !bytes.HasPrefix(head, []byte("PK")):
		return nil, value.Errorf(value.Failed, "%s is no .xlsx file: it is no zip archive", in.name).WithHint("say which it is with format")
	}
	bounded := &boundedReaderAt{r: p, left: maxDirectory}
	f.zip, err = zip.NewReader(bounded, in.size)
	if err != nil {
		return nil, f.zipError(err)
	}
	bounded.left = 1 << 62 // what follows is counted as it is unpacked
	return f, f.readWorkbook()
}

// A boundedReaderAt reads so many bytes and no more.
type boundedReaderAt struct {
	r    io.ReaderAt
	left int64
}

// ReadAt implements [io.ReaderAt].
func (b *boundedReaderAt) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, overMemory("the archive lists too many parts")
	}
	return b.r.ReadAt(p, at)
}

// zipError says what is wrong with an archive. Errors of the gate stay as they are.
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
	return value.Errorf(value.Failed, "%s is no whole .xlsx file: %s", f.name, strings.TrimPrefix(err.Error(), "zip: ")).WithHint("it may be cut off; get it again")
}

func (f *xlsxFile) errorf(format string, args ...any) *value.Error {
	return value.Errorf(value.Failed, "%s: %s", f.name, fmt.Sprintf(format, args...))
}

// eachToken calls start with the scanner at each start of an element of a part.
// Where start returns errStop, the rest is only checked for damage.
func (f *xlsxFile) eachToken(part string, start func(s *xmlScanner) error) error {
	body, err := f.open(part)
	if err != nil {
		return err
	}
	defer body.Close()
	s := newXMLScanner(path.Base(part), body)
	for {
		err := s.next()
		if err == io.EOF {
			return nil
		}
		if err == nil && s.token == xmlStart {
			err = start(s)
		}
		if err == errStop {
			_, err = io.Copy(io.Discard, s.r)
			if err == nil {
				return nil
			}
		}
		if err != nil {
			return f.partError(err)
		}
	}
}

// partError names the file in an error of a part, once.
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

// open opens a part. Excel takes names in upper and lower case for the same.
func (f *xlsxFile) open(part string) (io.ReadCloser, error) {
	file := f.find(part)
	switch {
	case file == nil:
		return nil, f.errorf("is no spreadsheet: it has no part %s", cut(part)).WithHint("it may be another kind of zip archive; save it as .xlsx in a spreadsheet program")
	case file.Flags&1 != 0:
		return nil, f.errorf("it is encrypted").WithHint("save it without a password, or as .csv")
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

// unpacking counts what is unpacked, and stops when the call does.
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
		e := u.file.errorf("it unpacks to more than %d MB", maxUnpacked>>20)
		e.Kind, e.Limit = value.Limit, value.LimitMemory
		return n, e.WithHint("save the sheet as .csv, which may be of any size")
	}
	return n, err
}

// relations reads the parts that a part refers to: by their ids, and by the last
// word of their kind.
func (f *xlsxFile) relations(of string) (byID, byKind map[string]string, err error) {
	byID, byKind = map[string]string{}, map[string]string{}
	dir, base := path.Split(of)
	err = f.eachToken(path.Join(dir, "_rels", base+".rels"), func(s *xmlScanner) error {
		if s.name != "Relationship" {
			return nil
		}
		id, err := s.attr("Id")
		kind, err2 := s.attr("Type")
		target, err3 := s.attr("Target")
		if err := errors.Join(err, err2, err3); err != nil {
			return s.errorf("a relation that cannot be read")
		}
		if strings.HasPrefix(target, "/") {
			target = target[1:]
		} else {
			target = path.Join(dir, target)
		}
		kind = path.Base(kind)
		byID[id] = target
		if _, ok := byKind[kind]; !ok {
			byKind[kind] = target
		}
		if kind != "worksheet" {
			byID[id] = ""
		}
		const most = 10_000 // relations; there is one for each sheet
		if len(byID) > most {
			return s.limit("more than %d relations", most)
		}
		return nil
	})
	return byID, byKind, err
}

// readWorkbook reads the list of sheets.
func (f *xlsxFile) readWorkbook() error {
	_, parts, err := f.relations("")
	if err != nil {
		return err
	}
	workbook := parts["officeDocument"]
	if workbook == "" {
		return f.errorf("is no spreadsheet: it has no workbook")
	}
	sheets, parts, err := f.relations(workbook)
	if err != nil {
		return err
	}
	f.stylesPart, f.stringsPart = parts["styles"], parts["sharedStrings"]
	err = f.eachToken(workbook, func(s *xmlScanner) error {
		switch s.name {
		case "workbookPr":
			on := string(s.rawAttr("date1904"))
			f.from1904 = on == "1" || on == "true"
		case "sheet":
			name, err := s.attr("name")
			if err != nil {
				return err
			}
			id, err := s.relation()
			if part := sheets[id]; err == nil && part != "" {
				hidden := string(s.rawAttr("state"))
				f.sheets = append(f.sheets, xlsxSheet{name, part, hidden == "hidden" || hidden == "veryHidden"})
			}
			return err
		}
		return nil
	})
	if err == nil && len(f.sheets) == 0 {
		err = f.errorf("it has no sheet with cells")
	}
	return err
}

// choose returns the sheet that is asked for, or the first that is shown. The note
// tells what else there is where nobody asked.
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
		return nil, "", value.Errorf(value.Invalid, "%s: there is no sheet %q%s", f.name, cut(w), value.DidYouMean(w, names)).
			WithHint("the sheets are %s", someNames(names))
	case int64:
		if w >= 1 && w <= int64(len(f.sheets)) {
			return &f.sheets[w-1], "", nil
		}
		return nil, "", value.Errorf(value.Invalid, "%s: there is no sheet %d", f.name, w).
			WithHint("sheets are counted from 1: %s", someNames(names))
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
	return &f.sheets[at], fmt.Sprintf("the sheet is %q; there are also: %s", cut(f.sheets[at].name), someNames(others)), nil
}

// readStrings reads the texts that cells refer to by their number. What is
// formatted in parts is put together; how it is pronounced is left out.
func (f *xlsxFile) readStrings() error {
	if f.stringsPart == "" || f.find(f.stringsPart) == nil {
		return nil // which matters only where a cell asks for a text
	}
	var text []byte
	return f.eachToken(f.stringsPart, func(s *xmlScanner) error {
		if s.name != "si" {
			return nil
		}
		var err error
		if text, err = s.richText(text[:0]); err != nil {
			return err
		}
		const room = 48 // of a string: itself, twice while the list grows, and what the smallest piece of memory takes
		if err := f.budget.take(int64(len(text)) + room); err != nil {
			return err
		}
		f.strings = append(f.strings, string(text))
		return nil
	})
}

// richText puts together the texts within the element whose start is at hand.
func (s *xmlScanner) richText(to []byte) ([]byte, error) {
	depth := len(s.open) - 1
	inside := false
	for len(s.open) > depth {
		if err := s.next(); err != nil {
			return nil, unended(err)
		}
		switch {
		case s.token == xmlStart && s.name == "rPh":
			if err := s.skip(); err != nil {
				return nil, unended(err)
			}
		case s.token == xmlStart:
			inside = s.name == "t"
		case s.token == xmlEnd:
			inside = false
		case inside:
			if len(to)+len(s.text) > maxCellText {
				return nil, s.limit("a text of more than %d MB", maxCellText>>20)
			}
			to = append(to, s.text...)
		}
	}
	return plainText(to), nil
}

func unended(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// plainText replaces the escapes of characters that XML has not: _x000D_.
func plainText(b []byte) []byte {
	const length = len("_x000D_")
	if !bytes.Contains(b, []byte("_x")) {
		return b
	}
	to := b[:0]
	for i := 0; i < len(b); i++ {
		if i+length <= len(b) && b[i] == '_' && b[i+1] == 'x' && b[i+6] == '_' {
			if r, ok := entity([]byte("#x" + string(b[i+2:i+6]))); ok {
				to = append(to, string(r)...)
				i += length - 1
				continue
			}
		}
		to = append(to, b[i])
	}
	return to
}
