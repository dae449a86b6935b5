package stdlib

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// httpForbidden is every address that is no server of the public internet, in
// the words of an error. What is not in it and not in 2000::/3 is none either.
var httpForbidden = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), httpThisMachine},
	{netip.MustParsePrefix("0.0.0.0/8"), httpThisMachine},
	{netip.MustParsePrefix("::/127"), httpThisMachine},
	{netip.MustParsePrefix("10.0.0.0/8"), httpPrivate},
	{netip.MustParsePrefix("172.16.0.0/12"), httpPrivate},
	{netip.MustParsePrefix("192.168.0.0/16"), httpPrivate},
	{netip.MustParsePrefix("fc00::/7"), httpPrivate},
	{netip.MustParsePrefix("fec0::/10"), httpPrivate},
	{netip.MustParsePrefix("100.64.0.0/10"), "a provider's inner network"},
	{netip.MustParsePrefix("169.254.0.0/16"), "the local link, where clouds keep their keys"},
	{netip.MustParsePrefix("fe80::/10"), "the local link"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's own service"}, // Azure's, which only its machines reach
	{netip.MustParsePrefix("192.0.0.0/24"), httpReserved},
	{netip.MustParsePrefix("192.88.99.0/24"), "a gateway between IPv4 and IPv6"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a network for measurements"},
	{netip.MustParsePrefix("192.0.2.0/24"), httpExample},
	{netip.MustParsePrefix("198.51.100.0/24"), httpExample},
	{netip.MustParsePrefix("203.0.113.0/24"), httpExample},
	{netip.MustParsePrefix("2001:db8::/32"), httpExample},
	{netip.MustParsePrefix("3fff::/20"), httpExample},
	{netip.MustParsePrefix("224.0.0.0/4"), httpMany},
	{netip.MustParsePrefix("ff00::/8"), httpMany},
	{netip.MustParsePrefix("240.0.0.0/4"), httpReserved},
	// What stands for an IPv4 address, which could be any of the above.
	{netip.MustParsePrefix("::/96"), httpWrapped},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), httpWrapped},
	{netip.MustParsePrefix("64:ff9b::/96"), httpWrapped},
	{netip.MustParsePrefix("64:ff9b:1::/48"), httpWrapped},
	{netip.MustParsePrefix("2002::/16"), httpWrapped},
	{netip.MustParsePrefix("2001::/32"), httpWrapped},
	{netip.MustParsePrefix("2001::/23"), httpReserved},
	{netip.MustParsePrefix("100::/64"), "a network that leads nowhere"},
}

const (
	httpThisMachine = "this machine itself"
	httpPrivate     = "a private network"
	httpReserved    = "a reserved network"
	httpExample     = "a network that only stands in examples"
	httpMany        = "many machines at once"
	httpWrapped     = "the networks that stand for those of IPv4"
)

// httpPublic6 is all that is public of IPv6.
var httpPublic6 = netip.MustParsePrefix("2000::/3")

// httpNotPublic says what an address is that scripts may not reach, or "".
func httpNotPublic(addr netip.Addr) string {
	if !addr.IsValid() || addr.Zone() != "" {
		return httpReserved
	}
	addr = addr.Unmap()
	for _, f := range httpForbidden {
		if f.prefix.Contains(addr) {
			return f.what
		}
	}
	if addr.Is6() && !httpPublic6.Contains(addr) || !addr.IsGlobalUnicast() {
		return httpReserved
	}
	return ""
}

// An httpDialer connects to the host of one URL and to nothing else.
type httpDialer struct {
	net *httpNet
	url *httpURL
	// trusted holds a request that goes unencrypted with a secret to the
	// addresses that the user's config names.
	trusted bool
}

// lent reports whether the user's config names an address that is not public.
func (n *httpNet) lent(addr netip.Addr) bool {
	for _, p := range n.private {
		if p.Contains(addr.Unmap()) {
			return true
		}
	}
	return false
}

// refuses says why an address may not be connected to, or nil.
func (d *httpDialer) refuses(addr netip.Addr) error {
	if addr.Zone() == "" && d.net.lent(addr) {
		return nil
	}
	if d.trusted {
		return value.Errorf(value.Denied, "a secret is sent only over https, and %s is not", d.url.name)
	}
	what := httpNotPublic(addr)
	if what == "" {
		own, err := d.net.own()
		if err != nil {
			return value.Errorf(value.Unavailable, "cannot tell which addresses are this machine's own, and so none can be reached: %w", err)
		}
		for _, a := range own {
			if a.Unmap() == addr.Unmap() {
				what = httpThisMachine
			}
		}
	}
	if what == "" {
		return nil
	}
	verb, hint := "belongs to", netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()).String()
	if !d.url.addr.IsValid() {
		verb = "leads to"
		if !httpIsLocal(d.url.name) {
			hint = "ADDRESS/32" // which one is not told: it would draw a map of the network inside
		}
	}
	return value.Errorf(value.Denied, "%s %s %s, which tools may not reach", d.url.name, verb, what).
		WithHint("if it is meant, name its address in the user's config: http: {private: [%s]}", hint)
}

// httpIsLocal reports whether a name is this machine by its words alone.
func httpIsLocal(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// dial connects to the host. What is looked up is asked for once, and what is
// connected to is an address that was checked: by itself before, and by
// [httpDialer.control] when the system is about to connect.
func (d *httpDialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	addrs, err := d.addresses(ctx)
	if err != nil {
		return nil, err
	}
	for i, addr := range addrs {
		var conn net.Conn
		if conn, err = d.connect(ctx, addr, len(addrs)-i); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// httpMaxAddresses is how many addresses of one name are tried.
const httpMaxAddresses = 8

// addresses looks up the host, and leaves out what it may not reach.
func (d *httpDialer) addresses(ctx context.Context) ([]netip.Addr, error) {
	found := []netip.Addr{d.url.addr}
	if !d.url.addr.IsValid() {
		var err error
		if found, err = d.net.find(ctx, d.url.name); err != nil {
			return nil, err
		}
	}
	var refused error
	var allowed []netip.Addr
	for _, addr := range found {
		err := d.refuses(addr)
		if err == nil {
			allowed = append(allowed, addr.Unmap())
		} else if refused == nil {
			refused = err
		}
	}
	if len(allowed) == 0 {
		return nil, refused
	}
	return allowed[:min(len(allowed), httpMaxAddresses)], nil
}

// find looks up a name. That a search list of the system could make another
// name of it does not do where it has a dot: the grant is for this one.
func (n *httpNet) find(ctx context.Context, name string) ([]netip.Addr, error) {
	if httpIsLocal(name) {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	asked := name
	if strings.Contains(name, ".") {
		asked += "."
	}
	found, err := n.lookup(ctx, asked)
	var dns *net.DNSError
	switch {
	case err == nil && len(found) > 0:
		return found, nil
	case err == nil || errors.As(err, &dns) && dns.IsNotFound:
		return nil, value.Errorf(value.Unavailable, "there is no host %s", name).WithHint("check how it is spelled, and the network")
	}
	if stopped := ctx.Err(); stopped != nil {
		return nil, stopped
	}
	return nil, value.Errorf(value.Unavailable, "cannot look up %s", name).WithHint("check the network")
}

// httpTryFor is how long one of several addresses is tried before the next: a
// host that answers at all does so in far less.
const httpTryFor = 2 * time.Second

func (d *httpDialer) connect(ctx context.Context, addr netip.Addr, left int) (net.Conn, error) {
	if left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, httpTryFor)
		defer cancel()
	}
	network := "tcp4"
	if addr.Is6() {
		network = "tcp6"
	}
	address := net.JoinHostPort(addr.String(), strconv.Itoa(int(d.url.port)))
	return d.net.connect(ctx, network, address, d.control)
}

// control is asked by the system's dialer, with the address that it is about
// to connect to.
func (d *httpDialer) control(network, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" || to.Port() != d.url.port {
		return value.Errorf(value.Denied, "a connection to %s was not asked for", d.url.name)
	}
	return d.refuses(to.Addr())
}

// httpConnect opens a connection, and asks control about the address first.
func httpConnect(ctx context.Context, network, address string, control func(network, address string) error) (net.Conn, error) {
	d := net.Dialer{Control: func(network, address string, _ syscall.RawConn) error { return control(network, address) }}
	return d.DialContext(ctx, network, address)
}

// httpLookup asks the system's resolver.
func httpLookup(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

// httpOwn lists the addresses of this machine.
func httpOwn() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(n.IP); ok {
				own = append(own, addr.Unmap())
			}
		}
	}
	return own, nil
}
