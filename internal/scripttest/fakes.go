package scripttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/callback"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/clock"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// fakes are what the effects of a test return. The lock of the test protects them.
type fakes struct {
	hasFiles bool
	http     []fake
	shell    []fake
	effect   []fake // by the names of effects
	env      *value.Dict
	secrets  *value.Dict // nil: none was defined
	now      time.Time   // zero: the test has no clock
	seed     *int64
	model    *fake
	answers  value.List
	recorded *replay
}

// A fake is the result of an effect: a value, a list of values for one effect after another, or a
// function of the script.
type fake struct {
	key string
	v   value.Value
	n   int // how many values of a list were used
}

// find returns the fake of an effect by the names that it may have, exact ones first.
func find(list []fake, names ...string) *fake {
	for _, name := range names {
		if i := slices.IndexFunc(list, func(f fake) bool { return f.key == name }); i >= 0 {
			return &list[i]
		}
	}
	for i := range list {
		if key := list[i].key; strings.Contains(key, "*") && slices.ContainsFunc(names, wildcard(key).MatchString) {
			return &list[i]
		}
	}
	return nil
}

// wildcard returns the pattern of a key in which * stands for any text, also of several lines.
func wildcard(key string) *regexp.Regexp {
	return regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(key), `\*`, ".*") + "$")
}

// set returns fakes by their keys.
func set(d *value.Dict) []fake {
	var list []fake
	for k, v := range d.All() {
		key, _ := k.(string)
		list = append(list, fake{key: key, v: v})
	}
	return list
}

// keys returns the keys of fakes.
func keys(list []fake) (names []string) {
	for i := range list {
		names = append(names, list[i].key)
	}
	return names
}

// nearestKey returns the key of a dict that resembles a name, or "".
func nearestKey(name string, d *value.Dict) string {
	var names []string
	for k := range d.OrEmpty().All() {
		if key, ok := k.(string); ok {
			names = append(names, key)
		}
	}
	return value.Nearest(name, names)
}

// setHTTP sets the responses of servers.
func (x *test) setHTTP(responses *value.Dict) error {
	list := set(responses)
	if err := checkValues(list, func(key string, v value.Value) error { _, err := parseResponse(key, v); return err }); err != nil {
		return err
	}
	x.http = list
	return nil
}

// value returns the value of a fake for a request.
func (x *test) value(ctx context.Context, f *fake, request value.Value) (value.Value, error) {
	x.mu.Lock()
	v := f.v
	if list, ok := v.(value.List); ok {
		if f.n >= len(list) {
			x.mu.Unlock()
			results := "results"
			if len(list) == 1 {
				results = "result"
			}
			err := value.Errorf(value.Failed, "the fake %q has %d %s, but is used again", f.key, len(list), results).
				WithHint("add a result to the list, or use a function instead of a list")
			return nil, x.invalidate(err)
		}
		v = list[f.n]
		f.n++
	}
	x.mu.Unlock()
	if fn, ok := callback.Of(v); ok {
		return x.callback(ctx, fn, request)
	}
	return v, nil
}

// execute carries out an effect of the test or of what it calls.
func (x *test) execute(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	module, _, _ := strings.Cut(e.Func, ".")
	switch {
	case module == moduleName || e.Func == engine.CoverEffect || e.Func == callback.Effect || isInternal(f, e.Func):
		return f.Do(ctx, e, g)
	case f.Kind == tool.Notice:
		if e.Func != "show" { // which is not part of the result
			x.print(e.Args.Text("message"))
		}
		return tool.Outcome{}, nil
	}
	x.note(f, e, g)
	makesCalls := f.MakesCalls() || module == "tools"
	if !makesCalls {
		if out, done, err := x.replayed(e); done {
			return out, err
		}
	}
	if fake := find(x.effect, e.Func); fake != nil {
		v, err := x.value(ctx, fake, e.Args)
		return tool.Outcome{Value: v}, err
	}
	if makesCalls {
		if err := x.refuseCalls(e); err != nil {
			return tool.Outcome{}, err
		}
		return f.Do(ctx, e, g)
	}
	switch module {
	case "fs", "context", "skill", "memory":
		if !x.hasFiles {
			return tool.Outcome{}, x.lacks(e.Func, "", "t.fs({%s: %q})", fileKey(e.Args), "…")
		}
		return f.Do(ctx, e, g)
	case "time":
		if !x.hasClock() {
			return tool.Outcome{}, x.lacks(e.Func, "", `t.clock("2026-01-01T00:00:00Z")`)
		}
		g.Sleep = x.sleep
		return x.clock(f).Do(ctx, e, g)
	case "random":
		if x.seed == nil {
			return tool.Outcome{}, x.lacks("random", "", "t.random(1)")
		}
		return tool.Outcome{Value: *x.seed}, nil
	case "shell":
		return x.command(ctx, e)
	case "http", "env", "secret", "human", "model":
		return f.Do(ctx, e, g)
	}
	return tool.Outcome{}, x.lacks(e.Func, value.Nearest(e.Func, keys(x.effect)), `t.effect({%q: None})`, e.Func)
}

// fileKey returns the path of an effect on files, as the fake names it.
func fileKey(args *value.Dict) string {
	if p := args.Text("path"); p != "" {
		return value.FormatJSON(p, "")
	}
	return `"notes.md"`
}

// hasClock reports whether the time is set. A call that sleeps beside changes it.
func (x *test) hasClock() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.now.IsZero()
}

// clock returns a function of the module time with the clock of the test.
func (x *test) clock(f *tool.Func) *tool.Func {
	m := clock.Module(func() time.Time {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.now
	})
	i := slices.IndexFunc(m.Funcs, func(own tool.Func) bool { return own.Name == f.Name })
	return &m.Funcs[i]
}

// variable returns an environment variable.
func (x *test) variable(name string) (string, error) {
	v, ok := x.env.OrEmpty().Get(name)
	if !ok {
		return "", x.lacks("env.get("+value.FormatJSON(name, "")+")", nearestKey(name, x.env), `t.env({%q: "…"}), or None for a variable that is not set`, name)
	}
	if text, ok := v.(string); ok {
		return text, nil
	}
	return "", value.Errorf(value.NotFound, "the environment variable %s is not set", name)
}

// secret returns the value of a secret.
func (x *test) secret(name string) (string, error) {
	v, ok := x.secrets.OrEmpty().Get(name)
	if !ok {
		return "", x.lacks("secret("+value.FormatJSON(name, "")+")", nearestKey(name, x.secrets), `t.secret({%q: "a value for tests"})`, name)
	}
	if text, ok := v.(string); ok {
		return text, nil
	}
	return "", value.Errorf(value.NotFound, "the secret %s has no value", name)
}

// answer answers a question of a script.
func (x *test) answer(ctx context.Context, q tool.Question) (tool.Answer, error) {
	x.mu.Lock()
	if len(x.answers) == 0 {
		x.mu.Unlock()
		answer, fn := `"…"`, "human.ask"
		if q.Kind == tool.QuestionConfirm {
			answer, fn = "True", "human.confirm"
		}
		return tool.Answer{}, x.lacks(fn+"("+value.FormatJSON(q.Text, "")+")", "", "t.answer(%s)", answer)
	}
	f := fake{key: q.Text, v: x.answers[0]}
	x.answers = x.answers[1:]
	x.mu.Unlock()
	v, err := x.value(ctx, &f, q.Text)
	if err != nil {
		return tool.Answer{}, err
	}
	if yes, ok := v.(bool); ok && q.Kind == tool.QuestionConfirm {
		return tool.Answer{Yes: yes}, nil
	}
	return tool.Answer{Value: v}, nil
}

// reply returns the next reply of the model.
func (x *test) reply(ctx context.Context, messages value.List) (value.Value, error) {
	x.mu.Lock()
	f := x.model
	x.mu.Unlock()
	if f == nil {
		return nil, x.lacks("model.ask", "", `t.model(["…"])`)
	}
	return x.value(ctx, f, messages)
}

// command returns the result of a command.
func (x *test) command(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	var words []string
	for _, w := range e.Args.Elements("argv") {
		word, _ := w.(string)
		words = append(words, word)
	}
	line := commandLine(words)
	names := []string{line}
	if len(words) == 3 && words[0] == "sh" && words[1] == "-c" {
		names = append(names, words[2])
	}
	f := find(x.shell, append(names, words[0])...)
	if f == nil {
		return tool.Outcome{}, x.lacks("shell.run("+value.FormatJSON(value.List(e.Args.Elements("argv")), "")+")", value.Nearest(names[len(names)-1], keys(x.shell)), `t.shell({%s: "…"})`, value.FormatJSON(names[len(names)-1], ""))
	}
	v, err := x.value(ctx, f, value.NewDict("command", names[len(names)-1], "argv", value.List(e.Args.Elements("argv")), "cwd", e.Args.Text("cwd")))
	if err != nil {
		return tool.Outcome{}, err
	}
	result, err := commandResult(line, v)
	if err != nil {
		return tool.Outcome{}, x.invalidate(err)
	}
	if exit := result.Int("exit_code"); exit != 0 && e.Args.Bool("check") {
		return tool.Outcome{}, value.Errorf(value.Command, "%s: exit code %d\nstdout:\n%s\nstderr:\n%s", words[0], exit, result.Text("stdout"), result.Text("stderr"))
	}
	return tool.Outcome{Value: result}, nil
}

// wrong returns the error of an invalid fake.
func wrong(format string, args ...any) error {
	return value.Errorf(value.Failed, format, args...).WithHint("see docs/testing.md for what a fake returns")
}

// unknownField is [wrong] for a field that a fake cannot have.
func unknownField(what, name string, fields ...string) error {
	return value.Errorf(value.Failed, "%s has the unknown field %q%s", what, name, value.DidYouMean(name, fields)).
		WithHint("the fields are: %s", strings.Join(fields, ", "))
}

// checkValues checks the values of fakes when they are set. The result of a function is checked
// when it is used.
func checkValues(list []fake, check func(key string, v value.Value) error) error {
	for i := range list {
		results := value.List{list[i].v}
		if several, ok := list[i].v.(value.List); ok {
			results = several
		}
		for _, v := range results {
			if _, ok := callback.Of(v); ok {
				continue
			}
			if err := check(list[i].key, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// setShell sets the results of commands.
func (x *test) setShell(commands *value.Dict) error {
	list := set(commands)
	if err := checkValues(list, func(key string, v value.Value) error { _, err := commandResult(key, v); return err }); err != nil {
		return err
	}
	x.shell = list
	return nil
}

// setEnv sets environment variables.
func (x *test) setEnv(variables *value.Dict) error {
	for name, v := range variables.All() {
		if _, ok := v.(string); !ok && v != nil {
			return value.Errorf(value.Invalid, "the environment variable %v should be a string or None but got %s", name, value.TypeOf(v)).
				WithHint("write the value as a text, or None for a variable that is not set")
		}
	}
	x.fakes.env = variables
	return nil
}

// setSecrets sets secrets.
func (x *test) setSecrets(values *value.Dict) error {
	for name, v := range values.All() {
		text, ok := v.(string)
		switch {
		case v == nil:
		case !ok:
			return value.Errorf(value.Invalid, "the secret %v should be a string or None but got %s", name, value.TypeOf(v)).
				WithHint("write the value as a text, or None for a secret that has no value")
		case len(text) < secret.MinLength:
			return value.Errorf(value.Invalid, "the secret %v is too short: it must have at least %d bytes", name, secret.MinLength).
				WithHint(`write a longer value, such as "a value for tests"`)
		}
	}
	x.secrets = values
	return nil
}

// commandResult returns the result of a command that the value of a fake describes.
func commandResult(line string, v value.Value) (*value.Dict, error) {
	result := value.NewDict("exit_code", int64(0), "stdout", "", "stderr", "", "truncated", false)
	switch v := v.(type) {
	case string:
		result.Put("stdout", v)
	case *value.Dict:
		for k, field := range v.All() {
			name, _ := k.(string)
			if name == "" || !result.Has(name) {
				return nil, unknownField("the fake of the command "+strconv.Quote(line), fmt.Sprint(k), "exit_code", "stdout", "stderr")
			}
			if was, _ := result.Get(name); value.TypeOf(was) != value.TypeOf(field) {
				return nil, wrong("the field %q of the fake of the command %q should be %s but got %s", name, line, value.TypeOf(was), value.TypeOf(field))
			}
			result.Put(name, field)
		}
	default:
		return nil, wrong("the fake of the command %q should be a string or a dict but got %s", line, value.TypeOf(v))
	}
	return result, nil
}

// letters may be in names of golden values, and in words that need no quotes.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

// commandLine returns a command as one types it.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		if words[i] = w; w == "" || strings.Trim(w, letters+"@%+=:,/") != "" {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// maxBody is how much of the body of a request a fake gets.
const maxBody = 8 << 20

// respond returns the response to a request.
func (x *test) respond(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxBody)); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	names := []string{r.Method + " " + r.URL.String(), r.URL.String()}
	if url := *r.URL; url.RawQuery != "" {
		url.RawQuery = ""
		names = append(names, r.Method+" "+url.String(), url.String())
	}
	x.mu.Lock()
	f, known := find(x.http, names...), keys(x.http)
	x.mu.Unlock()
	if f == nil {
		url, _, hasQuery := strings.Cut(r.URL.String(), "?")
		shown := url
		if hasQuery {
			shown += "?…"
		}
		similar := otherMethod(known, names)
		if similar == "" {
			similar = value.Nearest(names[0], known)
		}
		return nil, x.lacks("http."+strings.ToLower(r.Method)+"("+value.FormatJSON(shown, "")+")", similar, `t.http({%s: {"json": {}}})`, value.FormatJSON(r.Method+" "+url, ""))
	}
	v, err := x.value(r.Context(), f, requestDict(r, body))
	if err != nil {
		return nil, err
	}
	return x.response(r, f.key, v)
}

// otherMethod returns the key of a fake that would match a request if the request had another method, or
// "". names are those of the request.
func otherMethod(known, names []string) string {
	for _, key := range known {
		_, url, ok := strings.Cut(key, " ")
		if ok && find([]fake{{key: url}}, names...) != nil {
			return key
		}
	}
	return ""
}

// requestDict describes a request for a fake. It has placeholders in place of secrets.
func requestDict(r *http.Request, body []byte) *value.Dict {
	headers := &value.Dict{}
	for name, values := range r.Header {
		headers.Put(strings.ToLower(name), strings.Join(values, ", "))
	}
	query := &value.Dict{}
	for name, values := range r.URL.Query() {
		query.Put(name, values[0])
	}
	d := value.NewDict("method", r.Method, "url", r.URL.String(), "headers", headers, "query", query, "body", string(bytes.ToValidUTF8(body, []byte("�"))), "json", nil)
	if v, err := value.ParseJSON(body); err == nil {
		d.Put("json", v)
	}
	return d
}

// A response is what the value of a fake of a request describes.
type response struct {
	status  int
	headers http.Header
	body    []byte
	failure error // of the request; or nil
}

// parseResponse returns the response that the value of a fake describes.
func parseResponse(key string, v value.Value) (*response, error) {
	resp := &response{status: http.StatusOK, headers: http.Header{}}
	kind := "text/plain; charset=utf-8"
	switch v := v.(type) {
	case string:
		resp.body = []byte(v)
	case []byte:
		resp.body, kind = v, "application/octet-stream"
	case *value.Dict:
		for k, field := range v.All() {
			name, _ := k.(string)
			switch name {
			case "status":
				status, ok := field.(int64)
				if !ok || status < 200 || status > 599 {
					return nil, wrong("the fake %q has the invalid status %s", key, value.FormatJSON(field, ""))
				}
				resp.status = int(status)
			case "headers":
				headers, ok := field.(*value.Dict)
				if !ok {
					return nil, wrong("the headers of the fake %q should be a dict", key)
				}
				for k, v := range headers.All() {
					name, _ := k.(string)
					text, ok := v.(string)
					if !ok {
						return nil, wrong("the header %q of the fake %q should be a string", name, key)
					}
					resp.headers.Set(name, text)
				}
			case "json":
				if hasFunction(field) {
					return nil, wrong("the field \"json\" of the fake %q contains a function", key)
				}
				resp.body, kind = []byte(value.FormatJSON(field, "")), "application/json"
			case "body":
				text, isText := field.(string)
				data, isBytes := field.([]byte)
				if !isText && !isBytes {
					return nil, wrong("the body of the fake %q should be a string or bytes", key)
				}
				if resp.body = data; isText {
					resp.body = []byte(text)
				}
				if !utf8.Valid(resp.body) {
					kind = "application/octet-stream"
				}
			case "error":
				text, ok := field.(string)
				if !ok {
					return nil, wrong("the error of the fake %q should be a string", key)
				}
				resp.failure = value.Errorf(value.Unavailable, "%s", text)
			default:
				return nil, unknownField("the fake "+strconv.Quote(key), fmt.Sprint(k), "status", "headers", "body", "json", "error")
			}
		}
	default:
		return nil, wrong("the fake %q should be a string, bytes or a dict but got %s", key, value.TypeOf(v))
	}
	if resp.headers.Get("Content-Type") == "" && len(resp.body) > 0 {
		resp.headers.Set("Content-Type", kind)
	}
	return resp, nil
}

// response returns the response to a request that the value of a fake describes.
func (x *test) response(r *http.Request, key string, v value.Value) (*http.Response, error) {
	parsed, err := parseResponse(key, v)
	if err != nil {
		return nil, x.invalidate(err)
	}
	if parsed.failure != nil {
		return nil, parsed.failure
	}
	body := parsed.body
	if r.Method == http.MethodHead {
		body = nil
	}
	return &http.Response{
		StatusCode: parsed.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: parsed.headers, Request: r,
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}
