-- My Tool: runs a command, and reads its output.
--
-- Made from the template "command". Change the command, the description (by which a model decides when to call
-- the tool) and the test in my-tool_test.star; then see Testing below.

local function my_tool(args)
  local r = shell.run({ "git", "log", "-n", tostring(args.count), "--format=%h %s" })
  if r.exit_code ~= 0 then
    error("git log failed: " .. r.stderr, 0)
  end
  local commits = {}
  for line in r.stdout:gmatch("[^\n]+") do
    local hash, subject = line:match("^(%S+) (.*)$")
    table.insert(commits, { hash = hash, subject = subject })
  end
  return commits
end

return tool{
  title = "My Tool",
  description = [[List the newest commits of the project.]],
  group = "custom",
  hints = { read_only = true },
  needs = { "shell:git" }, -- a command that changes anything also needs "shell:sh", and "fs.write" for files
  params = { count = param("integer", "How many.", { default = 5, min = 1, max = 100 }) },
  returns = "array<object>",
  examples = { example("The newest two", { count = 2 }, { { hash = "b2", subject = "Second" }, { hash = "a1", subject = "First" } }) },
  tags = { "git" },
  handler = my_tool,
}

-- Testing:
--
--   cassidy test my-tool                   (with the fakes in my-tool_test.star: git is not run)
--   cassidy trust                          (after a change of needs, such as another command)
--   cassidy tool run my-tool
