package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testworker"
)

// TestNeovim starts Neovim, which starts cassidy lsp and asks it about tools in all three languages.
func TestNeovim(t *testing.T) {
	t.Parallel()
	nvim, err := exec.LookPath("nvim")
	if err != nil {
		t.Skip("SKIPPED: Neovim is not installed; on Debian: apt-get install neovim")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/neovim/test.lua")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files, err := filepath.Glob("testdata/neovim/tools/*")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	if err := os.CopyFS(filepath.Join(dir, ".cassidy/tools"), os.DirFS("testdata/neovim/tools")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, nvim, "--headless", "-u", "NONE", "-n", "-c", "luafile "+script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CASSIDY="+self, asCassidy+"=1", "CASSIDY_HOME="+t.TempDir(), "CASSIDY_WORKER="+testworker.Exec(),
		"HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("nvim: %v\n%s%s", err, &out, &errs)
	}
	got := map[string]string{}
	for line := range strings.Lines(out.String()) {
		if file, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			what, text, _ := strings.Cut(rest, " ")
			got[file+" "+what] = text
		}
	}
	for _, file := range []string{"page.star", "page_lua.lua", "page_md.md"} {
		if hover := got[file+" hover"]; !strings.Contains(hover, "fs.read(path: string") || !strings.Contains(hover, "Needs `fs.read`") {
			t.Errorf("%s: hover = %s", file, hover)
		}
		var labels []string
		if err := json.Unmarshal([]byte(got[file+" completion"]), &labels); err != nil || !slices.Contains(labels, "read") || !slices.Contains(labels, "glob") {
			t.Errorf("%s: completion = %s", file, got[file+" completion"])
		}
	}
	for what, want := range map[string]string{
		"page.star diagnostics": "[]", "page_lua.lua diagnostics": "[]", "page_md.md diagnostics": "[]",
		"typo.star diagnostics": `has no parameter \"ofset\"`,
		"typo.star action":      `"write offset"`,
		"typo.star text":        `"    return \"𝄞\" + fs.read(path, offset = 2)"`,
		"need_lua.lua action":   `add \"fs.read\" to needs`,
		"need_lua.lua text":     `"  needs = { \"env:LANG\", \"fs.read\" },"`,
		"need_md.md action":     `add \"fs.read\" to needs`,
		"need_md.md text":       `"needs: [\"env:LANG\", fs.read]"`,
		"typo.star completion":  `"fs.read", "fs.write"`,
		"typo.star hover":       "fs.read(path: string",
	} {
		if !strings.Contains(got[what], want) {
			t.Errorf("%s = %s, want %s", what, got[what], want)
		}
	}
	if t.Failed() {
		t.Logf("%s%s", &out, &errs)
	}
}

// TestNeovimRecipe opens a tool in Neovim with the recipe of docs/editors.md for its version.
func TestNeovimRecipe(t *testing.T) {
	t.Parallel()
	nvim, err := exec.LookPath("nvim")
	if err != nil {
		t.Skip("SKIPPED: Neovim is not installed; on Debian: apt-get install neovim")
	}
	version, err := exec.Command(nvim, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := "For Neovim 0.11 or later,"
	if regexp.MustCompile(`^NVIM v0\.([0-9]|10)\.`).Match(version) {
		heading = "For Neovim 0.7 to 0.10,"
	}
	_, rest, _ := strings.Cut(string(page), heading)
	_, rest, _ = strings.Cut(rest, "```lua\n")
	recipe, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatalf("docs/editors.md has no recipe after %q", heading)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, ".cassidy/tools"), os.DirFS("testdata/neovim/tools")); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "cassidy")); err != nil {
		t.Skip(err)
	}
	const attached = `
lua vim.wait(60000, function() return next(vim.lsp.buf_get_clients(0)) ~= nil end, 50)
lua io.stdout:write(vim.bo.filetype .. " " .. vim.tbl_count(vim.lsp.buf_get_clients(0)) .. "\n")
qall!
`
	init, script := filepath.Join(bin, "init.lua"), filepath.Join(bin, "attached.vim")
	for name, text := range map[string]string{init: recipe, script: attached} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for file, filetype := range map[string]string{"page.star": "starlark", "page_lua.lua": "lua", "page_md.md": "markdown"} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, nvim, "--headless", "-u", init, "-n", ".cassidy/tools/"+file, "-S", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asCassidy+"=1", "CASSIDY_HOME="+t.TempDir(), "CASSIDY_WORKER="+testworker.Exec(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
			"HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir())
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != filetype+" 1" {
			t.Errorf("%s: the filetype and the number of clients are %q, %v, want %q\n%s", file, got, err, filetype+" 1", &errs)
		}
	}
}
