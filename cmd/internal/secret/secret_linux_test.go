package secret_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/keyring"
	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
	"github.com/cassidy-run/cassidy/cmd/internal/secret"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A ring is a keyring that keeps secrets in memory.
func ring(kept map[string]string, err error) *keyring.Keyring {
	return &keyring.Keyring{
		Get: func(name string) (string, error) {
			if text, ok := kept[name]; ok || err != nil {
				return text, err
			}
			return "", value.ErrNotFound
		},
		Set: func(name, text string) error {
			if err == nil {
				kept[name] = text
			}
			return err
		},
		Remove: func(name string) error { delete(kept, name); return err },
	}
}

// run runs the command, and returns its exit code and all that it printed.
func run(home string, in io.Reader, shown io.Writer, k *keyring.Keyring, args ...string) (code int, printed string) {
	var out bytes.Buffer
	var errs io.Writer = &out
	if shown != nil {
		errs = shown
	}
	code = app.Run(context.Background(), append([]string{"secret"}, args...), &app.World{
		In: in, Out: &out, Err: errs, Keyring: k,
		Env: func(name string) (string, bool) { return home, name == "CASSIDY_HOME" },
	}, secret.Command)
	return code, out.String()
}

func TestKeyring(t *testing.T) {
	t.Parallel()
	home, kept := t.TempDir(), map[string]string{}
	k := ring(kept, nil)
	const val = "tok-123456789"
	if code, printed := run(home, strings.NewReader(val+"\n"), nil, k, "set", "T"); code != 0 || kept["T"] != val || !strings.Contains(printed, "the keyring of the system") {
		t.Fatalf("%d %q, kept %q", code, printed, kept)
	}
	text, err := os.ReadFile(filepath.Join(home, "config.yaml"))
	if want := "secrets:\n  T:\n    keyring: T\n"; err != nil || string(text) != want {
		t.Errorf("the config is %q, want %q (%v)", text, want, err)
	}
	if _, err := os.Stat(filepath.Join(home, "secrets")); err == nil {
		t.Error("a file was written")
	}
	if _, printed := run(home, strings.NewReader(""), nil, k, "list"); !strings.HasPrefix(printed, "T  set        the keyring") {
		t.Errorf("listed %q", printed)
	}
	if _, printed := run(home, strings.NewReader(""), nil, nil, "list"); !strings.HasPrefix(printed, "T  not set ") {
		t.Errorf("without a keyring: listed %q", printed)
	}
	locked := ring(kept, value.Errorf(value.Denied, "locked"))
	if _, printed := run(home, strings.NewReader(""), nil, locked, "list"); !strings.HasPrefix(printed, "T  locked ") {
		t.Errorf("with a locked keyring: listed %q", printed)
	}
	if code, printed := run(home, strings.NewReader(val), nil, locked, "set", "U"); code == 0 || !strings.Contains(printed, "secret set --file U") {
		t.Errorf("with a locked keyring: %d %q", code, printed)
	}
	if code, _ := run(home, strings.NewReader(val), nil, locked, "set", "--file", "U"); code != 0 {
		t.Errorf("--file fails with a locked keyring")
	}
	if code, printed := run(home, strings.NewReader(""), nil, k, "rm", "T"); code != 0 || len(kept) > 0 {
		t.Errorf("%d %q, kept %q", code, printed, kept)
	}
}

// TestMovedSecret checks that one place alone has the value of a secret, and that what is left elsewhere can be deleted.
func TestMovedSecret(t *testing.T) {
	t.Parallel()
	home, kept := t.TempDir(), map[string]string{}
	k := ring(kept, nil)
	const val, next = "tok-123456789", "tok-987654321"
	file := filepath.Join(home, "secrets", "T")
	do := func(k *keyring.Keyring, in, says string, args ...string) {
		t.Helper()
		if code, printed := run(home, strings.NewReader(in), nil, k, args...); code != 0 || !strings.Contains(printed, says) || says == "" && strings.Contains(printed, "old value") {
			t.Errorf("%q: %d %q, want %q", args, code, printed, says)
		}
	}
	has := func(inRing, inFile string) {
		t.Helper()
		text, _ := os.ReadFile(file)
		if kept["T"] != inRing || strings.TrimSpace(string(text)) != inFile {
			t.Errorf("the keyring has %q and the file %q, want %q and %q", kept["T"], text, inRing, inFile)
		}
	}
	do(k, val, "", "set", "T")
	do(k, next, "", "set", "T")
	has(next, "")
	do(k, val, "the old value was deleted from the keyring of the system", "set", "--file", "T")
	has("", val)
	do(k, next, "the old value was deleted from the file "+file, "set", "T")
	has(next, "")
	do(ring(kept, value.Errorf(value.Denied, "locked")), val, "", "set", "--file", "U")
	do(k, "", "the old value was deleted from the keyring", "set", "--env", "T_VALUE", "T")
	has("", "")
	do(k, val, "", "set", "T")
	do(nil, val, "the old value stays in the keyring of the system", "set", "T")
	has(val, val)

	// What the config does not name is deleted, and what another name uses stays.
	do(k, "", "T was deleted from the file", "rm", "T")
	has(val, "")
	do(k, "", "T was deleted from the keyring of the system; the config did not name it", "rm", "T")
	has("", "")
	if code, printed := run(home, strings.NewReader(""), nil, k, "rm", "T"); code == 0 || !strings.Contains(printed, "there is no secret 'T'") {
		t.Errorf("rm again: %d %q", code, printed)
	}
	if code, printed := run(home, strings.NewReader(""), nil, ring(kept, value.Errorf(value.Denied, "locked")), "rm", "T"); code == 0 || !strings.Contains(printed, "there is no secret 'T'; the keyring could not be read: locked") {
		t.Errorf("rm with a locked keyring: %d %q", code, printed)
	}
	do(k, val, "", "set", "T")
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("secrets: {OTHER: {keyring: T}, T: {keyring: T}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	do(k, val, "", "set", "--file", "T")
	has(val, val)
	do(k, "", "T was deleted from the file", "rm", "T")
	if code, printed := run(home, strings.NewReader(""), nil, k, "rm", "T"); code == 0 || kept["T"] != val {
		t.Errorf("rm of what another name uses: %d %q", code, printed)
	}
}

// TestSecretNames refuses names that no script can write, before a value is asked for.
func TestSecretNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"--", "-x", ".", "..", ".x", "a b", "a\tb", "a\x01b", "a\x7f", "é", "a:b", "a@b", "a/b", "a\n", "{}", strings.Repeat("x", 101)} {
		home := t.TempDir()
		code, printed := run(home, strings.NewReader("tok-123456789"), nil, nil, "set", "--", name)
		if left, _ := filepath.Glob(filepath.Join(home, "*")); code != 2 || len(left) > 0 || !strings.Contains(printed, "invalid name of a secret: ") || !strings.Contains(printed, "use letters, digits and _") {
			t.Errorf("%q: %d %q, left %q", name, code, printed, left)
		}
	}
	for _, name := range []string{"API_TOKEN", "x", "9", "a.b-c_d"} {
		if code, printed := run(t.TempDir(), strings.NewReader("tok-123456789"), nil, nil, "set", name); code != 0 {
			t.Errorf("%q: %d %q", name, code, printed)
		}
	}
}

// TestUnwrittenSecret checks that no value is kept where the config does not say so.
func TestUnwrittenSecret(t *testing.T) {
	t.Parallel()
	const val = "tok-123456789"
	for _, args := range [][]string{{"set", "T"}, {"set", "--file", "T"}} {
		for name, block := range map[string]func(home string) error{
			"read-only": func(home string) error {
				return os.WriteFile(filepath.Join(home, "config.yaml"), []byte("model: openai:x\n"), 0o400)
			},
			"fails": func(home string) error { return os.Mkdir(filepath.Join(home, ".config.lock"), 0o700) },
		} {
			home, kept := t.TempDir(), map[string]string{}
			if err := block(home); err != nil {
				t.Fatal(err)
			}
			code, printed := run(home, strings.NewReader(val), nil, ring(kept, nil), args...)
			if left, _ := filepath.Glob(filepath.Join(home, "secrets/*")); code == 0 || len(kept)+len(left) > 0 {
				t.Errorf("%s, %q: %d %q, kept %q and %q", name, args, code, printed, kept, left)
			}
		}
	}
}

// TestTypedSecret types values on a terminal, which does not show them.
func TestTypedSecret(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typed, want, says string
		code              int
	}{
		{"tok-123456789\r", "tok-123456789", "", 0}, {"tok-12\x7f\x7f-3456789\r", "tok--3456789", "", 0},
		{"tok-12\x03", "", "interrupted", 130}, {"\r", "", "is empty: nothing was changed", 2}, {"\x04", "", "is empty: nothing was changed", 2},
	} {
		person, program := ptytest.Open(t)
		kept := map[string]string{}
		shown := make(chan string)
		go func() {
			var all []byte
			for buf := make([]byte, 1024); ; {
				n, err := person.Read(buf)
				asks := !bytes.Contains(all, []byte("not shown"))
				if all = append(all, buf[:n]...); asks && bytes.Contains(all, []byte("not shown")) {
					_, _ = io.WriteString(person, tt.typed)
				}
				if err != nil || bytes.Contains(all, []byte("END")) {
					shown <- string(all)
					return
				}
			}
		}()
		code, _ := run(t.TempDir(), program, program, ring(kept, nil), "set", "T")
		_, _ = io.WriteString(program, "END")
		if all := <-shown; code != tt.code || kept["T"] != tt.want || strings.Contains(all, "tok-") || !strings.Contains(all, tt.says) {
			t.Errorf("%q: ended with %d, kept %q, shown %q", tt.typed, code, kept["T"], all)
		}
	}
}

// TestServerToken checks that the token for a server is kept in the keyring only, under the URL of the server.
func TestServerToken(t *testing.T) {
	t.Parallel()
	home, kept := t.TempDir(), map[string]string{}
	k := ring(kept, nil)
	const url, token = "http://127.0.0.1:7457", "tok-123456789"
	if code, printed := run(home, strings.NewReader(token+"\n"), nil, k, "set", url+"/"); code != 0 || kept[url] != token || strings.Contains(printed, token) {
		t.Errorf("%d %q, kept %q", code, printed, kept)
	}
	if files, err := os.ReadDir(home); err != nil || len(files) > 0 {
		t.Errorf("it wrote %v: %v", files, err)
	}
	if code, printed := run(home, strings.NewReader(token), nil, nil, "set", url); code != 5 || !strings.Contains(printed, "export CASSIDY_TOKEN") {
		t.Errorf("without a keyring: %d %q", code, printed)
	}
	if code, printed := run(home, strings.NewReader(""), nil, k, "rm", url); code != 0 || len(kept) > 0 {
		t.Errorf("%d %q, kept %q", code, printed, kept)
	}
}
