package serve

import (
	"maps"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	maxBody    = 1 << 20 // bytes of a request
	maxStreams = 2000    // that are open
	maxKept    = 10_000  // users, addresses, sessions or codes that are remembered
)

// buckets limit how often each of many may do something.
type buckets struct {
	mu    *sync.Mutex
	limit rate.Limit // in a second
	burst int        // at once
	by    map[string]*rate.Limiter
	swept time.Time // when those that are full were forgotten
}

func newBuckets(perSecond float64, burst int) buckets {
	return buckets{mu: &sync.Mutex{}, limit: rate.Limit(perSecond), burst: burst, by: map[string]*rate.Limiter{}}
}

// take returns how long to wait, or 0 if it may be done now, which is counted.
func (b *buckets) take(who string, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of(who, now)
	if l.AllowN(now, 1) {
		return 0
	}
	return time.Duration((1 - l.TokensAt(now)) / float64(b.limit) * float64(time.Second))
}

// isEmpty reports whether take would not allow it. Nothing is counted.
func (b *buckets) isEmpty(who string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.by[who]
	return l != nil && l.TokensAt(now) < 1
}

// of returns the bucket of somebody. If there are too many, those that are full are forgotten, and others
// share one.
func (b *buckets) of(who string, now time.Time) *rate.Limiter {
	if l := b.by[who]; l != nil {
		return l
	}
	if len(b.by) >= maxKept && now.Sub(b.swept) > time.Second {
		b.swept = now
		maps.DeleteFunc(b.by, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= float64(b.burst) })
	}
	if len(b.by) >= maxKept {
		who = ""
	}
	if b.by[who] == nil {
		b.by[who] = rate.NewLimiter(b.limit, b.burst)
	}
	return b.by[who]
}

// remote returns the address of a client, without its port. A network of IPv6 has many addresses, and counts as one.
func remote(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	addr := at.Addr().Unmap().WithZone("")
	if addr.Is6() {
		network, _ := addr.Prefix(64) // which every address of IPv6 has
		return network.String()
	}
	return addr.String()
}
