package serve

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// checkHost refuses a request for a name that is not one of the server's. A page of the web can let its own name
// lead to the loopback address (DNS rebinding), and then send requests that the browser takes for its own.
func (s *Server) checkHost(r *http.Request) error {
	name, hosts := hostOf(r.Host), s.settings().hosts
	if slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, name) || strings.EqualFold(h, r.Host) }) {
		return nil
	}
	here, known := localAddr(r)
	if known && !here.IsLoopback() && len(hosts) == 0 {
		return nil
	}
	addr, err := netip.ParseAddr(name)
	if strings.EqualFold(name, "localhost") || err == nil && (addr.IsLoopback() || known && addr.Unmap() == here) {
		return nil
	}
	return value.Errorf(value.Denied, "requests for the host %q are not served here", value.Clean(r.Host, 80)).WithHint("add the name to the hosts of the server; in Go, set Options.Hosts")
}

// hostOf returns the name in a Host header, without a port and brackets.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// localAddr returns the address at which a request came in.
func localAddr(r *http.Request) (addr netip.Addr, known bool) {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return addr, false
	}
	full, err := netip.ParseAddrPort(at.String())
	return full.Addr().Unmap().WithZone(""), err == nil
}
