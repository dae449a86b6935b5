package mcp

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// idPrefix begins the IDs of the runs that clients start.
const idPrefix = "mcp-"

// newID returns an ID for a call, and for the run that makes it.
func newID() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return idPrefix + time.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(b[:])
}

// digestOf returns the same text for the same call. The order of its arguments does not matter: a model
// that repeats a call may change it.
func digestOf(name string, args *value.Dict) string {
	sum := sha256.Sum256([]byte(name + "\x00" + value.FormatJSON(ordered(args), "")))
	return hex.EncodeToString(sum[:])
}

// ordered returns a value whose objects have their keys in order.
func ordered(v value.Value) value.Value {
	switch v := v.(type) {
	case *value.Dict:
		entries := make(map[string]value.Value, v.Len())
		for k, inner := range v.All() {
			name, _ := k.(string) // of JSON
			entries[name] = ordered(inner)
		}
		d := &value.Dict{}
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			d.Put(name, entries[name])
		}
		return d
	case value.List:
		return value.List(value.Map(v, ordered))
	}
	return v
}

// parkedCalls are the runs that wait for an answer or a repair, by the digest of their call. A client
// that makes the same call again means the same run.
type parkedCalls struct {
	sync.Mutex
	runs map[string]string

	find sync.Once         // finds old
	old  map[string]string // the runs of earlier servers
}

func (p *parkedCalls) run(digest string) string {
	p.Lock()
	defer p.Unlock()
	return p.runs[digest]
}

func (p *parkedCalls) keep(digest, run string) {
	p.Lock()
	defer p.Unlock()
	if p.runs == nil {
		p.runs = map[string]string{}
	}
	p.runs[digest] = run
}

func (p *parkedCalls) forget(digest string) {
	p.Lock()
	defer p.Unlock()
	delete(p.runs, digest)
}

const (
	// parkedLasts is how long the same call continues a run that an earlier server has begun: its
	// client was restarted, or its user answered the next morning. What the run has read is as old.
	parkedLasts = 24 * time.Hour
	// maxParked is how many parked runs are looked at.
	maxParked = 1000
)

// limitReason is why a call is parked that has reached one of its limits, see [host.ParkedError].
const limitReason = "limit"

// runFor returns the run of a call: one that the same call continues, or a new one.
func (s *Server) runFor(ctx context.Context, r *request) string {
	ctx = context.WithoutCancel(ctx)
	s.parked.find.Do(func() { s.parked.old = s.findOld(ctx) })
	run := s.parked.run(r.digest)
	if old := s.parked.old[r.digest]; run == "" && old != "" && s.isUnchanged(ctx, old) {
		run = old
	}
	return cmp.Or(run, r.call.ID)
}

// findOld returns the runs of earlier servers that the same call continues, by its digest.
func (s *Server) findOld(ctx context.Context) map[string]string {
	old := map[string]string{}
	open := history.Filter{Project: host.Operate(s.host).Project(), Kind: host.CallKind, States: []history.State{history.Parked, history.Running}, Limit: maxParked}
	for run, err := range s.host.Runs(ctx, open) {
		if err != nil || run.Project != host.Operate(s.host).Project() || time.Since(run.Started) > parkedLasts {
			continue // a damaged record cannot be continued
		}
		digest := digestOf(run.Args.Text("tool"), run.Args.Dict("args"))
		if strings.HasPrefix(run.ID, idPrefix) && s.isLeft(&run) && old[digest] == "" {
			old[digest] = run.ID // the newest one
		}
	}
	return old
}

// isLeft reports whether the client of a run has waited for it to the end of its server: the run waits for
// an answer or a repair, or the server was killed. A run that was interrupted is not left: its client has
// cancelled the call, or has ended the server.
func (s *Server) isLeft(run *history.Run) bool {
	if run.State == history.Running {
		return !host.Operate(s.host).Running(run.ID)
	}
	switch run.Reason {
	case "question", "approval", "unknown_outcome":
		return true
	}
	return run.Reason != limitReason && history.Repair(run.Reason) != ""
}

// isUnchanged reports whether a run is open, and would do the same as a new call: the tools that it has called
// are as they were.
func (s *Server) isUnchanged(ctx context.Context, run string) bool {
	state, err := s.host.Recorded(ctx, run)
	if err != nil || state.State.Ended() || host.Operate(s.host).Running(run) {
		return false
	}
	called, err := host.Operate(s.host).Called(ctx, run)
	return err == nil && !slices.ContainsFunc(called, func(then toolset.Info) bool {
		now, err := s.host.Tool(then.Name)
		return err != nil || now.Hash != then.Hash
	})
}

// stateLasts is how long a client can send a state back.
const stateLasts = time.Hour

// states seals what a client keeps between two requests of one call. A client could
// send anything back, so a state only names the run of the call.
type states struct{ key []byte }

// A state is what a sealed state says.
type state struct {
	Run     string    `json:"run"`
	Digest  string    `json:"digest"`
	Expires time.Time `json:"expires"`
}

func (s states) seal(run, digest string) string {
	text, _ := json.Marshal(state{run, digest, time.Now().Add(stateLasts)}) // texts and a time always marshal
	return base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(s.mac(text))
}

func (s states) mac(text []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write(text) // never fails
	return h.Sum(nil)
}

// open returns the run of a state that was sealed for a call.
func (s states) open(sealed, digest string) (run string, err error) {
	body, mac, _ := strings.Cut(sealed, ".")
	text, err1 := base64.RawURLEncoding.DecodeString(body)
	sum, err2 := base64.RawURLEncoding.DecodeString(mac)
	var st state
	switch {
	case err1 != nil, err2 != nil, !hmac.Equal(sum, s.mac(text)), json.Unmarshal(text, &st) != nil:
		return "", value.Errorf(value.Denied, "this server did not issue the requestState").WithHint("make the call again without requestState")
	case st.Digest != digest:
		return "", value.Errorf(value.Denied, "the requestState belongs to another call").WithHint("make the call again with the same name and arguments")
	case time.Now().After(st.Expires):
		return "", value.Errorf(value.Timeout, "the requestState has expired").WithHint("make the call again without requestState")
	}
	return st.Run, nil
}

// invalidParams returns err as an error of the protocol.
func invalidParams(err error) error {
	e := value.ErrorOf(err, value.Failed)
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Message() + "; " + e.Hint}
}

// failed returns err as the result of a call.
func failed(err error) *sdk.CallToolResult {
	return failure(tool.Fail(value.ErrorOf(err, value.Failed), tool.Usage{}))
}

// waiting is the result of a call that waits for answers which the client cannot give, or for a repair.
// It shows what is asked, for a model to show its user.
func waiting(r *request, result tool.Result, open []tool.Question) *sdk.CallToolResult {
	out := failure(result)
	add := func(text string) { out.Content = append(out.Content, &sdk.TextContent{Text: text}) }
	for i := range open {
		if text, ok := messageOf(&open[i]); ok {
			add(text)
		}
	}
	if len(open) > 0 {
		add("When the user has answered, make the same call again, to continue it.")
	} else {
		add("After the cause has been removed, the same call continues where it failed.")
	}
	out.Meta["cassidy.run/run"] = r.run
	return out
}
