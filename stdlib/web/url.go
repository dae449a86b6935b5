package web

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// A hostURL is an address whose host is known: in the one form in which grants
// are matched, in which it is asked for, and to which the connection goes. Two
// readings of one host are how a request gets where it should not.
type hostURL struct {
	url.URL
	name string     // the host without port and brackets: lower-case ASCII, or an address
	addr netip.Addr // the host, where it is an address
	port uint16
}

// nameProfile reads names as browsers do. Hyphens in the third and fourth place
// are in use, and fullwidth digits become plain ones before anybody looks.
var nameProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckHyphens(false), idna.CheckJoiners(true),
	idna.StrictDomainName(true))

// parseURL reads the address that a script or a redirect gives. Errors do not
// quote it: it may hold what only the server should see.
func parseURL(text string) (*hostURL, error) {
	if len(text) > row.MaxURL {
		return nil, limitError("the URL is longer than %d KB", row.MaxURL>>10)
	}
	u, err := row.Parse(text)
	if err != nil || !utf8.ValidString(text) {
		return nil, value.Errorf(value.Invalid, "invalid URL").WithHint("write a URL like https://example.com/path")
	}
	switch {
	case u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https":
		return nil, value.Errorf(value.Denied, "unsupported URL scheme %s: only http: and https: are supported", row.Short(u.Scheme)).
			WithHint("write a URL like https://example.com/path")
	case u.Scheme == "" || u.Opaque != "" || u.Host == "":
		return nil, value.Errorf(value.Invalid, "incomplete URL").WithHint("write a URL like https://example.com/path")
	case u.User != nil:
		return nil, value.Errorf(value.Denied, "a URL must not contain a user name or password").
			WithHint(`remove them from the URL; in a script, pass them as auth = [user, secret("NAME")]`)
	}
	h := &hostURL{}
	if h.name, h.addr, err = hostOf(u); err != nil {
		return nil, err
	}
	if h.port, err = portOf(u); err != nil {
		return nil, err
	}
	h.URL = url.URL{Scheme: u.Scheme, Host: hostPort(u.Scheme, h), Path: u.Path, RawPath: u.RawPath, RawQuery: row.Escape(u.RawQuery, querySafe)}
	if h.Path == "" {
		h.Path = "/"
	}
	return h, nil
}

// querySafe is what may stand in a query as it is.
const querySafe = row.FragmentSafe + "[]"

// hostPort gives the host as capabilities name it: with its port only where
// that is not the standard one.
func hostPort(scheme string, h *hostURL) string {
	host := h.name
	if h.addr.Is6() {
		host = "[" + host + "]"
	}
	if h.port == standardPort(scheme) {
		return host
	}
	return host + ":" + strconv.Itoa(int(h.port))
}

func standardPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

func portOf(u *url.URL) (uint16, error) {
	if u.Port() == "" {
		return standardPort(u.Scheme), nil
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || n == 0 {
		return 0, value.Errorf(value.Invalid, "the port of the URL must be from 1 to 65535")
	}
	return uint16(n), nil
}

// hostOf returns the host that a URL means.
func hostOf(u *url.URL) (name string, addr netip.Addr, err error) {
	raw := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		if addr, err = netip.ParseAddr(raw); err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", addr, value.Errorf(value.Denied, "access denied: invalid IPv6 address %s", row.Short(u.Host)).
				WithHint("write an IPv6 address in brackets and without a zone, as in http://[2001:db8::1]/")
		}
		addr = addr.Unmap() // what the system would connect to
		return addr.String(), addr, nil
	}
	if name, err = asciiName(raw); err != nil {
		return "", addr, err
	}
	name = strings.TrimSuffix(name, ".")
	if addr, err = netip.ParseAddr(name); err == nil && addr.Is4() {
		return addr.String(), addr, nil
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", addr, notAHost(raw)
		}
	}
	if len(name) > 253 {
		return "", addr, notAHost(raw)
	}
	if isNumeric(labels[len(labels)-1]) {
		return "", netip.Addr{}, value.Errorf(value.Denied, "invalid address %s: ambiguous form of an IPv4 address", row.Short(raw)).
			WithHint("write an IPv4 address as four decimal numbers, such as 192.0.2.1")
	}
	return name, netip.Addr{}, nil
}

// asciiName gives a name in lower-case ASCII, as it stands in the DNS.
func asciiName(raw string) (string, error) {
	lower := strings.ToLower(raw)
	if !strings.ContainsFunc(raw, func(r rune) bool { return r >= 0x80 }) && !strings.Contains(lower, "xn--") {
		return lower, nil
	}
	name, err := nameProfile.ToASCII(raw)
	if err != nil || !utf8.ValidString(raw) {
		return "", notAHost(raw)
	}
	return name, nil
}

func notAHost(raw string) error {
	return value.Errorf(value.Invalid, "invalid host name %s", strconv.QuoteToASCII(row.Short(strings.ToValidUTF8(raw, "\ufffd"))))
}

// isNumeric reports whether a last label makes the whole host an IPv4 address
// for browsers and C libraries: 127.1, 2130706433, 0x7f.1, 0177.0.0.1.
func isNumeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok && strings.Trim(hex, "0123456789abcdef") == "" {
		return true
	}
	return strings.Trim(label, "0123456789") == ""
}
