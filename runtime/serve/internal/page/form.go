package page

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Form reads and shows the arguments of a call. It does not change.
type Form struct {
	root *field // nil for a schema that no controls express
	zone *time.Location
	now  time.Time
	// schema is that of the arguments.
	schema *value.Dict
}

// NewForm returns the form of a schema of arguments, such as [tool.Tool.ArgsSchema] returns it. Times are
// entered in the zone.
func NewForm(schema *value.Dict, zone *time.Location, now time.Time) *Form {
	r := schemaReader{root: schema, left: maxFormField}
	f := &Form{root: r.object(schema), zone: zone, now: now, schema: schema}
	if f.root != nil {
		f.root.required = true
		f.root.settle()
	}
	return f
}

func (f *Form) reader(x *index) *formReader {
	return &formReader{index: x, zone: f.zone, now: f.now, left: maxShown}
}

// Filled returns the input with which the form shows arguments, such as those of another run. Passwords and
// files are left out, and what has its default.
func (f *Form) Filled(args *value.Dict) Input { return f.filled(args, false) }

func (f *Form) filled(args *value.Dict, defaults bool) Input {
	if f.root == nil || !f.knows(args) {
		return Input{Values: url.Values{jsonName: {value.FormatJSON(f.stripped(args, defaults), "  ")}}}
	}
	return Input{Values: f.fill(args, defaults)}
}

// knows reports whether each argument has a field.
func (f *Form) knows(args *value.Dict) bool {
	for k := range args.All() {
		if !slices.ContainsFunc(f.root.fields, func(c *field) bool { return value.Value(c.name) == k }) {
			return false
		}
	}
	return true
}

func (f *Form) stripped(args *value.Dict, defaults bool) *value.Dict {
	if f.root == nil {
		return args
	}
	return f.root.stripDict(args, defaults)
}

// A Submission is what was read from an input.
type Submission struct {
	Args   *value.Dict
	Key    string // the idempotency key that the form had
	Run    bool   // the button was that which runs, and nothing is wrong
	input  Input  // as it is shown again, with the rows that were added
	errors []FieldError
	focus  string // the pointer of a new row
	show   bool   // what will be sent
}

// Submit reads what a browser sent. check is the tool's own check of its arguments, such as
// [tool.Tool.ReadArgs]. Its texts are assigned to fields; where the form itself found an error, that counts.
func (f *Form) Submit(in Input, check func(args *value.Dict) error) *Submission {
	s := &Submission{Key: in.Values.Get(keyName), Args: &value.Dict{}, input: in}
	if len(in.Values) > maxInput {
		s.errors = []FieldError{{Text: "The form has more than " + num(maxInput) + " values. Use “Edit as JSON”, or the command line."}}
		s.input = Input{Values: url.Values{jsonName: {"{}"}}}
		return s
	}
	s.edit()
	r := f.reader(newIndex(s.input))
	s.Args = f.args(r)
	s.errors = r.errors
	switch act := in.Values.Get(actName); {
	case act == "json":
		s.toJSON(f)
	case act == "form" && len(s.errors) == 0:
		s.input = f.filled(s.Args, true)
	case act != "" && act != "form", in.Values.Has(addName), in.Values.Has(delName): // nothing was meant to run
		s.errors, s.show = nil, act == "show"
	case act == "":
		s.check(r, check)
	}
	return s
}

// args reads the arguments, from fields or as JSON.
func (f *Form) args(r *formReader) *value.Dict {
	if r.Values.Has(jsonName) {
		return r.whole().OrEmpty()
	}
	if f.root == nil {
		return &value.Dict{}
	}
	v, _ := r.field(f.root, "", "")
	if r.left < 0 {
		r.fail("", "", "The form has too many rows. Use “Edit as JSON”, or the command line.")
	}
	d, _ := v.(*value.Dict)
	return d.OrEmpty()
}

// toJSON shows the arguments as JSON.
func (s *Submission) toJSON(f *Form) {
	if !s.input.Values.Has(jsonName) {
		s.input = Input{Values: url.Values{jsonName: {value.FormatJSON(f.stripped(s.Args, true), "  ")}}}
	}
	s.errors = nil
}

// check asks the tool whether it takes the arguments.
func (s *Submission) check(r *formReader, check func(args *value.Dict) error) {
	if r.left >= 0 {
		if err := check(s.Args); err != nil {
			s.errors = append(s.errors, r.located(err)...)
		}
	}
	if r.Values.Has(jsonName) {
		for i := range s.errors {
			s.errors[i].At, s.errors[i].Name = jsonName, "arguments"
		}
	}
	r.inOrder(s.errors)
	s.Run = len(s.errors) == 0
}

// inOrder sorts errors as their fields stand in the form.
func (r *formReader) inOrder(list []FieldError) {
	order := map[string]int{}
	for i, p := range r.places {
		order[p.at] = i
	}
	of := func(e FieldError) int {
		for at := e.At; at != ""; at = at[:max(strings.LastIndexByte(at, '/'), 0)] {
			if n, ok := order[at]; ok {
				return n
			}
		}
		return -1
	}
	slices.SortStableFunc(list, func(a, b FieldError) int { return cmp.Compare(of(a), of(b)) })
}

// whole reads all arguments from one JSON text.
func (r *formReader) whole() *value.Dict {
	text := strings.TrimSpace(r.text(jsonName))
	if text == "" {
		return &value.Dict{}
	}
	v, err := value.ParseJSON([]byte(text))
	d, ok := v.(*value.Dict)
	switch {
	case err != nil:
		r.fail(jsonName, "arguments", "is not JSON: %s", value.ErrorOf(err, value.Invalid).Message())
	case !ok:
		r.fail(jsonName, "arguments", "must be an object, as in {\"name\": \"value\"}")
	}
	return d
}

// edit adds and removes rows.
func (s *Submission) edit() {
	add, del := s.input.Values.Get(addName), s.input.Values.Get(delName)
	if add == "" && del == "" {
		return
	}
	values := url.Values{}
	for name, list := range s.input.Values {
		if del == "" || name != del && !strings.HasPrefix(name, del+"/") {
			values[name] = list
		}
	}
	values[rowName] = slices.DeleteFunc(slices.Clone(values[rowName]), func(at string) bool { return at == del || del != "" && strings.HasPrefix(at, del+"/") })
	if add != "" {
		next := 0
		for _, n := range newIndex(s.input).rows[add] {
			next = max(next, n+1)
		}
		s.focus = add + "/" + strconv.Itoa(next)
		values[rowName] = append(values[rowName], s.focus)
	} else {
		s.focus = del[:max(strings.LastIndexByte(del, '/'), 0)]
	}
	s.input.Values = values
}

// located finds the fields of what the tool reports. Its texts begin with the name of the part, so the
// longest name of a part of the form that a text begins with is the place.
func (r *formReader) located(err error) []FieldError {
	e := value.ErrorOf(err, value.Invalid)
	head, list, found := strings.Cut(e.Message(), "\n  - ")
	if !found {
		return []FieldError{{Text: strings.TrimSpace(head)}}
	}
	seen := map[string]bool{}
	for _, e := range r.errors {
		seen[e.At] = true
	}
	var out []FieldError
	for text := range strings.SplitSeq(list, "\n  - ") {
		if fe := r.locate(text); fe.At == "" || !seen[fe.At] {
			out = append(out, fe)
		}
	}
	return out
}

func (r *formReader) locate(text string) FieldError {
	best, rest := spot{}, text
	for _, p := range r.places {
		if p.missing(text) {
			return FieldError{p.at, p.name, "is required"}
		}
		if p.label == "" || len(p.label) <= len(best.label) {
			continue
		}
		if after, ok := strings.CutPrefix(text, p.label+" "); ok {
			best, rest = p, after
		}
	}
	return FieldError{best.at, best.name, plainer(rest)}
}

// missing reports whether a text of the tool says that the part is missing.
func (p *spot) missing(text string) bool {
	if p.key == "" {
		return false
	}
	if p.label == "Parameter '"+p.key+"'" {
		return text == "Missing required parameter: "+p.key
	}
	parent, ok := strings.CutSuffix(p.label, "."+p.key)
	return ok && text == parent+" lacks the required field '"+p.key+"'"
}

// plainer says to a person what the tool says to a model.
func plainer(text string) string {
	for _, w := range []struct{ sign, words string }{{"must be <= ", "or less"}, {"must be >= ", "or more"}} {
		if rest, ok := strings.CutPrefix(text, w.sign); ok {
			bound, got, _ := strings.Cut(rest, " ")
			text = strings.TrimSpace("must be " + bound + " " + w.words + " " + got)
		}
	}
	return strings.Replace(text, "(got ", "(you gave ", 1)
}

// commandLine returns the command that does the same as the form.
func commandLine(command string, args *value.Dict) string {
	plain, files := &value.Dict{}, ""
	for k, v := range args.All() {
		name, _ := k.(string)
		text, isText := v.(string)
		_, isFile := v.(value.Media)
		_, err := value.ParseJSON([]byte(text))
		switch {
		case isFile:
			files += " " + hint.ShellQuote(name) + "=@FILE"
			continue
		case isText && (err == nil || text == ""), // it would be read as something else
			strings.Contains(name, "="), strings.HasSuffix(name, ":"), strings.HasPrefix(name, "-"):
			return command + " --input " + hint.ShellQuote(value.FormatJSON(args, ""))
		}
		plain.Put(name, v)
	}
	return command + hint.ShellArgs(plain) + files
}
