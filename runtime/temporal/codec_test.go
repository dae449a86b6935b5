package temporal

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func newKey(t *testing.T) *Key {
	t.Helper()
	k, err := ParseKey(NewKey())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestEncrypted checks that only who has the key reads and makes payloads.
func TestEncrypted(t *testing.T) {
	dc, other, plain := Encrypted(newKey(t)), Encrypted(newKey(t)), converter.GetDefaultDataConverter()
	p, err := dc.ToPayload(letter{Run: "x", ID: "secret text"})
	if err != nil {
		t.Fatal(err)
	}
	var l letter
	if err := dc.FromPayload(p, &l); err != nil || l.ID != "secret text" {
		t.Errorf("read %+v, %v", l, err)
	}
	if text := p.String(); bytes.Contains([]byte(text), []byte("secret text")) {
		t.Errorf("the payload is %s", text)
	}
	forged, _ := plain.ToPayload(letter{Run: "x", ID: "forged"})
	fromOther, _ := other.ToPayload(letter{Run: "x", ID: "forged"})
	changed := &commonpb.Payload{Metadata: p.Metadata, Data: bytes.Clone(p.Data)}
	changed.Data[len(changed.Data)/2] ^= 1
	for what, p := range map[string]*commonpb.Payload{"plain": forged, "another key": fromOther, "changed": changed, "empty": {Metadata: p.Metadata}} {
		if err := dc.FromPayload(p, &l); value.KindOf(err) != value.Security {
			t.Errorf("a payload that is %s gave %v", what, err)
		}
	}
}

// TestParseKey checks which texts are keys.
func TestParseKey(t *testing.T) {
	for text, ok := range map[string]bool{
		NewKey(): true, "": false, "short": false, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff": true, "AAAA": false,
	} {
		if _, err := ParseKey(text); (err == nil) != ok || err != nil && value.KindOf(err) != value.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestFolder checks that a folder returns what was stored, and an error for anything else.
func TestFolder(t *testing.T) {
	ctx, data := context.Background(), []byte("some data")
	for _, key := range []*Key{nil, newKey(t)} {
		f := Folder{Path: filepath.Join(t.TempDir(), "new"), Key: key}
		name := sum(data)
		for range 2 {
			if err := f.Put(ctx, name, data); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := f.Get(ctx, name, int64(len(data))); err != nil || !bytes.Equal(got, data) {
			t.Errorf("Get gave %q, %v", got, err)
		}
		stored, err := os.ReadFile(filepath.Join(f.Path, name))
		if err != nil || bytes.Equal(stored, data) == (key != nil) {
			t.Errorf("with a key %v, %q is stored, %v", key != nil, stored, err)
		}
		for what, get := range map[string]func() error{
			"another size": func() error { _, err := f.Get(ctx, name, 3); return err },
			"missing":      func() error { _, err := f.Get(ctx, sum([]byte("x")), 1); return err },
			"damaged": func() error {
				stored[len(stored)-1] ^= 1
				if err := os.WriteFile(filepath.Join(f.Path, name), stored, 0o600); err != nil {
					t.Fatal(err)
				}
				_, err := f.Get(ctx, name, int64(len(data)))
				return err
			},
		} {
			if err := get(); value.KindOf(err) != value.Failed {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := f.Put(ctx, name, data); err != nil { // repairs it
			t.Error(err)
		}
		if old, err := f.Old(ctx, time.Now().Add(time.Hour)); err != nil || len(old) != 1 {
			t.Errorf("old are %v, %v", old, err)
		}
		if old, err := f.Old(ctx, time.Now().Add(-time.Hour)); err != nil || len(old) != 0 {
			t.Errorf("old are %v, %v", old, err)
		}
		for range 2 {
			if err := f.Delete(ctx, name); err != nil {
				t.Error(err)
			}
		}
	}
}
