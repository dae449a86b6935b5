package web

import (
	"bufio"
	"context"
	"errors"
	"hash/fnv"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// A fuzzNet plays the whole network to one exchange, and writes down what
// happens: what the gate allowed, what was looked up and dialed, and what the
// server was asked.
type fuzzNet struct {
	allowed  []string          // hosts, as the capabilities name them, in the order in which they were
	leads    map[string]string // names to addresses
	dialed   []netip.AddrPort
	hosts    []string // the Host of each request that came
	location string
}

func (n *fuzzNet) lookup(_ context.Context, name string) ([]netip.Addr, error) {
	name = strings.TrimSuffix(name, ".")
	h := fnv.New32a()
	h.Write([]byte(name))
	addr := netip.MustParseAddr("93.184.215." + strconv.Itoa(int(h.Sum32()%256)))
	if h.Sum32()&0x100 != 0 {
		addr = netip.MustParseAddr(forbidden[int(h.Sum32()>>9)%len(forbidden)])
	}
	n.leads[name] = addr.Unmap().String()
	return []netip.Addr{addr}, nil
}

func (n *fuzzNet) connect(_ context.Context, network, address string, control func(network, address string) error) (net.Conn, error) {
	if err := control(network, address); err != nil {
		return nil, err
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	n.dialed = append(n.dialed, to)
	if to.Port() == 443 {
		return nil, errors.New("no TLS here")
	}
	client, server := net.Pipe()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer server.Close()
		r, err := http.ReadRequest(bufio.NewReader(server))
		if err != nil {
			n.hosts = append(n.hosts, "unreadable: "+err.Error())
			return
		}
		n.hosts = append(n.hosts, r.Host)
		server.Write([]byte("HTTP/1.1 302 Found\r\nLocation: " + n.location + "\r\nContent-Length: 0\r\n\r\n"))
	}()
	return &fuzzConn{client, answered}, nil
}

// A fuzzConn is over when its server is, so that what the server wrote down can
// be read.
type fuzzConn struct {
	net.Conn
	answered chan struct{}
}

func (c *fuzzConn) Close() error {
	err := c.Conn.Close()
	<-c.answered
	return err
}

// fuzzPublic judges an address by other means than the table: what Go says of
// it, and the networks that the table must not have forgotten.
func fuzzPublic(a netip.Addr) bool {
	if a.Is4In6() || a.Zone() != "" || !a.IsGlobalUnicast() || a.IsPrivate() || a == netip.MustParseAddr("8.8.4.4") {
		return false
	}
	if a.Is4() {
		b := a.As4()
		n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
		in := func(prefix uint32, bits int) bool { return n>>(32-bits) == prefix>>(32-bits) }
		return b[0] != 0 && b[0] < 224 && b[0] != 127 && !in(0x64400000, 10) && !in(0xc0000000, 24) && !in(0xc0000200, 24) && !in(0xc0586300, 24) &&
			!in(0xc6120000, 15) && !in(0xc6336400, 24) && !in(0xcb007100, 24) && !in(0xa9fe0000, 16) && n != 0xa83f8110
	}
	b := a.As16()
	return b[0]>>5 == 1 && !(b[0] == 0x20 && b[1] == 0x01 && b[2] < 2) && !(b[0] == 0x20 && b[1] == 0x02) &&
		!(b[0] == 0x20 && b[1] == 0x01 && b[2] == 0x0d && b[3] == 0xb8) && !(b[0] == 0x3f && b[1] == 0xff && b[2] < 0x10)
}

// FuzzURL checks the policy against what is dialed: whatever a URL or a redirect
// looks like, each connection goes to an address of a host that was allowed, on
// its port, is a public one, and asks for that host.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"http://allowed.example/", "http://allowed.example:8080/x?y#z", "https://allowed.example/", "http://ALLOWED。example./", "http://a@allowed.example", "http://127.1/",
		"http://①②⑦.0.0.1", "http://[::ffff:1.1.1.1]:81/", "http://2130706433", "//1.1.1.1/", "/x", "?x", "http://a.allowed.example\\@b", "http://xn--mnchen-3ya.de", "http://0x7f.1",
	} {
		f.Add(seed, "http://b.allowed.example/next")
		f.Add("http://allowed.example/", seed)
	}
	f.Fuzz(func(t *testing.T, first, location string) {
		if strings.ContainsAny(location, "\r\n") {
			return // it would end the line
		}
		network, err := New(nil)
		rowtest.NoError(t, err)
		n := &fuzzNet{leads: map[string]string{}, location: location}
		network.lookup, network.connect = n.lookup, n.connect
		network.own = func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("8.8.4.4")}, nil }
		d := &rowtest.Caller{T: t, Modules: []tool.Module{network.Module()}}
		row := d.Func("http.get")
		check := func(c tool.Capability) error {
			if c.Name != "http.get" || strings.Contains(c.Target, "evil") {
				return value.Errorf(value.Denied, "no")
			}
			n.allowed = append(n.allowed, c.Target)
			return nil
		}
		args := value.NewDict("url", strings.ToValidUTF8(first, "\ufffd"))
		bound, err := row.Bind(nil, args)
		rowtest.NoError(t, err)
		targets, err := row.Target(bound)
		if err != nil {
			return
		}
		for _, c := range targets {
			if check(c) != nil {
				return
			}
		}
		_, err = row.Do(t.Context(), tool.Effect{Args: bound}, tool.Grant{Check: check})
		if err == nil && strings.HasPrefix(location, "/") {
			t.Errorf("%q, %q: a redirect without end came to one", first, location)
		}
		n.verify(t, first)
	})
}

func (n *fuzzNet) verify(t *testing.T, first string) {
	for i, to := range n.dialed {
		if !fuzzPublic(to.Addr()) {
			t.Errorf("%q, %q: dialed %s", first, n.location, to)
		}
		if i >= len(n.allowed) {
			t.Fatalf("%q, %q: dialed %v, allowed only %v", first, n.location, n.dialed, n.allowed)
		}
	}
	// Each host that was allowed is dialed at most once and in order; one that
	// leads inside ends the exchange.
	for i, host := range n.allowed[:len(n.dialed)] {
		name, port := host, ""
		if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
			name, port = host[:at], host[at+1:]
		}
		address := strings.Trim(name, "[]")
		if led, ok := n.leads[name]; ok {
			address = led
		}
		to := n.dialed[i]
		if to.Addr().String() != address {
			t.Errorf("%q, %q: allowed %s, which is %s, dialed %s", first, n.location, host, address, to)
		}
		if got := strconv.Itoa(int(to.Port())); got != port && !(port == "" && (got == "80" || got == "443")) {
			t.Errorf("%q, %q: allowed %s, dialed port %s", first, n.location, host, got)
		}
	}
	for i, host := range n.hosts {
		if i >= len(n.allowed) || host != n.allowed[i] {
			t.Errorf("%q, %q: asked for %v, allowed %v", first, n.location, n.hosts, n.allowed)
		}
	}
}
