package table

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	spreadsheet = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	relations   = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
)

// strictly replaces the namespaces of the transitional form by those of the strict one.
var strictly = strings.NewReplacer(
	spreadsheet, "http://purl.oclc.org/ooxml/spreadsheetml/main",
	relations, "http://purl.oclc.org/ooxml/officeDocument/relationships")

// Extensions reuse the names of the standard, in other namespaces and at other places.
func TestXLSXExtensions(t *testing.T) {
	t.Parallel()
	const (
		spaces   = ` xmlns="` + spreadsheet + `" xmlns:m="` + spreadsheet + `" xmlns:r="` + relations + `" xmlns:x="http://schemas.microsoft.com/office/spreadsheetml/2010/11/main" xmlns:mc="` + markup + `"`
		workbook = "xl/workbook.xml"
		styles   = "xl/styles.xml"
		texts    = "xl/sharedStrings.xml"
		sheet    = "xl/worksheets/sheet1.xml"
		sheets   = `<sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets>`
		day      = `<sheetData><row r="1"><c r="A1" s="1"><v>43844</v></c></row></sheetData>`
		in1904   = "column_1:date \n\"2024-01-15\"\n"
		in1900   = "column_1:date \n\"2020-01-14\"\n"
		custom   = `<cellXfs><xf numFmtId="0"/><xf numFmtId="200"/></cellXfs>`
	)
	in := func(root, content string) string { return "<" + root + spaces + ">" + content + "</" + root + ">" }
	all := map[string]string{ // the default parts, in their namespaces
		workbook: in("workbook", "<workbookPr/>"+sheets),
		styles:   in("styleSheet", `<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>`),
		texts:    in("sst", "<si><t>a</t></si>"),
		sheet:    in("worksheet", day),
		"xl/_rels/workbook.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="` + relations + `/worksheet" Target="worksheets/sheet1.xml"/>
			<Relationship Id="rId2" Type="` + relations + `/sharedStrings" Target="sharedStrings.xml"/><Relationship Id="rId3" Type="` + relations + `/styles" Target="styles.xml"/></Relationships>`,
	}
	for _, test := range []struct{ name, part, content, want string }{
		{"as it is", workbook, all[workbook], in1900},
		{"properties of an extension", workbook, in("workbook", `<workbookPr date1904="1"/>`+sheets+`<extLst><ext><x:workbookPr chartTrackingRefBase="1"/></ext></extLst>`), in1904},
		{"and before", workbook, in("workbook", `<x:workbookPr date1904="1"/><workbookPr/>`+sheets), in1900},
		{"only there", workbook, in("workbook", sheets+`<extLst><ext><x:workbookPr date1904="1"/><m:workbookPr date1904="1"/></ext></extLst>`), in1900},
		{"with a prefix", workbook, in("m:workbook", `<m:workbookPr date1904="true"/><m:sheets><m:sheet name="One" r:id="rId1"/></m:sheets><workbookPr xmlns="other"/>`), in1904},
		{"another prefix", workbook, in("workbook", `<q:workbookPr xmlns:q="`+spreadsheet+`" date1904="1"/>`+sheets+`<q:workbookPr/>`), in1904},
		{"no namespace", workbook, `<workbook xmlns:r="` + relations + `"><workbookPr date1904="1"/>` + sheets + `<x:workbookPr/></workbook>`, in1904},
		{"sheets of an extension", workbook, in("workbook", `<x:sheets><x:sheet name="No" r:id="rId1"/></x:sheets>`+sheets+`<extLst><ext><m:sheet name="No" r:id="rId1"/></ext></extLst>`), in1900},
		{"two ids", workbook, in("workbook", `<sheets><sheet name="One" x:id="rId9" r:id="rId1"/></sheets>`), in1900},
		{"cells of an extension", sheet, in("worksheet", `<x:sheetData><x:row r="1"/></x:sheetData><extLst><ext><m:sheetData/></ext></extLst>`+day), in1900},
		{"rows of an extension", sheet, in("worksheet", `<sheetData><x:row r="7"/><row r="1"><x:c r="A1"><v>5</v></x:c><c r="A1" s="1"><x:v>1</x:v><v>43844</v><x:v>2</x:v><x:f>A2</x:f></c></row></sheetData>`), in1900},
		{"alternatives", sheet, in("worksheet", `<mc:AlternateContent><mc:Choice Requires="x"><sheetData/></mc:Choice><mc:Fallback>`+day+`</mc:Fallback></mc:AlternateContent>`), in1900},
		{"styles of an extension", styles, in("styleSheet", `<x:cellXfs><x:xf numFmtId="0"/><x:xf numFmtId="0"/></x:cellXfs><extLst><ext><m:cellXfs><m:xf numFmtId="0"/><m:xf numFmtId="0"/></m:cellXfs></ext></extLst><cellXfs><x:xf numFmtId="0"/><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>`), in1900},
		{"formats of an extension", styles, in("styleSheet", `<numFmts><numFmt numFmtId="200" formatCode="d/m/yy"/><x:numFmt numFmtId="200" formatCode="0"/></numFmts>`+custom+`<extLst><ext><m:numFmts><m:numFmt numFmtId="200" formatCode="0"/></m:numFmts></ext></extLst>`), in1900},
		{"formats in alternatives", styles, in("styleSheet", `<numFmts><mc:AlternateContent><mc:Choice Requires="x"><numFmt numFmtId="200" formatCode="0"/></mc:Choice><mc:Fallback><numFmt numFmtId="200" formatCode="d/m/yy"/></mc:Fallback></mc:AlternateContent></numFmts>`+custom), in1900},
		{"relations of an extension", "xl/_rels/workbook.xml.rels", strings.Replace(all["xl/_rels/workbook.xml.rels"], "<Relationship ", `<Relationship Id="r9" Type="http://schemas.microsoft.com/office/2017/06/relationships/styles" Target="none.xml"/><Relationship Id="r8" Type="`+relations+`/sharedStrings" Target="file:///c:/none.xml" TargetMode="External"/><Relationship `, 1), in1900},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			parts := maps.Clone(all)
			parts[test.part] = test.content
			expect(t, parts, test.want)
			for name := range parts {
				parts[name] = strictly.Replace(parts[name])
			}
			expect(t, parts, test.want)
		})
	}
	parts := maps.Clone(all)
	parts[sheet] = in("worksheet", `<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row><row r="2"><c r="A2"><v>1</v></c></row></sheetData>`)
	parts[texts] = in("sst", `<x:si><x:t>no</x:t></x:si><extLst><ext><m:si><m:t>no</m:t></m:si></ext></extLst><si><x:t>no</x:t><t>a</t></si><si><x:r><t>no</t></x:r><r><t>b</t></r></si>`)
	expect(t, parts, "a:integer b:text \n1 null\n")
}

func expect(t *testing.T, parts map[string]string, want string) {
	t.Helper()
	tab, err := parseAs("xlsx", string(book("", parts)), readOptions{})
	if err != nil {
		t.Error(err)
	} else if diff := cmp.Diff(want, show(t, tab)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
