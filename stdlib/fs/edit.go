package fs

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/edits"
	"github.com/cassidy-run/cassidy/stdlib/internal/charset"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func (w *Files) editFunc() tool.Func {
	return w.writeFunc(w.filePath, editFile, tool.Func{
		Name: "edit",
		Doc:  "Replace text in a file. The text must occur exactly once, unless replace_all is True. A file in UTF-16, or in an encoding that data.read guesses, keeps its encoding.",
		Params: []tool.Param{
			tool.Required("path", tool.TypeString, "the file"),
			tool.Required("old", tool.TypeString, "the text to replace, exactly as in the file, including spaces; a line break stands for each kind of line end"),
			tool.Required("new", tool.TypeString, "the new text; its line breaks become those of the lines that it replaces"),
			tool.Optional("replace_all", tool.TypeBoolean, false, "replace every occurrence"),
		},
		Returns: `{"path", "replacements": the number of replacements, "diff": unified diff}`,
	})
}

func editFile(l *look, args *value.Dict) (value.Value, error) {
	old, becomes := args.Text("old"), args.Text("new")
	switch {
	case old == "":
		return nil, value.Errorf(value.Invalid, "argument 'old' is empty").WithHint("pass the text to replace; in a script, fs.write(path, content) replaces a complete file, and fs.append(path, content) adds text at the end")
	case old == becomes:
		return nil, value.Errorf(value.Invalid, "arguments 'old' and 'new' are the same")
	}
	s, err := l.toWrite(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.kind() == kindNothing {
		l.sawNothing(s)
		return nil, s.missing()
	}
	st, err := s.now()
	switch {
	case err != nil:
		return nil, err
	case st.Dir:
		return nil, s.isFolder()
	}
	shown := l.w.Shown(s.asked)
	text, coding, ok := charset.Decode(st.Data)
	if !ok {
		return nil, notText(shown)
	}
	e, err := edits.Find(shown, text, old, becomes, args.Bool("replace_all"))
	if err != nil {
		known := value.ErrorOf(err, value.Failed)
		return nil, known.WithHint("%s", charset.Text([]byte(known.Hint)))
	}
	if added := int64(e.Size() - len(text)); added > l.w.limits.Write {
		return nil, limitError(value.LimitWrites, "edit %s: the edit adds more than the limit of %s", shown, row.SizeText(l.w.limits.Write))
	}
	data, err := coding.Encode(e.Apply())
	if err != nil {
		return nil, value.Errorf(value.Invalid, "edit %s: the new text has a character that %s, the encoding of the file, does not have", shown, coding.Name).
			WithHint("leave the character out, or write the complete file, which makes it UTF-8")
	}
	plan := l.plan()
	plan.add(s.path, st, fileState(data, st.Mode))
	if err := plan.stage(); err != nil {
		return nil, err
	}
	return value.NewDict("path", shown, "replacements", int64(e.Count()), "diff", charset.Text([]byte(e.Diff(shown)))), nil
}
