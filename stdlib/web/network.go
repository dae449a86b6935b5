// Package web is what scripts can do with servers of the internet: the module http.
//
// A request goes to the host that was granted, and to an address of the public internet.
// The name of the host is brought into one form before it is matched, and each address is
// checked when the system is about to connect to it.
//
// The package is not named http, as that name would hide net/http in its users.
package web

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// Options say what scripts may reach. The zero value reaches the public internet, and
// has no secrets.
type Options struct {
	// Private names the addresses that may be reached beside those of the public
	// internet, as 127.0.0.1/32 for a server on this machine. Nil means none.
	Private []netip.Prefix
	// Roots are the authorities whose certificates are trusted. Nil means the system's.
	Roots *x509.CertPool
	// HTTP wraps the transport of requests. [New] calls it once, with a base that checks
	// each address as it connects and may be called concurrently. What it returns is
	// called for each request, redirects included, also concurrently. It may answer
	// itself, add headers, or call base several times. Its answers have the bounds of any
	// other, and redirects and secrets in them are checked as always. It sees placeholders
	// where a script sends secrets: base puts the values in, for the host that they were
	// granted for. It sees answers as they came, so a server that echoes a secret shows it.
	// An effect does not wait for it longer than its time. Its panic is an error of kind
	// Internal. Nil is base; a function that returns nil is an error of New.
	HTTP func(base http.RoundTripper) http.RoundTripper
	// Secrets are what scripts may send in headers, in the query and as passwords. Nil
	// has none.
	Secrets *secret.Box
}

// A Network makes the requests of scripts. It is safe for concurrent use, and has nothing
// to close: no connection outlives its request. Make one with [New].
type Network struct {
	private atomic.Pointer[[]netip.Prefix] // what may be reached beside the public internet
	roots   *x509.CertPool                 // nil means the system's
	secrets *secret.Box
	queues  queues
	base    *baseTransport
	wrapped http.RoundTripper // the program's, around base; may be nil

	// What a test replaces that has no network.
	lookup  func(ctx context.Context, name string) ([]netip.Addr, error)
	own     func() ([]netip.Addr, error)
	connect func(ctx context.Context, network, address string, control func(network, address string) error) (net.Conn, error)
}

// New returns a network. Nil options are the zero value.
func New(o *Options) (*Network, error) {
	if o == nil {
		o = &Options{}
	}
	n := &Network{
		roots: o.Roots, secrets: o.Secrets,
		lookup: lookupHost, own: ownAddresses, connect: connectTo,
	}
	n.ReplacePrivate(o.Private)
	if n.secrets == nil {
		n.secrets = secret.NewBox(nil)
	}
	n.base = &baseTransport{n}
	if o.HTTP == nil {
		return n, nil
	}
	if n.wrapped = o.HTTP(n.base); n.wrapped == nil {
		return nil, value.Errorf(value.Invalid, "Options.HTTP returned nil").WithHint("return a transport, or the argument base")
	}
	return n, nil
}

// ReplacePrivate replaces [Options].Private. The addresses are checked as each connection is opened.
func (n *Network) ReplacePrivate(addresses []netip.Prefix) {
	own := slices.Clone(addresses)
	n.private.Store(&own)
}
