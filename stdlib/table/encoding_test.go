package table

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/value"

	"github.com/cassidy-run/cassidy/stdlib/internal/charset"
)

// partsOf returns a text in parts of a size.
func partsOf(b []byte, size int) func() ([]byte, error) {
	return func() ([]byte, error) {
		part := b[:min(len(b), size)]
		if b = b[len(part):]; len(part) == 0 {
			return nil, io.EOF
		}
		return part, nil
	}
}

// The encoding of a text without a mark is guessed, also of a short one. What cannot be
// told from Windows-1252 is read as that.
func TestGuessEncoding(t *testing.T) {
	testutil.SkipShort(t)
	t.Parallel()
	for _, test := range []struct{ encoding, want, text string }{
		{"windows-1251", "", "имя,цена\nИван,5\n"},
		{"windows-1251", "", "Город;Население\nМосква;12 655 050\nСанкт-Петербург;5 384 342\nНОВОСИБИРСК;1 620 162\n"},
		{"windows-1251", "", "name,note\nO'Brien,не звонить\nИванов,ООО «Ромашка»\n"},
		{"koi8-r", "", "имя,цена\nИван,5\n"},
		{"koi8-r", "", "тест\n"},
		{"koi8-r", "", "Город;Население\nМосква;12 655 050\nСанкт-Петербург;5 384 342\n"},
		{"shift_jis", "", "名前,値\n日本,5\n"},
		{"shift_jis", "", "商品名,価格\nコーヒー,300\nお茶,150\n"},
		{"shift_jis", "", "氏名,住所\n山田太郎,東京都千代田区丸の内１－１\n佐藤花子,大阪府大阪市北区\n"},
		{"gbk", "", "姓名,值\n张三,5\n"},
		{"gbk", "", "城市,人口\n北京,2189\n上海,2487\n"},
		{"gbk", "", "北京\n"},
		{"gb18030", "gbk", "订单编号,客户姓名,金额（元）\n1001,李小龙,￥300\n1002,王菲,￥200\n"},
		{"euc-kr", "", "이름,값\n서울,5\n"},
		{"euc-kr", "", "도시,인구\n부산,340만\n대전,150만\n홍길동,전화번호 없음\n"},
		{"big5", "", "姓名,城市\n陳大文,臺北\n王小明,高雄\n"},
		{"euc-jp", "", "商品名,価格\nコーヒー,300\nお茶とケーキ,150\n"},
		{"windows-1252", "", "name,city\nJosé,Zürich\nFrançois,Orléans\n"},
		{"windows-1252", "", "Größe;Länge\n"},
		{"windows-1252", "", "“It’s” – don’t, we’ll, I’d, can’t, they’re\n"},
		{"windows-1252", "", "ÄÖÜ\nÅÄÖ\n"},
		{"windows-1252", "", "año,ñandú\nsí,€5\nÉléonore,Œuvre\nnaïve,Çà et là\n"},
		{"windows-1250", "windows-1252", "Łódź,Kraków\nZażółć gęślą jaźń\n"},
		{"windows-1253", "windows-1252", "όνομα,πόλη\nΓιώργος,Αθήνα\n"},
		{"windows-1255", "windows-1252", "שם,עיר\nדוד,ירושלים\n"},
	} {
		_, e := charset.Legacy(test.encoding)
		in, err := e.NewEncoder().Bytes([]byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		want := test.want
		if want == "" {
			want = test.encoding
		}
		for _, repeat := range []int{1, 3, testutil.Times(4000, 20_000)} {
			in := bytes.Repeat(in, repeat)
			got, err := guessEncoding("text", partsOf(in, 40_001))
			if err != nil || got != want {
				t.Errorf("%s, %d times %q: %s, %v", test.encoding, repeat, test.text, got, err)
			}
		}
	}
}

func TestNamedEncodings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, usual, in, want string }{
		{"cp1251", "windows-1251", "a\n\xfd\n", "э"},
		{"Windows1251", "windows-1251", "a\n\xfd\n", "э"},
		{"win-1250", "windows-1250", "a\n\xa3\n", "Ł"},
		{"Shift_JIS", "shift_jis", "a\n\x93\xfa\n", "日"},
		{"cp932", "shift_jis", "a\n\x93\xfa\n", "日"},
		{"GB2312", "gbk", "a\n\xd5\xc5\n", "张"},
		{"gb18030", "gb18030", "a\n\x84\x31\xa4\x37\n", "\ufffd"},
		{"big-5", "", "", ""},
		{"EUC-KR", "euc-kr", "a\n\xbc\xad\n", "서"},
		{"koi8_r", "koi8-r", "a\n\xc1\n", "а"},
		{"iso_8859-2", "iso-8859-2", "a\n\xa3\n", "Ł"},
		{"latin2", "iso-8859-2", "a\n\xa3\n", "Ł"},
		{"iso-8859-1", "latin-1", "a\n\xe9\n", "é"},
		{"mac", "macintosh", "a\n\x8e\n", "é"},
		{"MacRoman", "macintosh", "a\n\x8e\n", "é"},
		{"cp850", "cp850", "a\n\x82\n", "é"},
		{"iso-2022-jp", "iso-2022-jp", "a\n\x1b$BF|\x1b(B\n", "日"},
		{"replacement", "", "", ""},
		{"x-user-defined", "", "", ""},
		{"utf-7", "", "", ""},
	} {
		usual, err := parseEncoding(test.name)
		if usual != test.usual || (err == nil) == (test.usual == "") {
			t.Errorf("%s: %q, %v", test.name, usual, err)
		}
		if err != nil {
			continue
		}
		o := csvOptions()
		o.encoding = test.name
		o.lenient = test.want == "\ufffd"
		got, err := csvBytes([]byte(test.in), o)
		if err != nil || got.held.Columns[0].Texts[0] != test.want {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
	o := csvOptions()
	o.encoding = "gbk"
	_, err := csvBytes([]byte("a\n\xd5\xc5\n\xff\n"), o)
	if e := value.ErrorOf(err, value.Internal); err == nil || e.Message() != "text, line 3: character 1 is not gbk" || !strings.Contains(e.Hint, "lenient") {
		t.Errorf("invalid: %v", err)
	}
	o.lenient = true
	got, err := csvBytes([]byte("a\n\xd5\xc5\n\xff\n"), o)
	if err != nil || strings.Join(got.notes, ";") != `1 character is not gbk, the first on line 3: read as `+"\ufffd"+`; if the encoding is another, pass it, as in encoding = "utf-8"` {
		t.Errorf("lenient: %v, %v", got, err)
	}
}
