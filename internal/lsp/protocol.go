package lsp

import "github.com/creachadair/jrpc2"

// The part of the protocol that the server uses. The names of fields are those of the
// specification, version 3.17.

// The error codes of the protocol.
const (
	notInitialized   jrpc2.Code = -32002
	requestCancelled jrpc2.Code = -32800
)

type position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"` // in units of UTF-16
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string    `json:"uri"`
	Range textRange `json:"range"`
}

type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

type documentID struct {
	URI string `json:"uri"`
}

type initializeParams struct {
	RootURI          string                 `json:"rootUri"`
	WorkspaceFolders []documentID           `json:"workspaceFolders"`
	Capabilities     map[string]interface{} `json:"capabilities"`
}

type initializeResult struct {
	Capabilities map[string]any    `json:"capabilities"`
	ServerInfo   map[string]string `json:"serverInfo"`
}

type didOpenParams struct {
	TextDocument struct {
		URI        string `json:"uri"`
		LanguageID string `json:"languageId"`
		Version    int    `json:"version"`
		Text       string `json:"text"`
	} `json:"textDocument"`
}

type didChangeParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	} `json:"textDocument"`
	ContentChanges []struct {
		Range *textRange `json:"range"`
		Text  string     `json:"text"`
	} `json:"contentChanges"`
}

type documentParams struct {
	TextDocument documentID `json:"textDocument"`
}

type positionParams struct {
	TextDocument documentID `json:"textDocument"`
	Position     position   `json:"position"`
}

type codeActionParams struct {
	TextDocument documentID `json:"textDocument"`
	Range        textRange  `json:"range"`
}

type cancelParams struct {
	ID any `json:"id"`
}

type markup struct {
	Kind  string `json:"kind"` // "markdown"
	Value string `json:"value"`
}

type hover struct {
	Contents markup    `json:"contents"`
	Range    textRange `json:"range"`
}

type completionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []completionItem `json:"items"`
}

type completionItem struct {
	Label         string    `json:"label"`
	Kind          int       `json:"kind"`
	Detail        string    `json:"detail,omitempty"`
	Documentation *markup   `json:"documentation,omitempty"`
	SortText      string    `json:"sortText"`
	FilterText    string    `json:"filterText,omitempty"`
	TextEdit      *textEdit `json:"textEdit"`
}

type signatureHelp struct {
	Signatures      []signature `json:"signatures"`
	ActiveSignature int         `json:"activeSignature"`
	ActiveParameter *int        `json:"activeParameter,omitempty"`
}

type signature struct {
	Label         string               `json:"label"`
	Documentation markup               `json:"documentation"`
	Parameters    []signatureParameter `json:"parameters"`
}

type signatureParameter struct {
	Label         [2]uint32 `json:"label"` // from and to in the label of the signature, in units of UTF-16
	Documentation string    `json:"documentation,omitempty"`
}

type documentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail,omitempty"`
	Kind           int              `json:"kind"`
	Range          textRange        `json:"range"`
	SelectionRange textRange        `json:"selectionRange"`
	Children       []documentSymbol `json:"children,omitempty"`
}

type diagnosticItem struct {
	Range    textRange `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
}

type publishParams struct {
	URI         string           `json:"uri"`
	Version     int              `json:"version"`
	Diagnostics []diagnosticItem `json:"diagnostics"`
}

type codeAction struct {
	Title       string           `json:"title"`
	Kind        string           `json:"kind"`
	Diagnostics []diagnosticItem `json:"diagnostics"`
	IsPreferred bool             `json:"isPreferred"`
	Edit        workspaceEdit    `json:"edit"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}
