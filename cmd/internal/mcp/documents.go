package mcp

import (
	"context"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/mcp"
)

// contextURI is the resource with what a model should know of the project.
const contextURI = "cassidy://context"

// prompts returns the skills that may be used.
func (c *command) prompts(root string) func() []mcp.Document {
	return func() (list []mcp.Document) {
		skills, _ := skill.List(root, c.Scope()) // doctor and skill list report broken ones
		for i := range skills {
			s := &skills[i]
			if !s.Trusted {
				continue
			}
			list = append(list, mcp.Document{Name: s.Key, Title: s.Title, Description: s.Description, Read: func(context.Context) (string, error) {
				loaded, err := skill.Load(root, c.Scope(), s.Key)
				return loaded.Text, err
			}})
		}
		return list
	}
}

// resources returns the notes about the project.
func (c *command) resources(root string) func() []mcp.Document {
	return func() []mcp.Document {
		return []mcp.Document{{
			Name: contextURI, Title: "Project context", Description: "The notes, skills and files of the project.",
			Read: func(ctx context.Context) (string, error) { return project.Context(ctx, root, c.Scope(), "standard") },
		}}
	}
}
