package stdlib

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/encoding"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// An httpURL is an address whose host is known: in the one form in which grants
// are matched, in which it is asked for, and to which the connection goes. Two
// readings of one host are how a request gets where it should not.
type httpURL struct {
	url.URL
	name string     // the host without port and brackets: lower-case ASCII, or an address
	addr netip.Addr // the host, where it is an address
	port uint16
}

// httpIDNA reads names as browsers do. Hyphens in the third and fourth place
// are in use, and fullwidth digits become plain ones before anybody looks.
var httpIDNA = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckHyphens(false), idna.CheckJoiners(true),
	idna.StrictDomainName(true))

// httpParse reads the address that a script or a redirect gives. Errors do not
// quote it: it may hold what only the server should see.
func httpParse(text string) (*httpURL, error) {
	if len(text) > row.MaxURL {
		return nil, httpLimit("the URL is longer than %d KB", row.MaxURL>>10)
	}
	u, err := encoding.ReadURL(text)
	if err != nil || !utf8.ValidString(text) {
		return nil, value.Errorf(value.Invalid, "this is not a URL").WithHint("write it as in https://example.com/path")
	}
	switch {
	case u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https":
		return nil, value.Errorf(value.Denied, "a URL with %s: cannot be asked for, only http: and https:", row.Short(u.Scheme)).
			WithHint("write it as in https://example.com/path")
	case u.Scheme == "" || u.Opaque != "" || u.Host == "":
		return nil, value.Errorf(value.Invalid, "this is not the whole URL of a server").WithHint("write it as in https://example.com/path")
	case u.User != nil:
		return nil, value.Errorf(value.Denied, "a URL may not hold a user name or password before the host").
			WithHint(`give them as auth = [user, secret("NAME")]`)
	}
	h := &httpURL{}
	if h.name, h.addr, err = httpHost(u); err != nil {
		return nil, err
	}
	if h.port, err = httpPort(u); err != nil {
		return nil, err
	}
	h.URL = url.URL{Scheme: u.Scheme, Host: httpHostPort(u.Scheme, h), Path: u.Path, RawPath: u.RawPath, RawQuery: encoding.EscapeURL(u.RawQuery, httpQuerySafe)}
	if h.Path == "" {
		h.Path = "/"
	}
	return h, nil
}

// httpQuerySafe is what may stand in a query as it is.
const httpQuerySafe = encoding.FragmentSafe + "[]"

// httpHostPort gives the host as capabilities name it: with its port only where
// that is not the standard one.
func httpHostPort(scheme string, h *httpURL) string {
	host := h.name
	if h.addr.Is6() {
		host = "[" + host + "]"
	}
	if h.port == httpStandardPort(scheme) {
		return host
	}
	return host + ":" + strconv.Itoa(int(h.port))
}

func httpStandardPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

func httpPort(u *url.URL) (uint16, error) {
	if u.Port() == "" {
		return httpStandardPort(u.Scheme), nil
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || n == 0 {
		return 0, value.Errorf(value.Invalid, "the port of the URL is not from 1 to 65535")
	}
	return uint16(n), nil
}

// httpHost says which host a URL really means.
func httpHost(u *url.URL) (name string, addr netip.Addr, err error) {
	raw := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		if addr, err = netip.ParseAddr(raw); err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", addr, value.Errorf(value.Denied, "%s is not an IPv6 address of the internet", row.Short(u.Host))
		}
		addr = addr.Unmap() // what the system would connect to
		return addr.String(), addr, nil
	}
	if name, err = httpASCII(raw); err != nil {
		return "", addr, err
	}
	name = strings.TrimSuffix(name, ".")
	if addr, err = netip.ParseAddr(name); err == nil && addr.Is4() {
		return addr.String(), addr, nil
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", addr, httpNoHost(raw)
		}
	}
	if len(name) > 253 {
		return "", addr, httpNoHost(raw)
	}
	if httpNumeric(labels[len(labels)-1]) {
		return "", netip.Addr{}, value.Errorf(value.Denied, "%s is an address in a form that programs read differently", row.Short(raw)).
			WithHint("write an IPv4 address as four decimal numbers, as in 192.0.2.1")
	}
	return name, netip.Addr{}, nil
}

// httpASCII gives a name in lower-case ASCII, as it stands in the DNS.
func httpASCII(raw string) (string, error) {
	lower := strings.ToLower(raw)
	if !strings.ContainsFunc(raw, func(r rune) bool { return r >= 0x80 }) && !strings.Contains(lower, "xn--") {
		return lower, nil
	}
	name, err := httpIDNA.ToASCII(raw)
	if err != nil || !utf8.ValidString(raw) {
		return "", httpNoHost(raw)
	}
	return name, nil
}

func httpNoHost(raw string) error {
	return value.Errorf(value.Invalid, "%s is not the name of a host", strconv.QuoteToASCII(row.Short(strings.ToValidUTF8(raw, "\ufffd"))))
}

// httpNumeric reports whether a last label makes the whole host an IPv4 address
// for browsers and C libraries: 127.1, 2130706433, 0x7f.1, 0177.0.0.1.
func httpNumeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok && strings.Trim(hex, "0123456789abcdef") == "" {
		return true
	}
	return strings.Trim(label, "0123456789") == ""
}
