package project

import (
	"os"
	"path/filepath"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/protect"
)

// maxServersFile is the limit of a list of servers, in bytes.
const maxServersFile = 256 << 10

// PersonalPrograms returns the paths in a project that the command lines of the user's own servers name,
// see [protect.Program]. Those of the project's servers are protected without being listed.
func PersonalPrograms(home, root string) (paths []string) {
	if home == "" || root == "" {
		return nil
	}
	text, err := folder.ReadText(os.DirFS(home), "mcp.json", maxServersFile)
	if err != nil {
		return nil // nothing is started
	}
	p, err := protect.Open(root)
	if err != nil {
		return nil
	}
	defer p.Root.Close()
	for _, one := range protect.Programs(text) {
		for _, name := range p.Named(".", &one) {
			paths = append(paths, filepath.Join(root, filepath.FromSlash(name)))
		}
	}
	return paths
}
