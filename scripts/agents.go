package scripts

import "strings"

// AgentTemplate returns a new agent file. The description is quoted.
func AgentTemplate(name, description string) string {
	data, err := files.ReadFile("templates/agent.md")
	if err != nil {
		panic("scripts: " + err.Error()) // the file is embedded
	}
	quoted := "'" + strings.ReplaceAll(description, "'", "''") + "'"
	return strings.NewReplacer("{{description}}", quoted, "{{name}}", name).Replace(string(data))
}
