// Package sourcetest parses the Go files of the repository for tests about the source.
package sourcetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// A File is a Go file.
type File struct {
	Name string // its path from the root, with slashes
	Dir  string // the path of its folder from the root; "." for the root
	AST  *ast.File
	Set  *token.FileSet // with the positions in AST
	Test bool           // its name ends in _test.go
}

// Files returns the Go files in a folder, sorted by their names, without those in folders that are
// named testdata, begin with a dot or are a module of their own.
func Files(root string) ([]File, error) {
	var files []File
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root {
			module, _ := filepath.Glob(filepath.Join(name, "go.mod"))
			if strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || module != nil {
				return fs.SkipDir
			}
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		files = append(files, File{Name: rel, Dir: path.Dir(rel), AST: file, Set: set, Test: strings.HasSuffix(rel, "_test.go")})
		return err
	})
	return files, err
}

// Where returns the file and line of a node.
func (f *File) Where(n ast.Node) string {
	return f.Set.Position(n.Pos()).String()
}
