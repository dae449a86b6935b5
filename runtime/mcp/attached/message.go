package attached

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// maxParts and maxDepth bound what a message may hold, besides its length: a list of empty
	// lists takes much more memory than text. A set is the largest result that is no text.
	maxParts = maxSetParts
	maxDepth = maxSetDepth + 8
)

// bounded returns a message of a server as the SDK may read it, or nil if it is not one. The
// definition of a tool, the result of a call and a form become JSON texts in a field, see [textOf]: the
// SDK would not keep the order of fields and large integers, and refuse what it does not know. An answer that is too large becomes an error.
func bounded(line []byte) []byte {
	v, err := value.ReadJSON(line, maxDepth, maxParts)
	if err != nil {
		return refused(line, err)
	}
	if list, ok := v.(value.List); ok && len(list) == 1 { // a batch, which one version of the protocol has
		v = list[0]
	}
	message, ok := v.(*value.Dict)
	if !ok {
		return nil
	}
	if id, ok := message.Get("id"); ok && !message.Has("method") {
		message.Put("id", numberOf(id))
	}
	if message.Text("method") == "elicitation/create" {
		message.Put("params", value.NewDict("mode", "form", "message", jsonOf(message.Dict("params").OrEmpty())))
	} else if result := message.Dict("result"); result.Has("tools") {
		for _, v := range result.Elements("tools") {
			if d, ok := v.(*value.Dict); ok {
				text := jsonOf(d)
				headers := headersOf(d.Dict("inputSchema"))
				*d = *value.NewDict("name", d.Text("name"), "description", text, "inputSchema", headers)
			}
		}
	} else if result.Has("content") || result.Has("structuredContent") || result.Text("resultType") == inputRequired {
		short := value.NewDict("content", value.List{}, "structuredContent", jsonOf(result))
		if kind, ok := result.Get("resultType"); ok {
			short.Put("resultType", kind)
		}
		message.Put("result", short)
	}
	return []byte(jsonOf(message))
}

// inputRequired is the resultType of a result that asks for input.
const inputRequired = "input_required"

// headersOf returns what the SDK needs of the schema of a tool: which parameters are also sent as
// headers, by the keyword x-mcp-header, and their types. Over HTTP, the SDK sends these headers, and
// leaves out tools with invalid ones.
func headersOf(schema *value.Dict) *value.Dict {
	kept, properties := value.NewDict("type", "object"), &value.Dict{}
	for name, v := range schema.Dict("properties").OrEmpty().All() {
		property, _ := v.(*value.Dict)
		inner := headersOf(property)
		header, has := property.Get(headerKeyword)
		if has {
			inner.Put("type", property.Text("type"))
			inner.Put(headerKeyword, header)
		}
		if has || inner.Has("properties") {
			properties.Put(name.(string), inner) // the keys of JSON are strings
		}
	}
	if properties.Len() > 0 {
		kept.Put("properties", properties)
	}
	return kept
}

const headerKeyword = "x-mcp-header"

// jsonOf returns the JSON of a value that was read from JSON.
func jsonOf(v value.Value) string {
	b, _ := value.AppendJSON(nil, v)
	return string(b)
}

// textOf returns the object whose JSON text bounded has put into a field.
func textOf(field any) *value.Dict {
	text, _ := field.(string)
	v, _ := value.ParseJSONWithin([]byte(text), maxDepth, maxParts)
	d, _ := v.(*value.Dict)
	return d
}

// refused returns the error that replaces an answer which cannot be read, or nil for a line that
// answers nothing.
func refused(line []byte, err error) []byte {
	id, ok := answers(line)
	if !ok {
		return nil
	}
	return failing(id, "the answer cannot be read: "+value.ErrorOf(err, value.Invalid).Message())
}

// failing returns the answer to a request that it has failed.
func failing(id value.Value, text string) []byte {
	return []byte(jsonOf(value.NewDict("jsonrpc", "2.0", "id", id, "error", value.NewDict("code", -32603, "message", text))))
}

// answerTo returns the message that a server has sent as the answer to a request over HTTP, or an error if it
// is none, or that of another request. id is nil if nothing was asked.
func answerTo(id value.Value, line []byte) []byte {
	message := bounded(line)
	if id == nil {
		return message
	}
	if message == nil {
		return failing(id, "the answer is not a message of the protocol: "+value.Clean(string(bytes.TrimSpace(line)), maxShownName))
	}
	if of, isAnswer := answers(message); isAnswer && of != id {
		return failing(id, "the server answered another request: "+value.Clean(fmt.Sprint(of), maxShownName))
	}
	return message
}

// askedBy returns the ID of the request that a request of HTTP carries, or nil.
func askedBy(r *http.Request) value.Value {
	if r.Method != http.MethodPost || r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	var head struct {
		ID     *int64 `json:"id"`
		Method string `json:"method"`
	}
	if json.NewDecoder(body).Decode(&head) != nil || head.ID == nil || head.Method == "" {
		return nil
	}
	return *head.ID
}

// numberOf returns the ID of an answer as a number, as all requests have one: some servers answer 1 with
// "1".
func numberOf(id value.Value) value.Value {
	if text, ok := id.(string); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	return id
}

// answers returns the ID of the request that a line answers. ok is false for one that is not an answer.
// The line may be nested deeper than what encoding/json decodes.
func answers(line []byte) (id value.Value, ok bool) {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(line, []byte("\ufeff"))))
	d.UseNumber()
	depth, name := 0, ""
	for {
		token, err := d.Token()
		if err != nil { // the end, or no JSON
			return id, ok
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			name = ""
			continue
		}
		if depth != 1 {
			continue
		}
		switch text, _ := token.(string); {
		case name == "":
			name = text
			continue
		case name == "method":
			return nil, false
		case name == "id":
			id, ok = token, true
			if n, isNumber := token.(json.Number); isNumber {
				id = string(n)
			}
			id = numberOf(id)
		}
		name = ""
	}
}

// answeredBy is answers with the ID as the SDK has it.
func answeredBy(line []byte) (id jsonrpc.ID, ok bool) {
	v, ok := answers(line)
	if n, isInt := v.(int64); isInt {
		v = float64(n)
	}
	id, err := jsonrpc.MakeID(v)
	return id, ok && err == nil
}
