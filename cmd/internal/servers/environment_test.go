package servers

import (
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/internal/mcpfile"
)

// TestEnvironment checks which variables of the user the program of a server gets: the common ones, the proxies
// only with the network, and no password.
func TestEnvironment(t *testing.T) {
	env := map[string]string{
		"PATH": "/bin", "HOME": "/home/u", "LANG": "de_DE.UTF-8", "LC_TIME": "C", "TZ": "Europe/Rome", "USER": "u", "API_KEY": "k",
		"HTTPS_PROXY": "http://proxy.example:3128", "https_proxy": "http://u:secret@proxy.example", "NO_PROXY": "localhost", "LC_ALL": "",
	}
	o := Options{Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	common := []string{"HOME=/home/u", "LANG=de_DE.UTF-8", "LC_ALL=", "LC_TIME=C", "PATH=/bin", "TMPDIR=/t"}
	for _, c := range []struct {
		server mcpfile.Server
		want   []string
	}{
		{mcpfile.Server{}, append(common, "TZ=Europe/Rome")},
		{mcpfile.Server{Network: true}, append(common, "TZ=Europe/Rome", "HTTPS_PROXY=http://proxy.example:3128", "NO_PROXY=localhost")},
		{mcpfile.Server{Env: []mcpfile.Pair{{Name: "TZ", Value: "UTC"}, {Name: "https_proxy", Value: "http://a"}}}, append(common, "TZ=UTC", "https_proxy=http://a")},
	} {
		got := o.environment(&c.server, "/t")
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(c.want))) {
			t.Errorf("%+v: %q, want %q", c.server, got, c.want)
		}
	}
}
