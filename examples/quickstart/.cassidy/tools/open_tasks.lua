-- Lists the tasks that are still open in the notes.

-- task reads a line of the form "- [ ] what to do", or returns nothing.
local function task(line)
  local mark, text = line:match("^%s*[-*+] %[([ xX])%] +(.-)%s*$")
  return text, mark == " "
end

-- scan adds the tasks of one file to what was found; code blocks are skipped.
local function scan(found, file, text, containing)
  local fence, section, number = nil, "", 0
  for line in (text .. "\n"):gmatch("(.-)\r?\n") do
    number = number + 1
    local mark = line:match("^%s*(```)") or line:match("^%s*(~~~)")
    if mark and (fence == nil or fence == mark) then
      fence = fence == nil and mark or nil
    elseif not fence then
      section = line:match("^#+%s+(.-)%s*$") or section
      local what, open = task(line)
      if what and what:lower():find(containing, 1, true) then
        if open then
          table.insert(found.tasks, { where = file .. ":" .. number, section = section, task = what })
        else
          found.done = found.done + 1
        end
      end
    end
  end
end

local function open_tasks(args)
  local found = { open = 0, done = 0, tasks = {} }
  for _, file in ipairs(fs.glob("**/*.md", args.path)) do
    scan(found, file, fs.read(file), args.containing:lower())
  end
  found.open = #found.tasks
  return found
end

return tool{
  description = [[List the tasks in Markdown notes that are still open.
A task is a list item that begins with [ ], or with [x] when it is done. Each is
given with its file and line, and the heading that it stands under.]],
  group = "notes",
  hints = { read_only = true, idempotent = true },
  needs = { "fs.read:notes/**" },
  params = {
    path = param("string", "Folder to look in: notes, or one below it.", { default = "notes" }),
    containing = param("string", "Only tasks with this text in them, in either case.", { default = "" }),
  },
  returns = param("object", "How many tasks are open and done, and the open ones.", {
    properties = {
      open = param("integer"),
      done = param("integer"),
      tasks = param("array", {
        items = param("object", {
          properties = { where = param("string"), section = param("string"), task = param("string") },
        }),
      }),
    },
    required = { "open", "done", "tasks" },
  }),
  examples = {
    example("Tasks about the recipes", { containing = "recipes" }, {
      open = 1,
      done = 0,
      tasks = {
        { where = "notes/handbook.md:27", section = "To do", task = "Write the recipes page." },
      },
    }),
    example("All open tasks", {}),
  },
  tags = { "markdown", "todo" },
  handler = open_tasks,
}
