package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// reservedFields are the headers that are not a script's to say: those that
// decide where a request goes, where it ends, what connection it travels on and
// under which method it is taken, and the cookies, which would act as somebody.
var reservedFields = []string{
	"Host", "Connection", "Keep-Alive", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Trailers",
	"Upgrade", "Http2-Settings", "Expect", "Cookie", "Cookie2", "Forwarded",
	"X-Http-Method", "X-Http-Method-Override", "X-Method-Override",
}

// reservedPrefixes begin the names of more of them.
var reservedPrefixes = []string{"Proxy-", "Sec-", "X-Forwarded-"}

const (
	maxSent  = 100     // headers that a script may set
	maxValue = 8 << 10 // bytes of one; servers take as much for all
)

// readFields reads the headers that a script sets.
func readFields(headers *value.Dict) ([]field, error) {
	if headers.Len() > maxSent {
		return nil, limitError("the request has more than %d headers", maxSent)
	}
	var fields []field
	for k, v := range headers.All() {
		given, _ := k.(string)
		if strings.Trim(given, tokenChars) != "" || given == "" {
			return nil, value.Errorf(value.Denied, "invalid header name %s", row.Short(value.FormatJSON(k, "")))
		}
		name := http.CanonicalHeaderKey(given)
		if isReserved(name) {
			return nil, value.Errorf(value.Denied, "the header %s is reserved: a script cannot set it", name)
		}
		text, ok := row.Scalar(v)
		switch {
		case v == nil:
			continue
		case !ok:
			return nil, value.Errorf(value.Invalid, "the header %s should be a string but got %s", name, value.TypeOf(v))
		case !isPlain(text):
			return nil, value.Errorf(value.Denied, "the header %s contains an invalid character: only printable ASCII is allowed", name)
		case len(text) > maxValue:
			return nil, limitError("the header %s is longer than %d KB", name, maxValue>>10)
		case slices.ContainsFunc(fields, func(f field) bool { return f.name == name }):
			return nil, value.Errorf(value.Invalid, "duplicate header %s", name)
		}
		fields = append(fields, field{name, strings.Trim(text, " \t")})
	}
	return fields, nil
}

// tokenChars is what the name of a header may hold.
const tokenChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"

// CanSetHeader reports whether a script can set a header.
func CanSetHeader(name string) bool {
	return name != "" && strings.Trim(name, tokenChars) == "" && !isReserved(name)
}

// isReserved takes an underscore for a hyphen, as many servers do.
func isReserved(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	return slices.Contains(reservedFields, name) ||
		slices.ContainsFunc(reservedPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// isPlain reports whether the value of a header stays the value of that
// header: nothing in it can end the line, for any server.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' })
}
