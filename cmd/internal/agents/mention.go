package agents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Mentions finds the files that a message names, as in "what is in @chart.png?". A path with spaces
// is in quotes: @"my chart.png". It returns the message without the @, which keeps the names, and
// the files. @@ is a literal @, and an @ inside a word, as in an address of mail, means nothing. A
// path that does not exist is an error.
func Mentions(message string) (text string, files []string, err error) {
	var b strings.Builder
	for rest := message; rest != ""; {
		word, gap := cutWord(rest)
		rest = rest[len(word)+len(gap):]
		switch {
		case strings.HasPrefix(word, "@@"):
			word = word[1:]
		case strings.HasPrefix(word, "@") && word != "@":
			file, after, err := mentioned(word[1:])
			if err != nil {
				return "", nil, err
			}
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
			word = file + after
		}
		b.WriteString(word + gap)
	}
	return b.String(), files, nil
}

// cutWord returns the first word of a text, and the white space behind it. A word that begins with
// @" ends with the word of the next quote.
func cutWord(text string) (word, gap string) {
	end := 0
	if strings.HasPrefix(text, `@"`) {
		if i := strings.IndexByte(text[2:], '"'); i >= 0 {
			end = 2 + i + 1
		}
	}
	if i := strings.IndexFunc(text[end:], unicode.IsSpace); i >= 0 {
		word = text[:end+i]
	} else {
		word = text
	}
	after := strings.TrimLeftFunc(text[len(word):], unicode.IsSpace)
	return word, text[len(word) : len(text)-len(after)]
}

// marks are the characters that end a sentence or a part of it, and rarely a path.
const marks = ".,;:!?)]}'\"…"

// mentioned returns the file that a word names, and what follows it in the word. The word may end
// with punctuation marks: "@a.png?".
func mentioned(word string) (file, after string, err error) {
	if quoted, ok := strings.CutPrefix(word, `"`); ok {
		file, after, ok = strings.Cut(quoted, `"`)
		if !ok {
			return "", "", value.Errorf(value.Invalid, "attach %s: the closing quote is missing", quoted).WithHint(`write @"my file.png"; to write a literal @, write @@`)
		}
		if path := atHome(file); exists(path) {
			return path, after, nil
		}
		return "", "", noFile(file, word)
	}
	for name := word; ; {
		if path := atHome(name); exists(path) || isAddress(name) && !endsWithMark(name) {
			return path, word[len(name):], nil
		}
		if !endsWithMark(name) {
			return "", "", noFile(strings.TrimRight(word, marks), word)
		}
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
}

func noFile(file, word string) error {
	return value.Errorf(value.Invalid, "attach %s: there is no such file; nothing was sent", file).
		WithHint("name an existing file; if you mean no file, write @@%s", ui.CutShown(word, draw.MaxText/2))
}

func endsWithMark(name string) bool {
	last, _ := utf8.DecodeLastRuneInString(name)
	return name != "" && strings.ContainsRune(marks, last)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return path != "" && (err == nil || os.IsPermission(err))
}

// atHome returns a path whose ~ is the home folder of the user.
func atHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

func isAddress(file string) bool {
	return strings.HasPrefix(file, "https://") || strings.HasPrefix(file, "http://")
}
