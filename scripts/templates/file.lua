-- My Tool: reads a text file and reports on it.
--
-- Made from the template "file". Files are accessed only through fs,
-- and only as far as needs allows: fs.read:docs/** would allow the files in docs.

-- _first returns the first of a list's items.
local function _first(items, count)
  local picked = {}
  for i = 1, math.min(count, #items) do
    picked[i] = items[i]
  end
  return picked
end

local function my_tool(args)
  if not fs.exists(args.filepath) then
    error("File not found: " .. args.filepath, 0)
  end
  local found = fs.stat(args.filepath)
  if found.kind ~= "file" then
    error(args.filepath .. " is not a file: give the path of a text file", 0)
  end
  local content = fs.read(args.filepath)
  local counts = text.count(content)
  return {
    path = args.filepath,
    bytes = found.size,
    modified = found.modified,
    lines = counts.lines,
    words = counts.words,
    characters = counts.characters,
    preview = _first(text.lines(content), args.preview),
  }
end

return tool{
  title = "My Tool",
  description = [[Report on a text file: its size, words and beginning.

Use this to get an idea of a file before reading all of it.]],
  group = "files",
  hints = { read_only = true, idempotent = true },
  needs = { "fs.read" },
  params = {
    filepath = param("string", "The file, relative to the working directory.", { required = true, min_length = 1 }),
    preview = param("integer", "How many of its first lines to show.", { default = 3, min = 0, max = 100 }),
  },
  returns = "object",
  examples = {
    example("Report on the project's settings", { filepath = ".cassidy/config.yaml", preview = 1 }),
  },
  tags = { "io", "read" },
  handler = my_tool,
}

-- Testing:
--
--   cassidy tool validate my-tool
--   cassidy tool run my-tool filepath=.cassidy/config.yaml
--   cassidy tool run my-tool filepath=nowhere.txt          (an error that says what is wrong)
--   cassidy tool example my-tool
