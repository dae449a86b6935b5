package project

import (
	"path/filepath"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
)

// Watched returns the files and folders on which the tools, skills, agents, scripts and rules of
// the project in dir and of its user depend, also those that do not exist. An empty dir means no
// project.
func Watched(dir string, o *Options) []string {
	var homes, paths []string
	if dir != "" && o.Files == nil {
		homes = append(homes, filepath.Join(dir, folder.Name))
		for _, other := range append(trust.OtherAgents(), trust.OtherSkills()...) {
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(other)))
		}
		if records := o.Trust.Folder(dir); records != "" {
			paths = append(paths, records)
		}
	}
	if o.Home != "" {
		homes = append(homes, o.Home)
		if records := o.Trust.Folder(o.Home); records != "" { // the tools of the user's own servers
			paths = append(paths, records)
		}
	}
	for _, other := range trust.OtherSkills() {
		if o.UserDir != "" {
			paths = append(paths, filepath.Join(o.UserDir, filepath.FromSlash(other)))
		}
	}
	for _, home := range homes {
		for _, name := range []string{"tools", workflowsDir, policiesDir, agentsDir, skill.Dir, hooksFile, "config.yaml", "mcp.json"} {
			paths = append(paths, filepath.Join(home, name))
		}
	}
	if o.Config != "" {
		paths = append(paths, o.Config)
	}
	return paths
}
