package models

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// address returns the address of the provider, or one like that of its vendor: it decides
// which proxy is used.
func (p *provider) address() string {
	switch {
	case p.base == "" && p.api == "ollama":
		return "http://127.0.0.1"
	case p.base == "":
		return "https://api.example"
	case !strings.Contains(p.base, "://"): // OLLAMA_HOST may be a host
		return "http://" + p.base
	}
	return p.base
}

// client returns a client for requests to an address, and the environment variable of the
// proxy that it uses for them, or "". A proxy is used as by other programs: HTTPS_PROXY or
// HTTP_PROXY, unless NO_PROXY excludes the host. A host on this machine is asked directly.
func (o *Opener) client(address string) (c *http.Client, proxy string, err error) {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, "", nil
	}
	t = t.Clone()
	t.Proxy = nil // the default reads it from the environment of the process
	u, err := url.Parse(address)
	if err != nil {
		return &http.Client{Transport: t}, "", nil // the provider reports the address
	}
	variable, server := o.proxyFor(u.Scheme)
	used := func(at string) func(*url.URL) (*url.URL, error) {
		skip := cmp.Or(o.variable("NO_PROXY"), o.variable("no_proxy"))
		return (&httpproxy.Config{HTTPProxy: at, HTTPSProxy: at, NoProxy: skip}).ProxyFunc()
	}
	if via, _ := used("http://proxy.example")(u); via == nil || server == "" {
		return &http.Client{Transport: t}, "", nil
	}
	if !isProxy(server) {
		return nil, "", value.Errorf(value.Invalid, "%s is not the URL of a proxy", variable).
			WithHint("use a URL with http://, https:// or socks5:// and a host, as in %s=http://proxy.example.com:3128; to use no proxy for some hosts, list them in NO_PROXY", variable)
	}
	proxies := used(server)
	t.Proxy = func(r *http.Request) (*url.URL, error) { return proxies(r.URL) }
	return &http.Client{Transport: t}, variable, nil
}

// proxyFor returns the variable of the proxy for a scheme of URLs, and its value or "".
func (o *Opener) proxyFor(scheme string) (variable, server string) {
	variable = strings.ToUpper(scheme) + "_PROXY"
	if server = o.variable(variable); server == "" {
		variable = strings.ToLower(variable)
		server = o.variable(variable)
	}
	return variable, server
}

// isProxy reports whether a text is the URL of a proxy, or its host and port.
func isProxy(text string) bool {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	return err == nil && u.Hostname() != "" && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)
}
