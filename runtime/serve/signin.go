package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	cookieName  = "cassidy"
	sessionIdle = 30 * 24 * time.Hour // after that a session that is not used ends
	codeTime    = 5 * time.Minute
	failures    = 10 // failed attempts to sign in at once from one address, and then one each failEvery
	failEvery   = 6 * time.Second
)

// HashToken returns the hash of a token, as [User].Hash has it. A token should be random, with 128 bits or more.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// signIn is who may sign in, and who has. It is in memory: after a restart everybody signs in again.
type signIn struct {
	mu       sync.Mutex
	sessions map[string]*session  // by the hashes of cookies
	codes    map[string]time.Time // by their hashes, until when they can be used
	failed   buckets              // by addresses
}

// A session is somebody with a cookie.
type session struct {
	name, hash string // the user's name and the hash of the token that was used; the session ends with either
	used       time.Time
}

func (s *signIn) begin() {
	s.sessions, s.codes = map[string]*session{}, map[string]time.Time{}
	s.failed = newBuckets(1/failEvery.Seconds(), failures)
}

type userKey struct{}

// UserOf returns the user whose request a context belongs to, or nil.
func UserOf(ctx context.Context) *User {
	u, _ := ctx.Value(userKey{}).(*User)
	return u
}

// SignInCode returns a code with which the owner can sign in once, at /login?code=CODE, within five minutes. It is "" for a
// server without a Token.
func (s *Server) SignInCode() string {
	if s.opts.Token == "" {
		return ""
	}
	code := rand.Text()
	s.sign.mu.Lock()
	defer s.sign.mu.Unlock()
	makeRoom(s.sign.codes, func(until time.Time) time.Time { return until })
	s.sign.codes[HashToken(code)] = s.now().Add(codeTime)
	return code
}

// makeRoom removes the oldest entry of a map that is full.
func makeRoom[T any](kept map[string]T, age func(T) time.Time) {
	if len(kept) < maxKept {
		return
	}
	oldest, at := "", time.Time{}
	for key, v := range kept {
		if t := age(v); oldest == "" || t.Before(at) {
			oldest, at = key, t
		}
	}
	delete(kept, oldest)
}

// byCode returns who signs in with a code, which cannot be used again.
func (s *Server) byCode(code string) *User {
	s.sign.mu.Lock()
	defer s.sign.mu.Unlock()
	hash := HashToken(code)
	until, exists := s.sign.codes[hash]
	delete(s.sign.codes, hash)
	if !exists || s.now().After(until) {
		return nil
	}
	return s.owner()
}

// owner returns who has the Token.
func (s *Server) owner() *User {
	return &User{Name: s.opts.Owner, Role: Admin, Hash: HashToken(s.opts.Token)}
}

// users returns everybody with a token.
func (s *Server) users() (list []User, err error) {
	if s.opts.Users != nil {
		list, err = s.opts.Users()
	}
	if s.opts.Token != "" {
		list = append(list[:len(list):len(list)], *s.owner())
	}
	return list, err
}

// byHash returns the user whose token has a hash, or nil. All of them are compared, whichever it is.
func (s *Server) byHash(hash string) (found *User, err error) {
	list, err := s.users()
	for i := range list {
		if u := &list[i]; len(u.Hash) == 2*sha256.Size && subtle.ConstantTimeCompare([]byte(strings.ToLower(u.Hash)), []byte(hash)) == 1 {
			found = u
		}
	}
	return found, err
}

// identify returns who makes a request, or nil for nobody.
func (s *Server) identify(r *http.Request) (*User, error) {
	if s.opts.Identify != nil {
		if u, err := s.opts.Identify(r); u != nil || err != nil {
			return u, err
		}
	}
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return nil, nil
		}
		return s.byHash(HashToken(strings.TrimSpace(token)))
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil || cookie.Value == "" {
		return nil, nil
	}
	return s.bySession(cookie.Value)
}

// bySession returns the user of a session.
func (s *Server) bySession(cookie string) (*User, error) {
	key := HashToken(cookie)
	s.sign.mu.Lock()
	var found session
	if kept := s.sign.sessions[key]; kept != nil {
		if found = *kept; s.now().Sub(kept.used) > sessionIdle {
			delete(s.sign.sessions, key)
			found = session{}
		} else {
			kept.used = s.now()
		}
	}
	s.sign.mu.Unlock()
	if found.hash == "" {
		return nil, nil
	}
	u, err := s.byHash(strings.ToLower(found.hash))
	if u != nil && u.Name != found.name {
		u = nil
	}
	return u, err
}

// openSession returns a cookie for a user.
func (s *Server) openSession(r *http.Request, u *User) *http.Cookie {
	text := rand.Text() + rand.Text()
	s.sign.mu.Lock()
	defer s.sign.mu.Unlock()
	makeRoom(s.sign.sessions, func(kept *session) time.Time { return kept.used })
	s.sign.sessions[HashToken(text)] = &session{u.Name, u.Hash, s.now()}
	return cookie(r, text, int(sessionIdle/time.Second))
}

// cookie returns the cookie of a session. It is sent with links from elsewhere, such as those in mails, but with no
// other request of another site.
func cookie(r *http.Request, text string, maxAge int) *http.Cookie {
	secure := r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
	return &http.Cookie{Name: cookieName, Value: text, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode}
}

// login signs somebody in with a token or a code. Only a POST does: who follows a link has not decided to.
func (r *request) login() error {
	fields, err := r.fields("token", "code", "next")
	if err != nil {
		return err
	}
	from, now := remote(r.Request), r.s.now()
	if r.s.sign.failed.isEmpty(from, now) {
		return tooMany(failEvery, "too many failed attempts to sign in")
	}
	var u *User
	if code := fields.Text("code"); code != "" {
		u = r.s.byCode(code)
	} else if u, err = r.s.byHash(HashToken(fields.Text("token"))); err != nil {
		return err
	}
	if u == nil {
		r.s.sign.failed.take(from, now)
		r.decided(Decision{Action: "sign-in", Refused: true})
		return r.notValid(fields)
	}
	r.user = u
	r.decided(Decision{Action: "sign-in"})
	kept := r.s.openSession(r.Request, u)
	if r.isForm() && fields.Text("code") == "" && r.PostForm.Get("keep") == "" {
		kept.MaxAge = 0 // until the browser is closed
	}
	http.SetCookie(r.w, kept)
	if r.isForm() {
		return r.seeOther(localPath(fields.Text("next")))
	}
	return r.reply(http.StatusOK, value.NewDict("user", u.Name, "role", u.Role.String()))
}

// notValid answers who could not sign in: in a browser with the page on which they try again.
func (r *request) notValid(fields *value.Dict) error {
	switch {
	case !r.isForm():
		return unauthenticated("the token or the code is not valid")
	case fields.Text("code") != "":
		return r.showLogin(http.StatusUnauthorized, &page.Login{Next: fields.Text("next"), Error: "This link was used already, or is too old. Sign in with a token, or have the server print another link."})
	}
	return r.showLogin(http.StatusUnauthorized, &page.Login{Next: fields.Text("next"), Error: "This token is not known, or has expired."})
}

// logout ends the session of a cookie.
func (r *request) logout() error {
	r.user, _ = r.s.identify(r.Request) // nobody may sign out, too
	if kept, err := r.Cookie(cookieName); err == nil {
		r.s.sign.mu.Lock()
		delete(r.s.sign.sessions, HashToken(kept.Value))
		r.s.sign.mu.Unlock()
	}
	http.SetCookie(r.w, cookie(r.Request, "", -1))
	r.decided(Decision{Action: "sign-out"})
	if r.isForm() {
		return r.seeOther("/login")
	}
	return r.reply(http.StatusNoContent, nil)
}

// localPath returns a path of this server, or / for anything that could lead elsewhere.
func localPath(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}
