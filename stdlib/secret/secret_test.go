package secret

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func secretsOf(pairs ...string) func(context.Context, string) (string, error) {
	return func(_ context.Context, name string) (string, error) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], nil
			}
		}
		return "", value.ErrNotFound
	}
}

func TestSecretIsAPlaceholder(t *testing.T) {
	d := callerOf(t, nil, secretsOf("TOKEN", aToken+"\n", "EMPTY", "", "SHORT", "hunter2", "a.b-c_1", "long value"))
	if got := d.Must("secret", "name", "TOKEN"); got != "{{secret:TOKEN}}" {
		t.Errorf("secret(TOKEN) = %q, want {{secret:TOKEN}}", got)
	}
	d.Must("secret", "name", "a.b-c_1")
	d.Fails(value.Unavailable, "cassidy secret set OTHER --env OTHER", "secret", "name", "OTHER")
	d.Fails(value.Unavailable, "has no value", "secret", "name", "EMPTY")
	d.Fails(value.Failed, "too short", "secret", "name", "SHORT")
	for _, name := range []string{"", " ", "a b", "TOKEN}}", "{{secret:TOKEN}}", "a@b", "a\nb", "ä", "-a", strings.Repeat("a", 101)} {
		d.Fails(value.Invalid, "invalid name of a secret", "secret", "name", name)
	}
	callerOf(t, nil, nil).Fails(value.Unavailable, "has no value", "secret", "name", "TOKEN")
}

// TestScrubBase64 checks that a value is found in base64 of a text that it is a part of.
func TestScrubBase64(t *testing.T) {
	for before := range 5 {
		for after := range 4 {
			text := strings.Repeat("u", before) + aToken + strings.Repeat("v", after)
			box := NewBox(nil)
			box.Hide("T", aToken)
			got := box.Scrub(base64.StdEncoding.EncodeToString([]byte(text)))
			if !strings.Contains(got, "{{secret:T}}") || len(got) > 24+(before+after)*2 {
				t.Errorf("base64 of %q came back as %q", text, got)
			}
		}
	}
}
