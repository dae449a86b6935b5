package trust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// risky reports whether a file can act on what is outside of it, or has characters that nobody sees: each such file is asked
// about by itself.
func risky(f *trust.File) bool {
	switch f.Kind {
	case trust.KindServers, trust.KindProgram, trust.KindHooks:
		return true
	}
	return invisible(f) > 0 || acts(f)
}

// risks returns the paths of the files that are risky, and of what they load.
func risks(files []trust.File) map[string]bool {
	paths := map[string]bool{}
	for i := range files {
		if f := &files[i]; risky(f) {
			paths[f.Path] = true
			if f.Tool != nil {
				for _, lib := range f.Tool.Loads {
					paths[libPath(lib)] = true
				}
			}
		}
	}
	return paths
}

// invisible returns how many characters of a file nobody sees.
func invisible(f *trust.File) int {
	r := &review.Review{}
	r.Text(f.Text)
	n, _ := r.Marks()
	return n
}

// acts reports whether a tool can change something, or send it.
func acts(f *trust.File) bool {
	return f.Tool != nil && slices.ContainsFunc(f.Tool.Needs, tool.Capability.Acts)
}

// ability ranks files by what they can do: the most able first.
func ability(f *trust.File) int {
	switch {
	case risky(f):
		return 0
	case f.Tool != nil && len(f.Tool.Needs) > 0:
		return 1
	}
	switch f.Kind {
	case trust.KindWorkflow, trust.KindPolicy, trust.KindAgent:
		return 2
	case trust.KindSkill, trust.KindNotes, trust.KindMemory, trust.KindServerTools:
		return 3
	case trust.KindTest:
		return 5
	}
	return 4
}

// mostAbleFirst sorts files. A file that tools load comes before the most able of them: who refuses it refuses these, too.
func mostAbleFirst(files []trust.File) []trust.File {
	rank := map[string]int{}
	for i := range files {
		f := &files[i]
		own := 2 * (1 + ability(f)) // 0 is for unknown ones
		rank[f.Path] = min(cmp.Or(rank[f.Path], own+1), own+1)
		if f.Tool != nil {
			for _, lib := range f.Tool.Loads {
				path := libPath(lib)
				rank[path] = min(cmp.Or(rank[path], own), own)
			}
		}
	}
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b trust.File) int { return cmp.Compare(rank[a.Path], rank[b.Path]) })
	return sorted
}

func libPath(lib string) string { return folder.Name + "/tools/" + lib }

// loadsRefused names a file that a tool loads and that was refused, or "".
func loadsRefused(f *trust.File, refused map[string]bool) string {
	if f.Tool == nil {
		return ""
	}
	for _, lib := range f.Tool.Loads {
		if refused[libPath(lib)] {
			return lib
		}
	}
	return ""
}

// Ask lists the files, and asks about one after another.
func (t *Session) Ask(ctx context.Context) error {
	in := t.Terminal(t.In)
	t.Files, t.risky = mostAbleFirst(t.Files), risks(t.Files)
	t.list()
	if t.Author {
		answer, err := t.answer(ctx, in, "y yes, these files are mine, and I trust them", "N no")
		if err != nil || answer != "y" {
			return t.declined(err)
		}
		return t.Record(t.Files)
	}
	var trusted []trust.File
	refused := map[string]bool{}
	rest := false // is trusted, but for what is risky
	for i := range t.Files {
		f := &t.Files[i]
		if lib := loadsRefused(f, refused); lib != "" {
			t.Alert("%s stays untrusted: it loads %s", f.Path, lib)
			continue
		}
		answer := "y"
		if !rest || t.risky[f.Path] {
			var err error
			if answer, err = t.decide(ctx, in, i); err != nil {
				return errors.Join(t.Record(trusted), t.declined(err))
			}
		}
		switch answer {
		case "a":
			rest = true
			fallthrough
		case "y":
			trusted = append(trusted, *f)
		case "q":
			return t.Record(trusted)
		default:
			refused[f.Path] = true
			t.say(draw.Failed, "left untrusted")
		}
	}
	return t.Record(trusted)
}

// AskOnce lists the files, and asks once about all of them, after their texts were shown. It is for files that a command has
// made together.
func (t *Session) AskOnce(ctx context.Context) error {
	in := t.Terminal(t.In)
	t.Files, t.risky = mostAbleFirst(t.Files), risks(t.Files)
	t.list()
	yes := "y trust " + ui.Count(len(t.Files), "file")
	for viewed := false; ; {
		choices := []string{yes, "N no", "v view"}
		if !viewed {
			choices = []string{"v read first, then y", "N no"}
		}
		answer, err := t.answer(ctx, in, choices...)
		switch {
		case err != nil:
			return err
		case answer == "v":
			p := t.page()
			for i := range t.Files {
				p.file(&t.Files[i], true)
			}
			viewed = t.show(ctx, in, p) || viewed
		case answer == "y" && viewed:
			return t.Record(t.Files)
		case answer == "y":
			t.say(draw.Folded, "the files were not shown yet: type v to read them before you trust them")
		default:
			return t.declined(nil)
		}
	}
}

// list shows all files, with what each of them can do.
func (t *Session) list() {
	if len(t.Files) == 0 {
		return
	}
	p := t.page()
	p.overview(t.Review.Root, t.Files)
	t.Print(p.String())
}

// say prints a message between the questions.
func (t *Session) say(mark draw.Symbol, text string) {
	if ui.IsTerminal(t.Err) {
		t.Draw(t.ScreenOf(t.Err).Message(mark, text))
	}
}

// plain returns the files from one on that are not risky.
func (t *Session) plain(i int) []trust.File {
	return slices.DeleteFunc(slices.Clone(t.Files[i:]), func(f trust.File) bool { return t.risky[f.Path] })
}

// decide asks about a file, and returns y, n, q, or a for all that are left and not risky. Those are shown first. The text of a
// file must be shown before a yes.
func (t *Session) decide(ctx context.Context, in *ui.Terminal, i int) (string, error) {
	f := &t.Files[i]
	viewed := t.ask(i, false)
	for {
		choices := []string{"y yes", "N no", "v view"}
		if !viewed {
			choices = []string{"v read first, then y", "N no"}
		}
		if plain := t.plain(i); !t.risky[f.Path] && len(plain) > 1 {
			choices = append(choices, fmt.Sprintf("a all %d without %s", len(plain), t.ScreenOf(t.Out).Symbol(draw.Risk)))
		}
		answer, err := t.answer(ctx, in, append(choices, "l list", "q quit", "? help")...)
		switch {
		case err != nil:
			return "", err
		case answer == "y" && !viewed:
			t.say(draw.Folded, "the text of the file was not shown yet: type v to read it before you trust it")
		case answer == "v":
			p := t.page()
			p.text(f, true)
			viewed = t.show(ctx, in, p) || viewed
			viewed = t.ask(i, viewed)
		case answer == "l":
			t.list()
		case answer == "a":
			plain, p := t.plain(i), t.page()
			for i := range plain {
				p.file(&plain[i], true)
			}
			if !t.show(ctx, in, p) {
				continue // one of them was not read
			}
			p = t.page()
			p.overview(t.Review.Root, plain)
			t.Print(p.String())
			answer, err = t.answer(ctx, in, fmt.Sprintf("y trust these %d files", len(plain)), "N no")
			if err != nil || answer == "y" {
				return "a", err
			}
			viewed = t.ask(i, true)
		default:
			return answer, nil
		}
	}
}

// ask shows what a file can do, and its text if that was shown or is a short change. It reports whether the text was shown.
func (t *Session) ask(i int, viewed bool) bool {
	p := t.page()
	f := &t.Files[i]
	p.title(f, fmt.Sprintf("%d/%d  ", i+1, len(t.Files)))
	if t.Full && !viewed {
		p.text(f, true)
		viewed = true
	} else {
		viewed = p.brief(f, viewed)
	}
	p.facts(f)
	p.marks(f)
	t.Print("\n" + p.String())
	return viewed
}

// show shows a page in parts, and reports whether it was read to its end.
func (t *Session) show(ctx context.Context, in *ui.Terminal, p *reviewPage) bool {
	if !ui.IsTerminal(t.Err) {
		t.Print(p.String())
		return true
	}
	return approve.View(ctx, t.Printer, in, p.String())
}

// answer asks for one of some choices until it gets one, and returns its letter. Enter alone is n, and the end of the input is q.
func (t *Session) answer(ctx context.Context, in *ui.Terminal, choices ...string) (string, error) {
	if ui.IsTerminal(t.Err) {
		in.Drop() // what was typed before
	}
	in.Print(t.ScreenOf(t.Err).Prompt(choices...))
	line, err := in.ReadLine(ctx)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		in.Print("\n")
		return "q", nil
	}
	word := strings.ToLower(strings.TrimSpace(line))
	letter := func(word string) string {
		for letter, name := range map[string]string{"y": "yes", "v": "view", "a": "all", "l": "list", "q": "quit", "n": "no"} {
			offered := slices.ContainsFunc(choices, func(c string) bool { return strings.HasPrefix(strings.ToLower(c), letter+" ") }) || letter == "y" && strings.HasPrefix(choices[0], "v ")
			if offered && (word == letter || word == name) {
				return letter
			}
		}
		return ""
	}
	switch answer := letter(word); {
	case word == "":
		return "n", nil
	case answer != "":
		return answer, nil
	default: // also ?
		in.PrintLines(t.ScreenOf(t.Err).Names("  ", [][2]string{
			{"v", "show the text of the file"}, {"y", "trust the file, after its text was shown"}, {"n", "leave the file untrusted; Enter alone does this too"},
			{"a", "show all files that only read and compute, then ask once for all of them"}, {"l", "list the files again"},
			{"q", "end the review; the files that you have trusted stay trusted"},
		}, 0))
		return t.answer(ctx, in, choices...)
	}
}
