-- My Tool: looks into a table.
--
-- Made from the template "table". An operation is a function of the
-- table: to add one, write it and name it in the handler and the description.

-- _table reads the table: source is its text, or names its file.
local function _table(source)
  if source:find("\n", 1, true) then
    return data.parse(source)
  end
  if not fs.exists(source) then
    error("File not found: " .. source .. " (to pass CSV text, include a header line and at least one row)", 0)
  end
  return data.read(source)
end

-- _summary summarizes each column; data.read detects the types.
local function _summary(t)
  return t:summary():select("column", "type", "missing", "distinct", "min", "max", "mean")
end

local function my_tool(args)
  local operation = args.operation
  if operation ~= "summary" and operation ~= "head" and operation ~= "names" then
    error("Unknown operation: " .. operation .. " (give summary, head or names)", 0)
  end
  local t = _table(args.source)
  if operation == "names" then
    return { columns = t.columns }
  end
  if operation == "head" then
    return { rows = t:head(args.rows) }
  end
  return { rows = #t, columns = _summary(t) }
end

return tool{
  title = "My Tool",
  description = [[Look into a table: sum it up, or show some of it.

Use this to learn what is in a table before working with it.]],
  group = "data",
  hints = { read_only = true, idempotent = true },
  needs = { "fs.read" },
  params = {
    source = param("string", "The path of a file (CSV, TSV, JSON, JSON Lines, XLSX), or CSV text with a header line.", {
      required = true,
      min_length = 1,
    }),
    operation = param("string", "summary (rows, and what is in each column), head (the first rows) or names (of the columns).", {
      default = "summary",
    }),
    rows = param("integer", "How many rows head gives.", { default = 5, min = 1, max = 1000 }),
  },
  returns = "object",
  examples = {
    example("Sum up a small table", { source = "name,score\nAda,9\nGrace,8\n" }, {
      rows = 2,
      columns = {
        { column = "name", type = "text", missing = 0, distinct = 2, min = "Ada", max = "Grace", mean = null },
        { column = "score", type = "integer", missing = 0, distinct = 2, min = 8, max = 9, mean = 8.5 },
      },
    }),
  },
  tags = { "csv", "table" },
  handler = my_tool,
}

-- Testing:
--
--   cassidy tool validate my-tool
--   cassidy tool run my-tool --input '{"source": "name,score\nAda,9\nGrace,8\n", "operation": "head"}'
--   cassidy tool run my-tool source=nowhere.csv                  (an error that says what is wrong)
--   cassidy tool example my-tool                               (the result must be what the example expects)
