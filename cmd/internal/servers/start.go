package servers

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/internal/scratch"
	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
	"github.com/cassidy-run/cassidy/runtime/mcp/oauth"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Fetch starts a server, and returns the tools that it offers.
func (o *Options) Fetch(ctx context.Context, e *Entry) (attached.Set, error) {
	return attached.Fetch(ctx, o.Describe(e))
}

// Describe returns how a server is started. What can be wrong with an entry is found when it is.
func (o *Options) Describe(e *Entry) attached.Options {
	out := attached.Options{Name: e.Name, Timeout: e.Timeout, TrustAnnotations: e.TrustAnnotations, Include: e.Include, Exclude: e.Exclude, SSE: e.SSE, Version: o.Version}
	if e.URL == "" {
		out.Explain = func(output string) string { return o.explain(e, output) }
		out.Launch = func(ctx context.Context, p *tool.Process) (int, error) { return o.launch(ctx, e, p) }
		return out
	}
	if err := o.reach(e, &out); err != nil { // the first call reports it
		out.URL, out.Launch = "", func(context.Context, *tool.Process) (int, error) { return -1, err }
	}
	return out
}

// reach describes how a server over HTTP is reached: which addresses, and as whom.
func (o *Options) reach(e *Entry, out *attached.Options) error {
	s, err := e.Expand(o.Env)
	if err != nil {
		return err
	}
	signing, err := o.OAuth(&s)
	if err != nil {
		return err
	}
	out.URL, out.Client, out.Header = s.URL, signing.Client(), map[string][]string{}
	for _, h := range s.Headers {
		out.Header[h.Name] = []string{h.Value}
		if strings.EqualFold(h.Name, "Authorization") {
			signing = nil // the user signs in by themselves
		}
	}
	if signing != nil {
		out.OAuth = signing
	}
	return nil
}

// OAuth returns what signs in at a server over HTTP, whose variables are expanded. It asks nobody
// to sign in.
func (o *Options) OAuth(s *mcpfile.Server) (*oauth.Handler, error) {
	return oauth.New(oauth.Options{Name: s.Name, Server: s.URL, Dir: o.Tokens})
}

// launch runs the program of a server.
func (o *Options) launch(ctx context.Context, e *Entry, p *tool.Process) (int, error) {
	if o.Launch == nil {
		return -1, value.Errorf(value.Unavailable, "programs cannot be confined on this machine").WithHint("see what is missing with: cassidy doctor")
	}
	if file, reason := o.unreviewed(e); file != "" { // it has changed since the entry was read
		return -1, e.programError(file, reason)
	}
	s, err := e.Expand(o.Env)
	if err != nil {
		return -1, err
	}
	dir, err := scratch.Make("", "mcp")
	if err != nil {
		return -1, value.Errorf(value.Unavailable, "create a folder for temporary files: %w", folder.Cause(err))
	}
	defer dir.Close()
	full := *p
	if err := o.complete(&s, dir.Path, &full); err != nil {
		return -1, err
	}
	return o.Launch(ctx, &full)
}

// complete completes a process with the program of a server and what it may reach.
func (o *Options) complete(s *mcpfile.Server, scratch string, p *tool.Process) (err error) {
	root, err := filepath.EvalSymlinks(o.Root)
	if err != nil {
		return value.Errorf(value.Unavailable, "open the project: %w", folder.Cause(err))
	}
	p.Name, p.Args, p.Network = s.Command, s.Args, s.Network
	p.Env = o.environment(s, scratch)
	if name := o.safe(s); name != "" {
		p.Env = append(p.Env, name+"=1")
	}
	p.Dir = filepath.Join(root, filepath.FromSlash(s.Dir))
	if p.Path, err = o.program(s.Command, p.Dir); err != nil {
		return err
	}
	p.Read, p.Write = []string{root}, []string{scratch}
	for _, name := range s.Read {
		at, err := o.place(root, name)
		if err != nil {
			return err
		}
		p.Read = append(p.Read, at)
	}
	for _, name := range s.Write {
		at, err := o.place(root, name)
		if err == nil {
			err = o.writable(root, name, at)
		}
		if err != nil {
			return err
		}
		p.Write = append(p.Write, at)
	}
	return o.keepSecrets(slices.Concat(p.Read, p.Write))
}

// keepSecrets refuses a server that could read the file of a secret.
func (o *Options) keepSecrets(dirs []string) error {
	if o.Secrets == nil {
		return nil
	}
	files, err := o.Secrets()
	if err != nil {
		return err
	}
	if file, hint := protect.SecretIn(files, dirs); file != "" {
		return value.Errorf(value.Denied, "it was not started, because it could read the file of a secret: %s", file).WithHint("%s", hint)
	}
	return nil
}

// safe returns the variable that keeps a server from loading code from the project, or "".
func (o *Options) safe(s *mcpfile.Server) string {
	project, err := protect.Open(o.Root)
	if err != nil {
		return "" // it is not started
	}
	defer project.Root.Close()
	program := programOf(s)
	return project.Safe(&program)
}

// environment returns the environment of a server: PATH, HOME, the language and the time zone, the proxies if
// it may open connections, a folder for temporary files, and what its entry names.
func (o *Options) environment(s *mcpfile.Server, scratch string) []string {
	env := []string{"TMPDIR=" + scratch}
	common := []string{"PATH", "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "TZ"}
	if s.Network {
		common = append(common, "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")
	}
	for _, name := range common {
		v, ok := o.Env(name)
		if !ok || slices.ContainsFunc(s.Env, func(p mcpfile.Pair) bool { return p.Name == name }) {
			continue
		}
		if strings.Contains(v, "@") { // of a proxy with a password, which only the entry can give
			continue
		}
		env = append(env, name+"="+v)
	}
	for _, p := range s.Env {
		env = append(env, p.Name+"="+p.Value)
	}
	return env
}

// program finds the program of a command: a path, from the server's folder, or a name in PATH.
func (o *Options) program(command, dir string) (string, error) {
	if strings.ContainsAny(command, `/\`) {
		if filepath.IsAbs(command) {
			return command, nil
		}
		return filepath.Join(dir, filepath.FromSlash(command)), nil
	}
	path, _ := o.Env("PATH")
	for _, dir := range filepath.SplitList(path) {
		for _, suffix := range suffixes() {
			name := filepath.Join(dir, command+suffix)
			if info, err := os.Stat(name); filepath.IsAbs(name) && err == nil && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || suffix != "") {
				return name, nil
			}
		}
	}
	return "", value.Errorf(value.Unavailable, "program %s not found in PATH", value.Clean(command, 80)).WithHint("install the program, or write its path in mcp.json")
}

// suffixes are those of the files of programs.
func suffixes() []string {
	if runtime.GOOS == "windows" {
		return []string{".exe", ".cmd", ".bat"}
	}
	return []string{""}
}

// place returns the path of a file or folder that an entry grants.
func (o *Options) place(root, name string) (string, error) {
	at := filepath.FromSlash(name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok || name == "~" {
		home, _ := o.Env("HOME")
		if home == "" {
			return "", value.Errorf(value.Unavailable, "find %s: HOME is not set", name)
		}
		at = filepath.Join(home, filepath.FromSlash(rest))
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(root, at)
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return "", value.Errorf(value.Unavailable, "open the granted path %s: %w", name, folder.Cause(err)).WithHint("create the file or folder, or change the entry in mcp.json")
	}
	return real, nil
}

// writable refuses to let a server write what decides which code runs next: the settings of the
// project and of the user, and a repository.
func (o *Options) writable(root, name, at string) error {
	protected := []string{filepath.Join(root, folder.Name), filepath.Join(root, ".git")}
	if home := o.Scope.Home; home != "" {
		protected = append(protected, home)
	}
	for _, p := range protected {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		if within(p, at) || within(at, p) {
			return value.Errorf(value.Denied, "a server may not write %s: the path overlaps %s, which is protected", name, p).
				WithHint(`change the path in the list "write" of the server in mcp.json`)
		}
	}
	return nil
}

// within reports whether a path is a folder or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
