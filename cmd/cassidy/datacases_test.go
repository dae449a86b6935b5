package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// dataCases are the folders of files as people have them, and what their run.sh prints.
var dataCases = []struct {
	name  string
	needs string // a program, or ""
	want  string // after a line break; ␍ stands for a CR
}{
	{name: "01-xlsx-1904", want: `
due
date
2024-01-15
1 row × 1 column
`},
	{name: "02-sql-file-form", want: `
count(*)
 integer
       1
1 row × 1 column
count(*)
 integer
       1
1 row × 1 column
count(*)
 integer
       1
1 row × 1 column
count(*)
 integer
       1
1 row × 1 column
`},
	{name: "03-nearly-number", want: `
 max(n)   min(n)   sum(n)
integer  integer  integer
    100       20      219
1 row × 3 columns
note: column "n": "-" is read as missing; to keep the texts, pass types = {"n": "text"} (give it in options)
 max(n)   min(n)   sum(n)
integer  integer  integer
   1000     -500      500
1 row × 3 columns
note: column "n": "(500)" is read as a negative number; to keep the texts, pass types = {"n": "text"} (give it in options)
max(n)  min(n)  sum(n)
 float   float   float
100.25    20.0  219.75
1 row × 3 columns
note: column "n": "$99.50" is read as a number; to keep the texts, pass types = {"n": "text"} (give it in options)
max(n)  min(n)  sum(n)
text    text     float
n.a.    100      219.0
1 row × 3 columns
note: column "n" is text: its values are numbers, except 1 of 4, the first "n.a." on line 4: to read it as missing, pass missing = ["n.a."] (give it in options)
 max(n)   min(n)   sum(n)
integer  integer  integer
    100       20      219
1 row × 3 columns
note: column "n": "#N/A" is read as missing; to keep the texts, pass types = {"n": "text"} (give it in options)
max(n)  min(n)   sum(n)
text    text    integer
99      100         219
1 row × 3 columns
note: column "n" is text, because some values are in quotes: if they are of type integer, pass types = {"n": "integer"} (give it in options)
 max(n)   min(n)   sum(n)
integer  integer  integer
    100        5      125
1 row × 3 columns
note: column "n": "+5" is read as a number; to keep the texts, pass types = {"n": "text"} (give it in options)
max(n)  min(n)  sum(n)
text    text     float
inf     100      219.0
1 row × 3 columns
note: column "n" is text: its values are numbers, except 1 of 4, the first "inf" on line 5: to read it as missing, pass missing = ["inf"] (give it in options)
max(n)  min(n)           sum(n)
text    text              float
99      20      9.223372037e+18
1 row × 3 columns
note: column "n" is text: its values are numbers, except 1 of 3, the first "9223372036854775808" on line 3: to read numbers, pass types = {"n": "float"} (give it in options)
`},
	{name: "05-one-bad-byte", want: `
count(*)
 integer
      20
1 row × 1 column
note: 1 byte is not UTF-8, the first 0xe9 on line 22: read as �; if the encoding is another, pass it, as in encoding = "windows-1252" (give it in options)
`},
	{name: "06-legacy-encodings", want: `
名前       値
text  integer
日本        5
1 row × 2 columns
note: encoding shift_jis (guessed): if it is another, pass it, as in encoding = "windows-1252" (give it in options)
姓名       值
text  integer
张三        5
1 row × 2 columns
note: encoding gbk (guessed): if it is another, pass it, as in encoding = "windows-1252" (give it in options)
имя      цена
text  integer
Иван        5
1 row × 2 columns
note: encoding windows-1251 (guessed): if it is another, pass it, as in encoding = "windows-1252" (give it in options)
имя      цена
text  integer
Иван        5
1 row × 2 columns
`},
	{name: "08-edit-mixed-eol", want: `
File edited successfully: a1.txt (1 replacement)

--- a/a1.txt
+++ b/a1.txt
@@ -1,4 +1,5 @@
 head
-a␍
-b␍
+a␍
+X␍
+b␍
 c
0000000   h   e   a   d  \n   a  \r  \n   X  \r  \n   b  \r  \n   c  \n
0000020
File edited successfully: b1.txt (1 replacement)

--- a/b1.txt
+++ b/b1.txt
@@ -1,4 +1,4 @@
-a␍
-b
-c␍
+A␍
+B
+C␍
 d
`},
	{name: "09-search-silent", want: `
u16.txt:1:hello
latin1.txt:1:café one
bom.txt:1:hello
No matches found
(not searched: nul.txt: binary file)
ml.txt:1:a {
ml.txt:2:  b
`},
	{name: "12-edit-lookalikes", want: `
cassidy: edit nbsp.txt: the old text was not found
cassidy: hint: line 1 has the text with no-break spaces: pass it as "list in\u00a0current"
cassidy: edit quote.txt: the old text was not found
cassidy: hint: line 1 has the text with curly quotes: pass it as "l\u2019image"
cassidy: edit nfd.txt: the old text was not found
cassidy: hint: line 1 has the text with decomposed accents: pass it as "cafe\u0301"
cassidy: edit num.txt: the old text was not found
cassidy: hint: line 1 has the text without the line numbers: leave them out
`},
	{name: "13-csv-no-way-in", want: `
cassidy: data.read: long.csv, line 3: the row has 3 cells, but the header has 2
cassidy: hint: fix the row, put quotes around cells with the delimiter ",", or set another delimiter; to leave such rows out, set lenient to true
      a        b        c
integer  integer  integer
      1        2        3
      4        5        6
2 rows × 3 columns
note: 2 rows were too long, the first on line 2: the cells beyond the header are empty, and left out
name  note
text  text
ann   hi, there
bob   x
2 rows × 2 columns
note: spaces around cells are skipped, because there are some before quotes; to keep them, pass trim = False (give it in options)
     id  name
integer  text
      1  A
1 row × 2 columns
note: line 1 is skipped as a title; if the table begins there, pass skip = 0 (give it in options)
note: delimiter ";" (detected)
cassidy: data.read: comment.csv, line 3: the row has 3 cells, but the header has 2
cassidy: hint: if lines that begin with # are comments, set comment to "#"; to leave such rows out, set lenient to true
cassidy: data.read: nul.csv, line 3: unexpected zero byte: the file is probably binary, not text
cassidy: hint: for text in UTF-16, set encoding to "utf-16le"; to leave zero bytes out, set lenient to true
cassidy: data.read: bad.jsonl: invalid JSON at line 2, column 2: expected a name in double quotes but got 'b'
cassidy: hint: to leave such lines out, set lenient to true
`},
	{name: "15-case-columns", want: `
     ID
integer
      1
1 row × 1 column
`},
	{name: "16-string-number", want: `
     2	b
(lines 2 to 2 of 3; continue with offset=3)
`},
	{name: "17-html-table", want: `
Month | Saved | Goal
Jan | 100 | 50
Feb | 8\|0 x

A | 1
| 2

7. seven

[hidden text left out]
`},
	{name: "18-gitignore", needs: "git", want: `
a.js:1:needle
run.sh:3:git init -q .; mkdir -p vendor; for i in 1 2 3; do echo needle > vendor/$i.js; done
run.sh:4:cassidy --trust-once tool run search_files --yes --input '{"pattern":"needle"}'
(not searched: 1 file or folder that ignore files exclude; ignored=true searches more)
README
a.js
run.sh
(1 more that ignore files exclude: ignored=true lists them)
`},
	{name: "19-sql-functions", want: `
median(v)
    float
      2.0
1 row × 1 column
stddev(v)
    float
      1.0
1 row × 1 column
      v
integer
      1
      2
2 rows × 1 column
`},
	{name: "22-big-int-float", want: `
cast(n as text)
text
9007199254740993
1.5
2 rows × 1 column
note: column "n" is text, because 9007199254740993 has more digits than a float keeps: to round it, pass types = {"n": "float"} (give it in options)
`},
	{name: "24-edit-8mb", needs: "python3", want: `
File edited successfully: big.txt (1 replacement)

--- a/big.txt
+++ b/big.txt
@@ -449998,4 +449998,4 @@
 line of text number
 line of text number
 line of text number
-UNIQUE here
+x
`},
}

// TestDataCases runs the commands of the cases beside the project: files as people have them, which were read, searched
// or changed wrongly once.
func TestDataCases(t *testing.T) {
	t.Parallel()
	const folder = "../../../shared/cases/data"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the cases are not beside the project")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("sh is not installed")
	}
	program := namedCassidy(t)
	for _, c := range dataCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.needs != "" {
				if _, err := exec.LookPath(c.needs); err != nil {
					t.Skip(c.needs + " is not installed")
				}
			}
			dir := t.TempDir()
			copyWritable(t, filepath.Join(folder, c.name), dir)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, sh, "run.sh")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "CASSIDY_HOME="+t.TempDir())
			out, _ := cmd.CombinedOutput() // the last command may fail, and say so
			if got := "\n" + strings.ReplaceAll(string(out), "\r", "␍"); got != c.want {
				t.Errorf("run.sh prints%s\nwant%s", got, c.want)
			}
		})
	}
}

// copyWritable copies the files of a folder, which may be read-only.
func copyWritable(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, entry.Name()), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
