package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A FormView is a form as a page shows it.
type FormView struct {
	Action  URL    // where it is sent
	Key     string // the idempotency key
	Deed    string // on the button: "Run monthly_report"
	Command string // in a terminal, without the arguments: "cassidy tool run monthly_report"
	Can     bool   // the user may run it
	Why     string // why not
	Secrets []Secret

	Fields  []*Control
	Errors  []FieldError
	JSON    *Control // instead of the fields
	CanForm bool     // the fields express the arguments
	Files   bool     // there are fields for files
	Sent    string   // the arguments, as JSON
	Line    string   // the command line
	Quick   bool     // the key Enter runs it, because it only reads
	Open    bool     // what will be sent is shown
}

// A Secret is a secret that a tool uses, and that has no field.
type Secret struct {
	Name, Host string
	Set        bool
	How        string // how to set it: a command line; "" if it is not known whether it is set
}

// A Control is a field of a form, with what is in it.
type Control struct {
	Kind     ControlKind
	Name     string // a JSON pointer
	ID       ElementID
	Label    string // the name of the property, or ""
	Row      string // "cities, item 2", if it is in a row
	Title    string
	Type     string
	Help     string
	Left     string // what it is if nothing is entered: "10"
	Unset    Literal
	Required bool
	Text     string
	Checked  bool
	Options  []Choice
	Fields   []*Control
	Rows     []Entered
	Item     Literal // what a row is: "an item"
	Min, Max Literal
	Step     Literal
	Schema   string // of what is entered as JSON
	Error    string
	ErrorAt  ElementID // the ID of the element with the error
	Nullable bool
	Null     bool
	Blank    bool // it can be sent as an empty text
	Empty    bool // it is
	Coded    bool // JSON is in it, in place of its own control
	Focus    bool
	Lines    int
}

// Described returns the IDs of the texts that describe the control.
func (c *Control) Described() Literal {
	var ids []string
	if c.Title != "" || c.Help != "" || c.Left != "" {
		ids = append(ids, string(c.ID)+"-h")
	}
	if c.Error != "" {
		ids = append(ids, string(c.ErrorAt))
	}
	return Literal(strings.Join(ids, " "))
}

// Pair reports whether the control has two short fields, which stand beside each other.
func (c *Control) Pair() bool {
	short := []ControlKind{DateControl, TimeControl, NumberControl}
	return len(c.Fields) == 2 && slices.Contains(short, c.Fields[0].Kind) && slices.Contains(short, c.Fields[1].Kind)
}

// A Choice is an option of a control, or a variant.
type Choice struct {
	Value, Title string
	ID           ElementID
	Chosen       bool
	Content      *Control // of a variant
}

// Entered is an item of a list, or a pair of a dict.
type Entered struct {
	At      string // its pointer
	Number  int    // from 1
	Key     *Control
	Content *Control
}

// A formViewer makes controls.
type formViewer struct {
	*index
	errors map[string]string
	focus  string
	zone   string
	left   int
	files  bool
}

// Show completes a view with the fields of the form, and with what was submitted. A nil submission is that
// of an empty form.
func (f *Form) Show(v *FormView, s *Submission) {
	if s == nil {
		s = f.Fill(Input{})
	}
	w := &formViewer{index: newIndex(s.input), errors: map[string]string{}, focus: s.focus, zone: f.zone.String(), left: maxShown}
	for _, e := range s.errors {
		w.errors[e.At] = joinText(w.errors[e.At], e.Text)
	}
	v.Errors = s.errors
	v.CanForm = f.root != nil
	v.Open = s.show
	if s.Key != "" {
		v.Key = s.Key
	}
	if w.Values.Has(jsonName) || f.root == nil {
		v.JSON = &Control{Kind: JSONControl, Name: jsonName, ID: "f-json", Label: "Arguments", Type: "JSON", Text: w.text(jsonName),
			Error: w.errors[jsonName], ErrorAt: "f-json-e", Schema: schemaText(f.schema), Lines: 12}
	} else {
		v.Fields = w.fields(f.root, "")
	}
	shown := f.masked(s.Args)
	v.Sent = cut(value.FormatJSON(shown, "  "), mostSent)
	if v.Line = commandLine(v.Command, shown); len(v.Line) > mostLine {
		v.Line = v.Command + " --input @FILE"
	}
	v.Files = w.files
}

// The bounds of what a form shows besides its fields, in bytes.
const (
	mostSent, mostLine, mostSchema = 20_000, 4_000, 4_000
)

func schemaText(s *value.Dict) string { return cut(value.FormatJSON(s, "  "), mostSchema) }

// Fill returns the submission of an input that nobody has sent, such as that of Filled.
func (f *Form) Fill(in Input) *Submission {
	return &Submission{input: in, Args: f.args(f.reader(newIndex(in)))}
}

func joinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// masked returns arguments to show: a password is covered.
func (f *Form) masked(args *value.Dict) *value.Dict {
	if f.root == nil {
		return args
	}
	d, _ := f.root.mask(args).(*value.Dict)
	return d.OrEmpty()
}

func (f *field) mask(v value.Value) value.Value {
	const covered = "••••••"
	switch part := v.(type) {
	case string:
		if part != "" && f.takesPassword() {
			return covered
		}
	case value.List:
		if f.item != nil {
			return value.List(value.Map(part, f.item.mask))
		}
	case *value.Dict:
		for _, variant := range f.variants {
			part, _ = variant.mask(part).(*value.Dict)
		}
		out := value.MakeDict(part.Len())
		for k, v := range part.All() {
			if child := f.part(k); child != nil {
				v = child.mask(v)
			}
			_ = out.Set(k, v) // it was a key before
		}
		return out
	}
	return v
}

// takesPassword reports whether a text of the field may be a password.
func (f *field) takesPassword() bool {
	return f.kind == PasswordControl || slices.ContainsFunc(f.variants, (*field).takesPassword)
}

// part returns the field of a key of an object or a dict, or nil.
func (f *field) part(key value.Value) *field {
	for _, c := range f.fields {
		if value.Value(c.name) == key {
			return c
		}
	}
	return f.item
}

func (w *formViewer) fields(f *field, at string) []*Control {
	var list []*Control
	for _, child := range f.fields {
		if w.left--; w.left < 0 {
			break
		}
		list = append(list, w.control(child, join(at, child.name), ""))
	}
	return list
}

// An ElementID is the ID of an element.
type ElementID string

// A Literal is a text of our own.
type Literal string

// id returns the ID of the element of a pointer, which is another one for each pointer.
func id(at string) ElementID {
	var b strings.Builder
	b.WriteString("f")
	for i := range len(at) {
		switch c := at[i]; {
		case c == '/':
			b.WriteByte('.')
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "~%02x", c)
		}
	}
	return ElementID(b.String())
}

// control shows a field. row names it, if it has no name.
func (w *formViewer) control(f *field, at, row string) *Control {
	c := &Control{
		Kind: f.kind, Name: at, ID: id(at), Label: f.name, Row: row, Type: f.typ, Help: f.help, Required: f.required, Text: w.text(at),
		Min: Literal(f.min), Max: Literal(f.max), Error: w.errors[at], ErrorAt: id(at) + "-e", Nullable: f.nullable, Null: f.nullable && w.has(nullName, at),
		Focus: w.focus != "" && w.focus == at, Lines: 3,
	}
	if f.title != "" && !sameWords(f.title, f.name) && f.name != "" {
		c.Title = f.title
	}
	if f.hasDefault && !f.required && f.def != nil && f.kind != CheckControl {
		c.Left, c.Unset = f.defaultText(), "Left empty"
		if f.kind == RadioControl || f.kind == SelectControl {
			c.Unset = "Not set"
		}
	}
	if w.has(codeName, at) && f.kind != JSONControl {
		c.Kind, c.Coded, c.Schema = JSONControl, true, schemaText(f.schema)
		return c
	}
	switch f.kind {
	case TextControl:
		c.Blank, c.Empty = !f.required && row == "", w.has(emptyName, at)
		if f.long || isLong(c.Text) {
			c.Kind, c.Lines = AreaControl, min(max(3, strings.Count(c.Text, "\n")+1), 12)
		}
	case PasswordControl:
		c.Text = ""
	case FileControl:
		w.files, c.Text = true, ""
	case NumberControl:
		c.Step = "any"
		if f.whole {
			c.Step = "1"
		}
	case DateControl, MomentControl, TimeControl:
		if f.kind != DateControl {
			c.Type += " in " + w.zone
		}
		if !pickable(f.kind, c.Text) { // a picker would lose it
			c.Kind = TextControl
		}
	case CheckControl:
		c.Checked = c.Text != ""
	case ConstControl:
		c.Checked = c.Text != ""
		c.Text = value.Display(f.constant)
	case JSONControl:
		c.Schema, c.Lines = schemaText(f.schema), min(max(3, strings.Count(c.Text, "\n")+1), 16)
	default:
		w.compound(c, f, at)
	}
	return c
}

// compound shows what has parts.
func (w *formViewer) compound(c *Control, f *field, at string) {
	switch f.kind {
	case ObjectControl:
		c.Fields = w.fields(f, at)
		if c.Focus && len(c.Fields) > 0 {
			c.Focus, c.Fields[0].Focus = false, true
		}
	case RadioControl, SelectControl:
		chosen := false
		for i, o := range f.options {
			is := o.sent == c.Text && w.Values.Has(at)
			chosen = chosen || is
			c.Options = append(c.Options, Choice{Value: o.sent, Title: o.title, Chosen: is, ID: c.ID + ElementID("-"+strconv.Itoa(i))})
		}
		if !f.required || f.kind == SelectControl {
			title := "not set"
			if f.required {
				title = "choose one"
			}
			c.Options = append([]Choice{{Title: title, Chosen: !chosen, ID: c.ID + "-n"}}, c.Options...)
		}
	case ListControl, DictControl:
		w.rowsOf(c, f, at)
	case VariantControl:
		for i, variant := range f.variants {
			n := strconv.Itoa(i)
			w.left--
			c.Options = append(c.Options, Choice{Value: n, Title: variant.title, ID: c.ID + ElementID("-"+n), Chosen: c.Text == n,
				Content: w.control(variant, at+"/"+n, variant.title)})
		}
		if !f.required {
			c.Options = append([]Choice{{Title: "not set", Chosen: c.Text == "", ID: c.ID + "-n"}}, c.Options...)
		}
	}
}

func (w *formViewer) rowsOf(c *Control, f *field, at string) {
	c.Item = "an item"
	if f.kind == DictControl {
		c.Item = "a pair"
	}
	name := f.shownName(at)
	for i, n := range w.rows[at] {
		if w.left--; w.left < 0 {
			return
		}
		row := Entered{At: at + "/" + strconv.Itoa(n), Number: i + 1}
		to := row.At
		if f.kind == DictControl {
			to += "/value"
			row.Key = &Control{Kind: TextControl, Name: row.At + "/key", ID: id(row.At + "/key"), Row: fmt.Sprintf("%s, name %d", name, i+1), Text: w.text(row.At + "/key"),
				Error: w.errors[row.At+"/key"], ErrorAt: id(row.At+"/key") + "-e", Focus: w.focus == row.At}
			row.Content = w.control(f.item, to, fmt.Sprintf("%s, value %d", name, i+1))
		} else {
			row.Content = w.control(f.item, to, fmt.Sprintf("%s, item %d", name, i+1))
		}
		c.Rows = append(c.Rows, row)
	}
}

// sameWords reports whether a title says no more than a name.
func sameWords(title, name string) bool {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '_' || r == '-' || r == ' ' || r == '.' {
				return -1
			}
			return r
		}, strings.ToLower(s))
	}
	return plain(title) == plain(name)
}

// defaultText is a default in the words of the form.
func (f *field) defaultText() string {
	if f.def == true {
		return "yes"
	}
	if f.def == false {
		return "no"
	}
	for _, o := range f.options {
		if value.EqualJSON(o.value, f.def) {
			return o.title
		}
	}
	if f.def == "" {
		return "an empty text"
	}
	return value.Cut(value.Display(f.def), 120)
}

// pickable reports whether a picker of the browser shows a text.
func pickable(kind ControlKind, text string) bool {
	if text == "" {
		return true
	}
	forms := map[ControlKind][]string{DateControl: {"2006-01-02"}, MomentControl: {"2006-01-02T15:04", "2006-01-02T15:04:05"}, TimeControl: {"15:04", "15:04:05"}}
	for _, form := range forms[kind] {
		if _, err := time.Parse(form, text); err == nil {
			return true
		}
	}
	return false
}

// ID returns the ID of the field.
func (e FieldError) ID() ElementID {
	if e.At == jsonName {
		return "f-json"
	}
	return id(e.At)
}
