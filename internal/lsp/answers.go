package lsp

import (
	"context"
	"fmt"
	"strings"

	"github.com/creachadair/jrpc2"

	"github.com/cassidy-run/cassidy/internal/assist"
)

// at returns a document and the offset of a position in it. doc is nil if it is not open.
func (s *server) at(p *positionParams) (doc *document, offset int) {
	doc = s.documents.get(p.TextDocument.URI)
	if doc == nil {
		return nil, 0
	}
	return doc, offsetOf(doc.read.Text, p.Position)
}

func (s *server) world() *assist.World { return s.project.Load().World() }

func (s *server) hover(_ context.Context, p *positionParams) (any, error) {
	doc, offset := s.at(p)
	if doc == nil {
		return nil, nil
	}
	text, at, ok := doc.read.Hover(s.world(), offset)
	if !ok {
		return nil, nil
	}
	return &hover{Contents: markup{"markdown", text}, Range: rangeOf(doc.read.Text, at)}, nil
}

// itemKinds are the kinds of items in the protocol.
var itemKinds = map[assist.ItemKind]int{
	assist.ItemFunction: 3, assist.ItemModule: 9, assist.ItemVariable: 6, assist.ItemArgument: 10, assist.ItemField: 5,
	assist.ItemText: 12, assist.ItemTool: 3, assist.ItemConstant: 21,
}

func (s *server) completion(ctx context.Context, p *positionParams) (any, error) {
	list := &completionList{Items: []completionItem{}}
	doc, offset := s.at(p)
	if doc == nil {
		return list, nil
	}
	items, replaces := doc.read.Complete(s.world(), offset)
	at := rangeOf(doc.read.Text, replaces)
	for i, item := range items {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c := completionItem{
			Label: item.Label, Kind: itemKinds[item.Kind], Detail: item.Detail, SortText: fmt.Sprintf("%05d", i),
			TextEdit: &textEdit{at, item.Insert},
		}
		if item.Doc != "" {
			c.Documentation = &markup{"markdown", item.Doc}
		}
		list.Items = append(list.Items, c)
	}
	return list, nil
}

func (s *server) signatureHelp(_ context.Context, p *positionParams) (any, error) {
	doc, offset := s.at(p)
	if doc == nil {
		return nil, nil
	}
	found := doc.read.Signature(s.world(), offset)
	if found == nil {
		return nil, nil
	}
	sig := signature{Label: found.Label, Documentation: markup{"markdown", found.Doc}, Parameters: []signatureParameter{}}
	for i, at := range found.Params {
		label := [2]uint32{positionOf(found.Label, at.Start).Character, positionOf(found.Label, at.End).Character}
		sig.Parameters = append(sig.Parameters, signatureParameter{label, found.Docs[i]})
	}
	help := &signatureHelp{Signatures: []signature{sig}}
	if found.Active >= 0 {
		help.ActiveParameter = &found.Active
	}
	return help, nil
}

func (s *server) definition(_ context.Context, p *positionParams) (any, error) {
	doc, offset := s.at(p)
	if doc == nil {
		return nil, nil
	}
	t, ok := doc.read.Definition(s.world(), offset)
	if !ok {
		return nil, nil
	}
	if t.Path == "" {
		return &location{doc.uri, rangeOf(doc.read.Text, t.At)}, nil
	}
	return &location{uriOf(t.Path), rangeOf(t.Text, t.At)}, nil
}

func (s *server) symbols(_ context.Context, p *documentParams) (any, error) {
	doc := s.documents.get(p.TextDocument.URI)
	if doc == nil {
		return []documentSymbol{}, nil
	}
	read := doc.read
	if !read.HasAllParts() && doc.last != nil {
		read = doc.last // the text is being edited
	}
	return symbolsOf(newIndex(read.Text), read.Symbols()), nil
}

func symbolsOf(x *index, symbols []assist.Symbol) []documentSymbol {
	const isFunction, isObject = 12, 19
	list := []documentSymbol{}
	for _, sym := range symbols {
		kind := isObject
		if sym.Function {
			kind = isFunction
		}
		list = append(list, documentSymbol{
			Name: sym.Name, Detail: sym.Detail, Kind: kind, Range: x.textRange(sym.Span), SelectionRange: x.textRange(sym.At),
			Children: symbolsOf(x, sym.Inner),
		})
	}
	return list
}

func (s *server) formatting(_ context.Context, p *documentParams) (any, error) {
	edits := []textEdit{}
	doc := s.documents.get(p.TextDocument.URI)
	if doc == nil || doc.tooLong || doc.read.Kind == assist.Lua { // Lua has no canonical layout
		return edits, nil
	}
	name := doc.path
	if name == "" {
		name = doc.uri
	}
	text, err := s.project.Load().Format(name, doc.read.Text)
	if err != nil {
		return nil, jrpc2.Errorf(jrpc2.Code(-32803), "format: %s", strings.TrimSpace(err.Error()))
	}
	if text != doc.read.Text {
		all := textRange{End: positionOf(doc.read.Text, len(doc.read.Text))}
		edits = append(edits, textEdit{all, text})
	}
	return edits, nil
}
