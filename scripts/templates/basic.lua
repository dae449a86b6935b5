-- My Tool: turns a text into a short name.
--
-- Made from the template "basic". Change the handler and the comment above it, by
-- which a model decides when to call the tool; then see Testing below.

--- Turn a text into a short name for files and addresses.
---
--- Use this when a title has to become a file name or a part of an address.
---@param input string The text, as in "Hello World".
---@return string
---@example Make a name of a title { input = "Hello World" }, "hello-world"
local function my_tool(args)
  local name = text.slug(args.input)
  if name == "" then
    error('input holds no letter or digit: give some text, as in "Hello World"', 0)
  end
  return name
end

return tool{
  title = "My Tool",
  group = "custom",
  hints = { read_only = true, idempotent = true },
  needs = {},
  params = { input = { min_length = 1, max_length = 1000 } },
  tags = { "text" },
  handler = my_tool,
}

-- Testing:
--
--   cassidy tool validate my-tool
--   cassidy tool run my-tool input="Hello World"
--   cassidy tool run my-tool input="?"             (an error that says what to give)
--   cassidy tool example my-tool                   (the result must be what the example expects)
