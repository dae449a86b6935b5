-- Groups yearly measurements by decade.

local function decades(args)
  local measured = data.read(args.path):drop_missing(args.column)
  local decade = function(row) return row[args.year] - row[args.year] % 10 end
  return measured
    :add_column("decade", decade)
    :group_by("decade")
    :agg{ years = "count", first = { args.column, "first" }, mean = { args.column, "mean" }, last = { args.column, "last" } }
    :add_column("rise", function(row) return math.round(row.last - row.first, 2) end)
    :add_column("mean", function(row) return math.round(row.mean, 2) end)
end

return tool{
  description = [[Group yearly measurements by decade: how many, first, mean, last, rise.
The file is a table with a column of years; the rise is from the first to the last
measurement of each decade.]],
  group = "data",
  hints = { read_only = true, idempotent = true },
  needs = { "fs.read:data/**" },
  params = {
    path = param("string", "Table file below data, such as a CSV file.", { default = "data/co2.csv" }),
    column = param("string", "The column that was measured.", { default = "co2_ppm" }),
    year = param("string", "The column of the years.", { default = "year" }),
  },
  handler = decades,
}
