package web

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

// networks are the addresses that are not servers of the public internet, with the words
// of an error. Of IPv6, what is not in publicIPv6 is not either.
var networks = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), thisMachine},
	{netip.MustParsePrefix("0.0.0.0/8"), thisMachine},
	{netip.MustParsePrefix("::/127"), thisMachine},
	{netip.MustParsePrefix("10.0.0.0/8"), privateNetwork},
	{netip.MustParsePrefix("172.16.0.0/12"), privateNetwork},
	{netip.MustParsePrefix("192.168.0.0/16"), privateNetwork},
	{netip.MustParsePrefix("fc00::/7"), privateNetwork},
	{netip.MustParsePrefix("fec0::/10"), privateNetwork},
	{netip.MustParsePrefix("100.64.0.0/10"), "an internal network of an internet provider"},
	{netip.MustParsePrefix("169.254.0.0/16"), "the link-local network with credentials of the cloud"},
	{netip.MustParsePrefix("fe80::/10"), "the link-local network"},
	{netip.MustParsePrefix("168.63.129.16/32"), "an internal service of a cloud"}, // Azure's, which only its machines reach
	{netip.MustParsePrefix("192.0.0.0/24"), reservedNetwork},
	{netip.MustParsePrefix("192.88.99.0/24"), "a gateway between IPv4 and IPv6"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a network for benchmarks"},
	{netip.MustParsePrefix("192.0.2.0/24"), exampleNetwork},
	{netip.MustParsePrefix("198.51.100.0/24"), exampleNetwork},
	{netip.MustParsePrefix("203.0.113.0/24"), exampleNetwork},
	{netip.MustParsePrefix("2001:db8::/32"), exampleNetwork},
	{netip.MustParsePrefix("3fff::/20"), exampleNetwork},
	{netip.MustParsePrefix("224.0.0.0/4"), manyMachines},
	{netip.MustParsePrefix("ff00::/8"), manyMachines},
	{netip.MustParsePrefix("240.0.0.0/4"), reservedNetwork},
	// What stands for an IPv4 address, which could be any of the above.
	{netip.MustParsePrefix("::/96"), wrappedIPv4},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), wrappedIPv4},
	{netip.MustParsePrefix("64:ff9b::/96"), wrappedIPv4},
	{netip.MustParsePrefix("64:ff9b:1::/48"), wrappedIPv4},
	{netip.MustParsePrefix("2002::/16"), wrappedIPv4},
	{netip.MustParsePrefix("2001::/32"), wrappedIPv4},
	{netip.MustParsePrefix("2001::/23"), reservedNetwork},
	{netip.MustParsePrefix("100::/64"), "a network that discards packets"},
}

const (
	thisMachine     = "this machine"
	privateNetwork  = "a private network"
	reservedNetwork = "a reserved network"
	exampleNetwork  = "a network for documentation"
	manyMachines    = "a multicast network"
	wrappedIPv4     = "an IPv6 network for IPv4 addresses"
)

// publicIPv6 is all that is public of IPv6.
var publicIPv6 = netip.MustParsePrefix("2000::/3")

// NotPublic describes an address that scripts may not reach; of another one it is "".
func NotPublic(addr netip.Addr) string {
	if !addr.IsValid() || addr.Zone() != "" {
		return reservedNetwork
	}
	addr = addr.Unmap()
	for _, f := range networks {
		if f.prefix.Contains(addr) {
			return f.what
		}
	}
	if addr.Is6() && !publicIPv6.Contains(addr) || !addr.IsGlobalUnicast() {
		return reservedNetwork
	}
	return ""
}

// A hostDialer connects to the host of one URL and to nothing else.
type hostDialer struct {
	net *Network
	url *hostURL
	// trusted holds a request that goes unencrypted with a secret to the
	// addresses that the user's config names.
	trusted bool
}

// isPrivate reports whether the user's config names an address that is not public.
func (n *Network) isPrivate(addr netip.Addr) bool {
	for _, p := range *n.private.Load() {
		if p.Contains(addr.Unmap()) {
			return true
		}
	}
	return false
}

// refuses returns why an address may not be connected to, or nil.
func (d *hostDialer) refuses(addr netip.Addr) error {
	if addr.Zone() == "" && d.net.isPrivate(addr) {
		return nil
	}
	if d.trusted {
		return secretOverHTTP(d.url)
	}
	what := NotPublic(addr)
	if what == "" {
		own, err := d.net.own()
		if err != nil {
			return value.Errorf(value.Unavailable, "request not sent: list the addresses of this machine: %w", err)
		}
		for _, a := range own {
			if a.Unmap() == addr.Unmap() {
				what = thisMachine
			}
		}
	}
	if what == "" {
		return nil
	}
	verb, which, hint := "belongs to", "", netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()).String()
	if !d.url.addr.IsValid() {
		verb = "resolves to"
		if !isLocal(d.url.name) {
			which, hint = whichAddress, "ADDRESS" // which one is not shown: that would draw a map of the network inside
		}
	}
	return value.Errorf(value.Denied, "access denied: %s %s %s", d.url.name, verb, what).
		WithHint("to allow the address: cassidy config set --add http.private %s%s", hint, which)
}

// whichAddress describes the placeholder ADDRESS of a hint.
const whichAddress = ", where ADDRESS is the address of the host, such as 10.0.0.5/32"

// secretOverHTTP returns the error of sending a secret unencrypted.
func secretOverHTTP(u *hostURL) error {
	which, address := whichAddress, "ADDRESS"
	switch {
	case u.addr.IsValid():
		which, address = "", netip.PrefixFrom(u.addr.Unmap(), u.addr.Unmap().BitLen()).String()
	case isLocal(u.name):
		which, address = "", "127.0.0.1/32"
	}
	return value.Errorf(value.Denied, "send a secret to %s: the URL should begin with https://", u.name).
		WithHint("use https://; for a server in your own network: cassidy config set --add http.private %s%s", address, which)
}

// isLocal reports whether a name is this machine by its words alone.
func isLocal(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// dial connects to the host. What is looked up is asked for once, and what is
// connected to is an address that was checked: by itself before, and by
// [hostDialer.control] when the system is about to connect.
func (d *hostDialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
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

// maxAddresses is how many addresses of one name are tried.
const maxAddresses = 8

// addresses looks up the host, and leaves out what it may not reach.
func (d *hostDialer) addresses(ctx context.Context) ([]netip.Addr, error) {
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
	return allowed[:min(len(allowed), maxAddresses)], nil
}

// find looks up a name. That a search list of the system could make another
// name of it does not do where it has a dot: the grant is for this one.
func (n *Network) find(ctx context.Context, name string) ([]netip.Addr, error) {
	if isLocal(name) {
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
		return nil, value.Errorf(value.Unavailable, "host not found: %s", name).WithHint("check the name of the host and the network")
	}
	if stopped := ctx.Err(); stopped != nil {
		return nil, stopped
	}
	return nil, value.Errorf(value.Unavailable, "resolve host %s: no response from DNS", name).WithHint("check the network")
}

// tryFor is how long one of several addresses is tried before the next: a
// host that answers at all does so in far less.
const tryFor = 2 * time.Second

func (d *hostDialer) connect(ctx context.Context, addr netip.Addr, left int) (net.Conn, error) {
	if left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, tryFor)
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
func (d *hostDialer) control(network, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" || to.Port() != d.url.port {
		return value.Errorf(value.Denied, "connect to %s: unexpected address or port", d.url.name)
	}
	return d.refuses(to.Addr())
}

// connectTo opens a connection, and asks control about the address first.
func connectTo(ctx context.Context, network, address string, control func(network, address string) error) (net.Conn, error) {
	d := net.Dialer{Control: func(network, address string, _ syscall.RawConn) error { return control(network, address) }}
	return d.DialContext(ctx, network, address)
}

// lookupHost asks the system's resolver.
func lookupHost(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

// ownAddresses lists the addresses of this machine.
func ownAddresses() ([]netip.Addr, error) {
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
