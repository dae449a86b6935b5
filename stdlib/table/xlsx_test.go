package table

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// book returns a spreadsheet: sheet is the content of its sheetData, and parts replace
// or add parts. An empty part is removed.
func book(sheet string, parts map[string]string) []byte {
	all := map[string]string{
		"_rels/.rels":     `<Relationships><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml": `<?xml version="1.0"?><workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><workbookPr/><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>
			<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="/xl/sharedStrings.xml"/><Relationship Id="rId3" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml": "<worksheet><dimension ref=\"A1\"/><sheetData>" + sheet + "</sheetData><mergeCells/></worksheet>",
		"xl/sharedStrings.xml":     `<sst count="999999999"><si><t>name</t></si><si><r><t>ri</t></r><r><rPr/><t xml:space="preserve">ch </t></r><rPh><t>no</t></rPh></si><si><t>a_x000D_&#10;b&amp;<![CDATA[<c>]]></t></si></sst>`,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="0 &quot;days&quot;"/><numFmt numFmtId="165" formatCode="[$-409]d\-mmm\-yy;@"/><numFmt numFmtId="166" formatCode="[h]:mm"/></numFmts>
			<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="20"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="9"/></cellXfs></styleSheet>`,
	}
	for name, text := range parts {
		all[name] = text
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text := all[name]
		if text == "" {
			continue
		}
		part, err := w.Create(name)
		if err != nil {
			panic(err)
		}
		io.WriteString(part, text)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func inline(ref, text string) string {
	return `<c r="` + ref + `" t="inlineStr"><is><t>` + text + `</t></is></c>`
}

// rowOf is a row of texts, from column A.
func rowOf(n int, texts ...string) string {
	row := fmt.Sprintf(`<row r="%d">`, n)
	for i, text := range texts {
		row += inline(fmt.Sprintf("%s%d", columnLetters(i+1), n), text)
	}
	return row + `</row>`
}

func TestReadXLSX(t *testing.T) {
	t.Parallel()
	titled := rowOf(1, "Sales of 2024") + rowOf(2, "As of", "May") + rowOf(4, "place", "sold", "share") +
		`<row r="5">` + inline("A5", "Lindau") + `<c r="B5"><v>3</v></c><c r="C5"><v>0.5</v></c></row><row r="6">` + inline("A6", "Ulm") + `<c r="C6"><v>0.25</v></c></row>`
	const twoSheets = `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Notes" r:id="rId9" state="hidden"/><sheet name="One" r:id="rId1"/></sheets></workbook>`
	for _, test := range []struct {
		name, sheet string
		parts       map[string]string
		o           readOptions
		want        string
	}{
		{name: "all kinds", sheet: `<row r="1"><c r="A1" t="s"><v>0</v></c>` + inline("B1", "n") + inline("C1", "f") + inline("D1", "b") + inline("E1", "day") + inline("F1", "at") + inline("G1", "clock") + inline("H1", "pct") + inline("I1", "hours") + inline("J1", "d") + `</row>
			<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2"><v>1</v></c><c r="C2" s="4"><v>1.5</v></c><c r="D2" t="b"><v>1</v></c><c r="E2" s="1"><v>45351</v></c><c r="F2" s="2"><v>45351.5</v></c><c r="G2" s="3"><v>0.75</v></c><c r="H2" s="7"><v>0.125</v></c><c r="I2" s="6"><v>1.5</v></c><c r="J2" t="d"><v>2024-02-29</v></c></row>
			<row r="3"><c r="A3" t="s"><v>2</v></c><c r="B3" t="n"><v>1E+3</v></c><c r="C3"><v>2</v></c><c r="D3" t="b"><v>0</v></c><c r="E3" s="5"><v>1</v></c><c r="F3" s="1"><v>45352</v></c><c r="G3" s="3"><v>0.999988426</v></c><c r="H3" s="7"><v>1</v></c></row>`,
			want: "name:text n:integer f:float b:bool day:date at:datetime clock:text pct:float hours:text d:date \n" +
				`"rich " 1 1.5 true "2024-02-29" "2024-02-29T12:00:00" "18:00:00" 0.125 "36:00:00" "2024-02-29"` + "\n" +
				`"a\r\nb&<c>" 1000 2.0 false "1900-01-01" "2024-03-01T00:00:00" "23:59:59" 1.0 null null` + "\n"},
		{name: "gaps around and within", sheet: `<row r="3"/><row r="4"><c r="B4"/>` + inline("C4", "a") + inline("D4", "b") + `</row><row r="6"><c r="D6"><v>1</v></c></row><row r="9"><c r="C9" s="1"/></row><row r="1048576"/>`,
			want: "a:text b:integer \nnull null\nnull 1\n"},
		{name: "no references", sheet: `<row>` + strings.ReplaceAll(inline("", "a"), ` r=""`, "") + `</row><row><c><v>1</v></c><c/><c><v>2</v></c></row>`,
			want: "a:integer column_2:text column_3:integer \n1 null 2\nnote: columns without a name: renamed to column_2, column_3\n"},
		{name: "no header", sheet: `<row r="1"><c r="A1"><v>1</v></c>` + inline("B1", "x") + `</row>`, want: "column_1:integer column_2:text \n1 \"x\"\n"},
		{name: "header by number", sheet: `<row r="1"><c r="A1"><v>2020</v></c></row><row r="2"><c r="A2"><v>5</v></c></row>`, o: readOptions{header: yes(true)}, want: "2020:integer \n5\n"},
		{name: "passed over", sheet: `<row r="1">` + inline("A1", "Title") + `</row><row r="3">` + inline("B3", "a") + `</row><row r="4"><c r="B4"><v>1</v></c></row>`, o: readOptions{skip: 1}, want: "a:integer \n1\n"},
		{name: "mixture", sheet: `<row r="1">` + inline("A1", "a") + `</row><row r="2"><c r="A2"><v>1</v></c></row><row r="3">` + inline("A3", "12") + `</row><row r="4"><c r="A4" s="1"><v>45351</v></c></row>`, want: "a:any \n1\n\"12\"\n\"2024-02-29\"\nnote: column \"a\" has the type any: its values are numbers and dates or times and texts; SQL compares them as texts\n"},
		{name: "missing beside numbers", sheet: `<row r="1">` + inline("A1", "a") + `</row><row r="2"><c r="A2"><v>1</v></c></row><row r="3">` + inline("A3", "NA") + `</row><row r="4"><c r="A4" t="str"><f>""</f><v></v></c></row>`, want: "a:integer \n1\nnull\nnull\n"},
		{name: "signs for missing", sheet: `<row r="1">` + inline("A1", "a") + inline("B1", "b") + `</row><row r="2"><c r="A2"><v>1</v></c>` + inline("B2", "-") + `</row><row r="3">` + inline("A3", "–") + inline("B3", "x") + `</row>`,
			want: "a:integer b:text \n1 \"-\"\nnull \"x\"\nnote: column \"a\": signs such as \"-\" are read as missing\n"},
		{name: "the same beside texts", sheet: `<row r="1">` + inline("A1", "a") + `</row><row r="2">` + inline("A2", "x") + `</row><row r="3">` + inline("A3", "NA") + `</row><row r="4">` + inline("A4", "") + `</row>`, want: "a:text \n\"x\"\n\"NA\"\n\"\"\n"},
		{name: "said to be missing", sheet: `<row r="1">` + inline("A1", "a") + `</row><row r="2"><c r="A2" t="e"><f>1/0</f><v>#DIV/0!</v></c></row><row r="3"><c r="A3" t="e"><v>#N/A</v></c></row><row r="4"><c r="A4"><v>4</v></c></row>`, o: readOptions{missing: []string{"#DIV/0!"}}, want: "a:integer \nnull\nnull\n4\n"},
		{name: "no day", sheet: `<row r="1"><c r="A1" s="1"><v>59</v></c><c r="B1" s="1"><v>60</v></c><c r="C1" s="1"><v>61</v></c><c r="D1" s="1"><v>-1</v></c><c r="E1" s="1"><v>2958465</v></c><c r="F1" s="1"><v>2958466</v></c></row>`,
			want: "column_1:date column_2:integer column_3:date column_4:integer column_5:date column_6:integer \n\"1900-02-28\" 60 \"1900-03-01\" -1 \"9999-12-31\" 2958466\n"},
		{name: "from 1904", sheet: `<row r="1"><c r="A1" s="1"><v>0</v></c><c r="B1" s="1"><v>43889</v></c><c r="C1" s="3"><v>0.5</v></c></row>`, parts: map[string]string{"xl/workbook.xml": `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><workbookPr date1904="1"/><sheets><sheet name="One" r:id="rId1"/></sheets></workbook>`},
			want: "column_1:date column_2:date column_3:text \n\"1904-01-01\" \"2024-02-29\" \"12:00:00\"\n"},
		{name: "forced", sheet: `<row r="1">` + inline("A1", "zip") + inline("B1", "day") + `</row><row r="2"><c r="A2"><v>8001</v></c>` + inline("B2", "2024-02-29") + `</row>`, o: readOptions{types: map[string]Type{"zip": Text, "day": Date}}, want: "zip:text day:date \n\"8001\" \"2024-02-29\"\n"},
		{name: "prefixes and comments", sheet: "", parts: map[string]string{"xl/worksheets/sheet1.xml": "\ufeff<?xml version='1.0'?><!-- > --><x:worksheet xmlns:x='y'><x:sheetData ><x:row r='1'><x:c r='A1' note='a > b'><!-- - --><x:v>1<!---->2</x:v></x:c></x:row></x:sheetData></x:worksheet>"}, want: "column_1:integer \n12\n"},
		{name: "hidden", sheet: `<row r="1"><c r="A1"><v>1</v></c></row>`, parts: map[string]string{"xl/workbook.xml": twoSheets,
			"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId9" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/none.xml"/></Relationships>`},
			want: "column_1:integer \n1\nnote: read the sheet \"One\"; other sheets: Notes (hidden)\n"},
		{name: "by name", sheet: `<row r="1"><c r="A1"><v>1</v></c></row>`, o: readOptions{sheet: "oNE"}, want: "column_1:integer \n1\n"},
		{name: "empty values", sheet: `<row r="1">` + inline("A1", "a") + inline("B1", "b") + `</row><row r="2"><c r="A2"><v/></c><c r="B2" t="s"><v/></c></row><row r="3"><c r="A3"><v>1</v></c><c r="B3" t="b"><v></v></c></row>`, want: "a:integer b:text \nnull null\n1 null\n"},
		{name: "dates of strict files", sheet: `<row r="1"><c r="A1" t="d" s="1"><v>2024-02-29T00:00:00</v></c><c r="B1" t="d" s="2"><v>2024-02-29T00:00:00</v></c><c r="C1" t="d" s="3"><v>12:30:00</v></c><c r="D1" t="d"><v>2024-02-30</v></c></row>`,
			want: "column_1:date column_2:date column_3:text column_4:text \n\"2024-02-29\" \"2024-02-29\" \"12:30:00\" \"2024-02-30\"\n"},
		{name: "no relations of the archive", sheet: `<row r="1"><c r="A1"><v>1</v></c></row>`, parts: map[string]string{"_rels/.rels": ""}, want: "column_1:integer \n1\n"},
		{name: "titles", sheet: titled, want: "place:text sold:integer share:float \n\"Lindau\" 3 0.5\n\"Ulm\" null 0.25\nnote: rows 1 to 2 are skipped as a title; if the table begins there, pass skip = 0\n"},
		{name: "titles not skipped", sheet: titled, o: readOptions{skips: true}, want: "Sales of 2024:text column_2:any column_3:any \n" +
			"\"As of\" \"May\" null\nnull null null\n\"place\" \"sold\" \"share\"\n\"Lindau\" 3 0.5\n\"Ulm\" null 0.25\n" +
			"note: columns without a name: renamed to column_2, column_3\n" +
			"note: column \"column_2\" has the type any: its values are numbers and texts; SQL compares them as texts\n" +
			"note: column \"column_3\" has the type any: its values are numbers and texts; SQL compares them as texts\n"},
		{name: "a row wider than the header", sheet: rowOf(1, "name") + rowOf(2, "Ann", "x", "y") + rowOf(3, "Bob") + rowOf(4, "Eva"),
			want: "name:text column_2:text column_3:text \n\"Ann\" \"x\" \"y\"\n\"Bob\" null null\n\"Eva\" null null\nnote: columns without a name: renamed to column_2, column_3\n"},
		{name: "numbers in texts", sheet: rowOf(1, "price", "zip", "grouped") + rowOf(2, "1.203,50", "01234", "1,234") + rowOf(3, "-", "04103", "2,000"),
			want: "price:float zip:text grouped:float \n1203.5 \"01234\" 1.234\nnull \"04103\" 2.0\n" +
				"note: numbers are read with decimal = \",\", thousands = \".\", as \"1.203,50\" of column \"price\"; to read them otherwise, pass decimal = \".\"\n"},
		{name: "numbers in texts of either format", sheet: rowOf(1, "n", "m") + rowOf(2, "1,234", "12"),
			want: "n:text m:text \n\"1,234\" \"12\"\n" +
				"note: column \"n\": its texts are numbers, as \"1,234\": to read them as numbers, pass decimal = \",\", or with thousands = \",\", types = {\"n\": \"float\"}\n" +
				"note: column \"m\": its texts are numbers, as \"12\": to read them as numbers, pass types = {\"m\": \"float\"}\n"},
		{name: "numbers in texts in a format that was specified", sheet: rowOf(1, "n", "m", "word") + rowOf(2, "1,234", "12", "x"), o: readOptions{thousands: ",", types: map[string]Type{"m": Integer}},
			want: "n:float m:integer word:text \n1234.0 12 \"x\"\n"},
		{name: "by number", sheet: `<row r="1"><c r="A1"><v>1</v></c></row>`, o: readOptions{sheet: int64(1)}, want: "column_1:integer \n1\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tab, err := parseAs("xlsx", string(book(test.sheet, test.parts)), test.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, show(t, tab)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestReadXLSXErrors(t *testing.T) {
	t.Parallel()
	good := book(`<row r="1"><c r="A1"><v>1</v></c></row>`, nil)
	flipped := bytes.Clone(good)
	at := bytes.Index(flipped, []byte("xl/worksheets/sheet1.xml")) + len("xl/worksheets/sheet1.xml") + 10
	flipped[at] ^= 0xff
	encrypted := bytes.Clone(good)
	for i := 0; i < len(encrypted); i++ {
		if bytes.HasPrefix(encrypted[i:], []byte("PK\x01\x02")) {
			encrypted[i+8] |= 1
		}
	}
	sheet := func(xml string) []byte { return book(xml, nil) }
	part := func(name, xml string) []byte {
		return book(`<row r="1"><c r="A1"><v>1</v></c></row>`, map[string]string{name: xml})
	}
	const sheet1 = "xl/worksheets/sheet1.xml"
	for _, test := range []struct {
		name string
		in   []byte
		o    readOptions
		want string // a prefix of the error
	}{
		{name: "empty", want: "text is not an .xlsx file: not a zip archive"},
		{name: "old or encrypted", in: []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest"), want: "text: unsupported format: an encrypted file or an old .xls file"},
		{name: "text", in: []byte("a,b\n1,2\n"), want: "text is not an .xlsx file: not a zip archive"},
		{name: "cut off", in: good[:len(good)-30], want: "text is not a valid .xlsx file: not a valid zip file"},
		{name: "damaged", in: flipped, want: "text"},
		{name: "encrypted part", in: encrypted, want: "text: the file is encrypted"},
		{name: "another archive", in: book("", map[string]string{"_rels/.rels": "", "xl/workbook.xml": ""}), want: "text: not a spreadsheet: the part _rels/.rels is missing"},
		{name: "no workbook", in: part("xl/workbook.xml", ""), want: "text: not a spreadsheet: the part xl/workbook.xml is missing"},
		{name: "no sheet", in: part(sheet1, ""), want: "text: not a spreadsheet: the part xl/worksheets/sheet1.xml is missing"},
		{name: "no sheets", in: part("xl/workbook.xml", "<workbook/>"), want: "text: no sheet with cells"},
		{name: "no cells", in: part(sheet1, "<worksheet/>"), want: `text: the sheet "One" is damaged: no cells`},
		{name: "empty sheet", in: sheet(`<row r="5"/>`), want: `text: the sheet "One" is empty`},
		{name: "sheet name", in: good, o: readOptions{sheet: "Onne"}, want: `text: no sheet "Onne"; did you mean "One"?`},
		{name: "sheet number", in: good, o: readOptions{sheet: int64(2)}, want: "text: no sheet 2"},
		{name: "sheet kind", in: good, o: readOptions{sheet: true}, want: "argument 'sheet' should be a name or a number but got boolean"},
		{name: "entities", in: part(sheet1, `<!DOCTYPE x [<!ENTITY a "b">]><worksheet/>`), want: "text: sheet1.xml is damaged: document types are not supported"},
		{name: "entity", in: sheet(`<row r="1">` + inline("A1", "&a;") + `</row>`), want: "text: sheet1.xml is damaged: invalid character entity &a;"},
		{name: "ends", in: part(sheet1, `<worksheet><sheetData><row r="1"><c r="A1"><v>1`), want: "text: sheet1.xml is damaged: <v> has no end tag"},
		{name: "ends in a tag", in: part(sheet1, `<worksheet><sheetData><row r="1`), want: "text: sheet1.xml is damaged: unexpected EOF"},
		{name: "closes nothing", in: part(sheet1, `<worksheet><sheetData></row>`), want: "text: sheet1.xml is damaged: </row> has no start tag"},
		{name: "not UTF-8", in: sheet(`<row r="1">` + inline("A1", "\xff") + `</row>`), want: "text: sheet1.xml is damaged: invalid UTF-8"},
		{name: "formula without a value", in: sheet(`<row r="1"><c r="B1"><f>A1+1</f></c></row>`), want: `text, sheet "One", cell B1: the formula has no value`},
		{name: "formula that failed", in: sheet(`<row r="7"><c r="AB7" t="e"><v>#REF!</v></c></row>`), want: `text, sheet "One", cell AB7: the formula failed: #REF!`},
		{name: "shared text", in: sheet(`<row r="1"><c r="A1" t="s"><v>3</v></c></row>`), want: `text, sheet "One", cell A1: the cell refers to the shared string number "3", but the file has 3 shared strings`},
		{name: "absurd shared text", in: sheet(`<row r="1"><c r="A1" t="s"><v>99999999999999999999</v></c></row>`), want: `text, sheet "One", cell A1: the cell refers to the shared string number "99999999999999999999", but the file has 3 shared strings`},
		{name: "negative shared text", in: sheet(`<row r="1"><c r="A1" t="s"><v>-1</v></c></row>`), want: `text, sheet "One", cell A1: the cell refers to the shared string number "-1", but the file has 3 shared strings`},
		{name: "number", in: sheet(`<row r="1"><c r="A1"><v>1,5</v></c></row>`), want: `text, sheet "One", cell A1: invalid number "1,5"`},
		{name: "no finite number", in: sheet(`<row r="1"><c r="A1"><v>NaN</v></c></row>`), want: `text, sheet "One", cell A1: invalid number "NaN"`},
		{name: "bool", in: sheet(`<row r="1"><c r="A1" t="b"><v>2</v></c></row>`), want: `text, sheet "One", cell A1: invalid bool "2"`},
		{name: "kind", in: sheet(`<row r="1"><c r="A1" t="q"><v>2</v></c></row>`), want: `text, sheet "One", cell A1: unknown kind of cell "q"`},
		{name: "rows in disorder", in: sheet(`<row r="2"/><row r="1"/>`), want: "text: sheet1.xml is damaged: row 1 comes after row 2"},
		{name: "row 0", in: sheet(`<row r="0"/>`), want: "text: sheet1.xml is damaged: row 0 comes after row 0"},
		{name: "past the last row", in: sheet(`<row r="1048577"/>`), want: "text: sheet1.xml is damaged: row 1048577 is after the last possible row 1048576"},
		{name: "no row number", in: sheet(`<row r="-1"/>`), want: `text: sheet1.xml is damaged: invalid row number "-1"`},
		{name: "cells in disorder", in: sheet(`<row r="1"><c r="B1"/><c r="A1"/></row>`), want: "text: sheet1.xml is damaged: cell A1 comes after B1"},
		{name: "cell of another row", in: sheet(`<row r="1"><c r="A2"/></row>`), want: `text: sheet1.xml is damaged: invalid cell "A2" in row 1`},
		{name: "past the last column", in: sheet(`<row r="1"><c r="XFE1"/></row>`), want: `text: sheet1.xml is damaged: cell "XFE1" is after the last possible column XFD`},
		{name: "no column", in: sheet(`<row r="1"><c r="1"/></row>`), want: `text: sheet1.xml is damaged: invalid cell "1" in row 1`},
		{name: "type", in: sheet(`<row r="1">` + inline("A1", "a") + `</row><row r="2">` + inline("A2", "x") + `</row>`), o: readOptions{types: map[string]Type{"a": Integer}}, want: `text, sheet "One", cell A2: column "a": "x" is not of type integer`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parseAs("xlsx", string(test.in), test.o)
			if err == nil {
				t.Fatal("no error")
			}
			if got := value.ErrorOf(err, value.Internal).Message(); !strings.HasPrefix(got, test.want) {
				t.Errorf("the error is\n%s, want\n%s", got, test.want)
			}
		})
	}
}

// bomb repeats a text in a part of an archive, which compresses well.
func bomb(t *testing.T, part, before, text string, times int, after string) []byte {
	t.Helper()
	var b bytes.Buffer
	b.Write(book("", map[string]string{part: ""}))
	old, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range old.File {
		if err := w.Copy(f); err != nil {
			t.Fatal(err)
		}
	}
	p, err := w.Create(part)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(p, before)
	block := strings.Repeat(text, 1+(1<<20)/len(text))
	for n := 0; n < times; n += len(block) / len(text) {
		io.WriteString(p, block)
	}
	io.WriteString(p, after)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestXLSXBounds(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	const sheet1 = "xl/worksheets/sheet1.xml"
	const begin = "<worksheet><sheetData>"
	var many bytes.Buffer
	w := zip.NewWriter(&many)
	for i := range 40_000 {
		w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("part/%030d", i)})
	}
	w.Close()
	for name, in := range map[string][]byte{
		"a cell":                    bomb(t, sheet1, begin+`<row r="1"><c r="A1" t="inlineStr"><is><t>`, "x", 10<<20, "</t></is></c></row></sheetData></worksheet>"),
		"a cell of pieces":          bomb(t, sheet1, begin+`<row r="1"><c r="A1"><v>`, "x<!---->", testutil.Times(1_100_000, 2<<20), "</v></c></row></sheetData></worksheet>"),
		"a tag":                     bomb(t, sheet1, begin+`<row r="1"`, ` a=""`, 1<<20, "></row></sheetData></worksheet>"),
		"a comment":                 bomb(t, sheet1, begin+`<!--`, `x`, 10<<20, "--></sheetData></worksheet>"),
		"a tag of texts":            bomb(t, sheet1, begin+"<![CDATA[", `<`, 10<<20, "]]></sheetData></worksheet>"),
		"nested":                    bomb(t, sheet1, begin, `<a>`, 100_000, ""),
		"formats":                   bomb(t, "xl/styles.xml", "<styleSheet><cellXfs>", "<xf/>", 200_000, "</cellXfs></styleSheet>"),
		"relations":                 bomb(t, "_rels/.rels", "<Relationships>", `<Relationship Id="1"/>`, 1, strings.Repeat(" ", 1)+relationsOf(20_000)+"</Relationships>"),
		"from one end to the other": book(`<row r="1">`+inline("A1", "x")+`</row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>`, nil),
		"parts":                     many.Bytes(),
	} {
		_, err := parseAs("xlsx", string(in), readOptions{})
		if e := value.ErrorOf(err, value.Internal); err == nil || e.Kind != value.Limit || e.Limit != value.LimitMemory || !strings.HasPrefix(e.Message(), "text") {
			t.Errorf("%s: the error is %v, want a limit of memory", name, err)
		}
	}
	for name, in := range map[string][]byte{
		"rows":  bomb(t, sheet1, begin, "<row/>", 2<<20, "</sheetData></worksheet>"),
		"cells": bomb(t, sheet1, begin+`<row r="1">`, "<c/>", 100_000, "</row></sheetData></worksheet>"),
	} {
		if _, err := parseAs("xlsx", string(in), readOptions{}); err == nil || !strings.Contains(err.Error(), "after the last possible") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestXLSXUnpacked reads files that need too much memory only when they are unpacked. By default the
// limits, and the files, are smaller.
func TestXLSXUnpacked(t *testing.T) {
	t.Parallel()
	unpacked, memory := int64(maxUnpacked), int64(tool.DefaultMemory)
	if !testutil.Soak() {
		unpacked, memory = 4<<20, 10<<20
	}
	comment := "<!--" + strings.Repeat("x", 60_000) + "-->"
	for name, in := range map[string][]byte{
		"comments":     bomb(t, "xl/worksheets/sheet1.xml", "<worksheet><sheetData>", comment, int(unpacked)/len(comment)+100, "</sheetData></worksheet>"),
		"shared texts": bomb(t, "xl/sharedStrings.xml", "<sst>", "<si/>", int(memory/50), "</sst>"),
	} {
		f, err := openXLSX(t.Context(), tool.Grant{Memory: memory}, &input{name: "text", held: in, size: int64(len(in))})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f.left > maxUnpacked || f.left < maxUnpacked-1<<20 {
			t.Errorf("%s: %d bytes may be unpacked after the lists of parts and sheets, want about %d", name, f.left, maxUnpacked)
		}
		f.left -= maxUnpacked - unpacked
		_, err = f.read(&readOptions{})
		if e := value.ErrorOf(err, value.Internal); err == nil || e.Kind != value.Limit || e.Limit != value.LimitMemory {
			t.Errorf("%s: the error is %v, want a limit of memory", name, err)
		}
	}
}

func relationsOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<Relationship Id="r%d"/>`, i)
	}
	return b.String()
}

// The size of a part in an archive is not trusted.
func TestXLSXWrongSize(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	text := []byte(strings.Repeat("x", 100))
	p, err := w.CreateRaw(&zip.FileHeader{Name: "_rels/.rels", Method: zip.Store, CRC32: crc32.ChecksumIEEE(text), CompressedSize64: 1 << 40, UncompressedSize64: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	p.Write(text)
	w.Close()
	if _, err := parseAs("xlsx", b.String(), readOptions{}); err == nil {
		t.Error("no error")
	}
}

func TestXLSXIsCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in := &input{name: "text", held: book("", nil)}
	in.size = int64(len(in.held))
	if _, err := readXLSX(ctx, tool.Grant{}, in, &readOptions{}); err != context.Canceled {
		t.Errorf("the error is %v, want %v", err, context.Canceled)
	}
}

// written returns the file of excelize.
func written(t interface{ Fatal(...any) }, f *excelize.File) []byte {
	b, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestXLSXByExcelize(t *testing.T) {
	t.Parallel()
	f := excelize.NewFile()
	at := time.Date(2024, 2, 29, 13, 14, 15, 0, time.UTC)
	rows := [][]any{
		{"text", "integer", "float", "bool", "at", "rich", "formula"},
		{"é <&> \"x\"\n", 12, 1.5, true, at, nil, nil},
		{" spaces ", -7, 1e-300, false, at.AddDate(0, 1, 0), nil, nil},
		{"", 0, 3.0, nil, nil, nil, nil},
		{"_x0041_", 1 << 40, -0.1, true, at, nil, nil},
	}
	for i, row := range rows {
		if err := f.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.SetCellRichText("Sheet1", "F2", []excelize.RichTextRun{{Text: "bold", Font: &excelize.Font{Bold: true}}, {Text: " and not"}}); err != nil {
		t.Fatal(err)
	}
	if err := f.MergeCell("Sheet1", "F2", "F3"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.NewSheet("Other"); err != nil {
		t.Fatal(err)
	}
	tab, err := parseAs("xlsx", string(written(t, f)), readOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := "text:text integer:integer float:float bool:bool at:datetime rich:text formula:text \n" +
		`"é <&> \"x\"\n" 12 1.5 true "2024-02-29T13:14:15" "bold and not" null` + "\n" +
		`" spaces " -7 1e-300 false "2024-03-29T13:14:15" null null` + "\n" +
		`"" 0 3.0 null null null null` + "\n" +
		`"A" 1099511627776 -0.1 true "2024-02-29T13:14:15" null null` + "\n" +
		"note: read the sheet \"Sheet1\"; other sheets: Other\n"
	if diff := cmp.Diff(want, show(t, tab)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := f.SetCellFormula("Sheet1", "G2", "B2+1"); err != nil {
		t.Fatal(err)
	}
	if _, err := parseAs("xlsx", string(written(t, f)), readOptions{}); err == nil || !strings.Contains(err.Error(), "cell G2: the formula has no value") {
		t.Errorf("a formula without a value: the error is %v", err)
	}
}

// TestXLSXRandom checks that a random table written by excelize is read unchanged.
func TestXLSXRandom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows, columns := rapid.IntRange(1, 5).Draw(t, "rows"), rapid.IntRange(1, 4).Draw(t, "columns")
		f := excelize.NewFile()
		b := &Batch{Rows: rows}
		names := make([]string, columns)
		for i := range columns {
			names[i] = fmt.Sprintf("c%d", i)
			f.SetCellValue("Sheet1", columnLetters(i+1)+"1", names[i])
			c := newColumn(rapid.SampledFrom([]Type{Text, Integer, Float, Bool, DateTime}).Draw(t, "type"), rows)
			b.Columns = append(b.Columns, c)
			for k := range rows {
				if k > 0 && k < rows-1 && rapid.Bool().Draw(t, "missing") {
					c.addMissing()
					continue
				}
				var v any
				switch c.Type {
				case Text:
					s := rapid.StringMatching(`[a-zé<&>" 0-9_]{0,10}x`).Draw(t, "text")
					c.addText(s)
					v = s
				case Integer:
					n := rapid.Int64Range(-1<<50, 1<<50).Draw(t, "integer")
					c.addInt(n)
					v = n
				case Float:
					n := rapid.Float64Range(-1e9, 1e9).Draw(t, "float")
					if k == 0 {
						n = 0.5
					}
					c.addFloat(n)
					v = n
				case Bool:
					n := rapid.Bool().Draw(t, "bool")
					c.addInt(0)
					if n {
						c.Ints[k] = 1
					}
					v = n
				case DateTime:
					// Days after 1 March 1900, with a time.
					millis := rapid.Int64Range(-2203891200_000, 253402300799_000).Draw(t, "time")/86400_000*86400_000 + 1000*rapid.Int64Range(1, 86399).Draw(t, "second")
					if millis < -2203891200_000 {
						millis += 86400_000
					}
					c.addInt(millis * 1000)
					v = time.UnixMilli(millis).UTC()
				}
				if err := f.SetCellValue("Sheet1", fmt.Sprintf("%s%d", columnLetters(i+1), k+2), v); err != nil {
					t.Fatal(err)
				}
			}
		}
		tab, err := parseAs("xlsx", string(written(t, f)), readOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := newHeld(names, b)
		if same, err := tab.Equal(context.Background(), tool.Grant{}, want); err != nil || !same {
			t.Errorf("it is read as %v %+v (%v)", tab.types, tab.held.Columns[0], err)
		}
	})
}

func TestXLSXLargeFile(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	// Stored without compression, it is larger than what is kept in memory.
	var sheet strings.Builder
	sheet.WriteString("<worksheet><sheetData>")
	const rows = 30_000
	for i := 1; i <= rows; i++ {
		fmt.Fprintf(&sheet, `<row r="%d">%s<c r="B%d"><v>%d</v></c></row>`, i, inline(fmt.Sprintf("A%d", i), strings.Repeat("x", 250)), i, i)
	}
	sheet.WriteString("</sheetData></worksheet>")
	old, _ := zip.NewReader(bytes.NewReader(book("", nil)), int64(len(book("", nil))))
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range old.File {
		if f.Name != "xl/worksheets/sheet1.xml" {
			w.Copy(f)
		}
	}
	p, err := w.CreateHeader(&zip.FileHeader{Name: "xl/worksheets/sheet1.xml", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(p, sheet.String())
	w.Close()
	if b.Len() <= maxHeld {
		t.Fatalf("the file has %d bytes, want more than %d", b.Len(), maxHeld)
	}
	g := fileGrant(b.Bytes())
	in, err := openFile(context.Background(), g, "big.xlsx")
	if err != nil {
		t.Fatal(err)
	}
	tab, err := read(context.Background(), g, in, &readOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := tab.held.Columns[1].Ints[rows-1]; in.held != nil || tab.rows != rows || got != rows {
		t.Errorf("%d rows, the last %d, want %d", tab.rows, got, rows)
	}
}

func TestFormatOfCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]cellFormat{
		"General": formatNumber, "0.00": formatNumber, "#,##0": formatNumber, "0.00E+00": formatNumber, "@": formatNumber, `"yd"0`: formatNumber, `0\d`: formatNumber, "[Red]0": formatNumber,
		`_-* #,##0.00\ [$€-407]_-`: formatNumber, "0%": formatNumber, `0 "day`: formatNumber, "[Red": formatNumber,
		"yyyy-mm-dd": formatDate, "m/d/yy h:mm": formatDate, "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy": formatDate, "mmm": formatDate, "DD.MM.YYYY": formatDate,
		"h:mm": formatClock, "mm:ss.0": formatClock, "h:mm AM/PM": formatClock, "[h]:mm:ss": formatElapsed, "[mm]:ss": formatElapsed,
	} {
		if got := formatOfCode(code); got != want {
			t.Errorf("formatOfCode(%q) = %v, want %v", code, got, want)
		}
	}
}

func FuzzReadXLSX(f *testing.F) {
	f.Add([]byte(`<row r="1">`+inline("A1", "a")+`</row><row r="2"><c r="A2" s="1"><v>45351</v></c></row>`), false)
	f.Add(book(`<row r="1"><c r="A1"><v>1</v></c></row>`, nil), true)
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		if !whole {
			b = book(string(b), nil)
		}
		tab, err := parseAs("xlsx", string(b), readOptions{})
		if err != nil {
			return
		}
		for _, c := range tab.held.Columns {
			if c.Len() != tab.held.Rows {
				t.Errorf("a column of %d values in a table of %d rows", c.Len(), tab.held.Rows)
			}
		}
	})
}

func BenchmarkReadXLSX(b *testing.B) {
	f := excelize.NewFile()
	w, err := f.NewStreamWriter("Sheet1")
	if err != nil {
		b.Fatal(err)
	}
	const rows = 100_000
	w.SetRow("A1", []any{"id", "name", "value", "day", "ok"})
	for i := range rows {
		w.SetRow(fmt.Sprintf("A%d", i+2), []any{i, fmt.Sprintf("station %d", i%1000), float64(i) / 3, 45000 + i%365, i%2 == 0})
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	content := written(b, f)
	read := func() {
		in := &input{name: "text", held: content, size: int64(len(content))}
		if tab, err := readXLSX(context.Background(), tool.Grant{}, in, &readOptions{}); err != nil || tab.rows != rows {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		read()
	}
	ours := b.Elapsed() / max(1, timesOf(b))
	theirs := timeOf(2, func() {
		f, err := excelize.OpenReader(bytes.NewReader(content))
		if err != nil {
			b.Fatal(err)
		}
		rows, err := f.Rows("Sheet1")
		if err != nil {
			b.Fatal(err)
		}
		for rows.Next() {
			if _, err := rows.Columns(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(ours)/float64(theirs), "×excelize")
	b.ReportMetric(float64(rows*5)/ours.Seconds(), "cells/s")
}
