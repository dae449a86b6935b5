package stdlib

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// httpReservedFields are the headers that are not a script's to say: those that
// decide where a request goes, where it ends, what connection it travels on and
// under which method it is taken, and the cookies, which would act as somebody.
var httpReservedFields = []string{
	"Host", "Connection", "Keep-Alive", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Trailers",
	"Upgrade", "Http2-Settings", "Expect", "Cookie", "Cookie2", "Forwarded",
	"X-Http-Method", "X-Http-Method-Override", "X-Method-Override",
}

// httpReservedPrefixes begin the names of more of them.
var httpReservedPrefixes = []string{"Proxy-", "Sec-", "X-Forwarded-"}

const (
	httpMaxSent  = 100     // headers that a script may set
	httpMaxValue = 8 << 10 // bytes of one; servers take as much for all
)

// httpFields reads the headers that a script sets.
func httpFields(headers *value.Dict) ([]httpField, error) {
	if headers.Len() > httpMaxSent {
		return nil, httpLimit("more than %d headers are given", httpMaxSent)
	}
	var fields []httpField
	for k, v := range headers.All() {
		given, _ := k.(string)
		if strings.Trim(given, httpToken) != "" || given == "" {
			return nil, value.Errorf(value.Denied, "%s is not the name of a header", row.Short(value.FormatJSON(k, "")))
		}
		name := http.CanonicalHeaderKey(given)
		if httpIsReserved(name) {
			return nil, value.Errorf(value.Denied, "a script may not set the header %s", name)
		}
		text, ok := row.Scalar(v)
		switch {
		case v == nil:
			continue
		case !ok:
			return nil, value.Errorf(value.Invalid, "the header %s should be text but is %s", name, value.TypeOf(v))
		case !httpPlain(text):
			return nil, value.Errorf(value.Denied, "the header %s holds a control character or one beyond ASCII", name)
		case len(text) > httpMaxValue:
			return nil, httpLimit("the header %s is longer than %d KB", name, httpMaxValue>>10)
		case slices.ContainsFunc(fields, func(f httpField) bool { return f.name == name }):
			return nil, value.Errorf(value.Invalid, "the header %s is given twice", name)
		}
		fields = append(fields, httpField{name, strings.Trim(text, " \t")})
	}
	return fields, nil
}

// httpToken is what the name of a header may hold.
const httpToken = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"

// httpIsReserved takes an underscore for a hyphen, as many servers do.
func httpIsReserved(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	return slices.Contains(httpReservedFields, name) ||
		slices.ContainsFunc(httpReservedPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// httpPlain reports whether the value of a header stays the value of that
// header: nothing in it can end the line, for any server.
func httpPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' })
}
