-- My Tool: looks into a table of comma-separated values.
--
-- Made from the template "data_operation". An operation is a function of the
-- table: to add one, write it and name it in the handler and the description.

-- _source returns the CSV text: data itself, or the file that it names.
local function _source(data)
  if data:find("\n", 1, true) then
    return data
  end
  if not fs.exists(data) then
    error("File not found: " .. data .. " (CSV text needs a header line and at least one row)", 0)
  end
  return fs.read(data)
end

-- _column sums up one column; a cell that is empty is missing.
local function _column(records, name)
  local missing, distinct, seen, numbers = 0, 0, {}, {}
  for _, record in ipairs(records) do
    local value = record[name]
    if value == null then
      missing = missing + 1
    elseif not seen[value] then
      seen[value] = true
      distinct = distinct + 1
    end
    if type(value) == "number" then
      table.insert(numbers, value)
    end
  end
  if #numbers == 0 or #numbers + missing < #records then
    return { type = "text", missing = missing, distinct = distinct }
  end
  table.sort(numbers)
  local mean = math.round(math.mean(numbers), 3)
  return { type = "number", missing = missing, min = numbers[1], max = numbers[#numbers], mean = mean }
end

-- _head returns the first records.
local function _head(records, count)
  local picked = {}
  for i = 1, math.min(count, #records) do
    picked[i] = records[i]
  end
  return picked
end

local function my_tool(args)
  local operation = args.operation
  if operation ~= "summary" and operation ~= "head" and operation ~= "names" then
    error("Unknown operation: " .. operation .. " (give summary, head or names)", 0)
  end
  local source = _source(args.data)
  local cells = csv.parse(source, { header = false })
  if #cells == 0 then
    error("the table is empty: give a header line and at least one row", 0)
  end
  if operation == "names" then
    return { columns = cells[1] }
  end
  local records = csv.parse(source, { types = true })
  if operation == "head" then
    return { rows = _head(records, args.rows) }
  end
  local columns = {}
  for _, name in ipairs(cells[1]) do
    columns[name] = _column(records, name)
  end
  return { rows = #records, columns = columns }
end

return tool{
  title = "My Tool",
  description = [[Look into a table: sum it up, or show some of it.

Use this to learn what is in a CSV file or text before working with it.]],
  group = "data",
  hints = { read_only = true, idempotent = true },
  needs = { "fs.read" },
  params = {
    data = param("string", "The path of a CSV file, or CSV text with a header line.", { required = true, min_length = 1 }),
    operation = param("string", "summary (rows, and what is in each column), head (the first rows) or names (of the columns).", {
      default = "summary",
    }),
    rows = param("integer", "How many rows head gives.", { default = 5, min = 1, max = 1000 }),
  },
  returns = "object",
  examples = {
    example("Sum up a small table", { data = "name,score\nAda,9\nGrace,8\n" }, {
      rows = 2,
      columns = {
        name = { type = "text", missing = 0, distinct = 2 },
        score = { type = "number", missing = 0, min = 8, max = 9, mean = 8.5 },
      },
    }),
  },
  tags = { "csv", "table" },
  handler = my_tool,
}

-- Testing:
--
--   cassidy tool validate my-tool
--   cassidy tool run my-tool --input '{"data": "name,score\nAda,9\nGrace,8\n", "operation": "head"}'
--   cassidy tool run my-tool data=nowhere.csv                  (an error that says what is wrong)
--   cassidy tool example my-tool                               (what the example expects must come out)
