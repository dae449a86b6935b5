-- Groups yearly measurements by decade.

local function decades(args)
  local decade = function(row) return row[args.year] - row[args.year] % 10 end
  return data.read(args.path)
    :drop_missing(args.year, args.column)
    :add_column("decade", decade)
    :group_by("decade")
    :agg{ years = "count", first = { args.column, "first" }, mean = { args.column, "mean" }, last = { args.column, "last" } }
    :add_column("mean", function(row) return math.round(row.mean, 2) end)
    :add_column("rise", function(row) return math.round(row.last - row.first, 2) end)
    :filter("decade", ">=", args.from)
end

return tool{
  description = [[Group yearly measurements by decade: how many, first, mean, last, rise.

The file is a table with a row for each year, in their order; the rise is from the
first to the last measurement of a decade.]],
  group = "data",
  hints = { read_only = true, idempotent = true },
  needs = { "fs.read:data/**" },
  params = {
    path = param("string", "Table file below data, such as a CSV file.", { default = "data/co2.csv" }),
    column = param("string", "The column of what was measured.", { default = "co2_ppm" }),
    year = param("string", "The column of the years.", { default = "year" }),
    from = param("integer", "The first decade to give, such as 1990.", { default = 0 }),
  },
  returns = param("array", "A record for each decade.", { items = "object" }),
  examples = {
    example("How fast carbon dioxide has risen in this century", { from = 2000 }, {
      { decade = 2000, years = 10, first = 369.71, mean = 378.77, last = 387.64, rise = 17.93 },
      { decade = 2010, years = 10, first = 390.1, mean = 400.41, last = 411.65, rise = 21.55 },
      { decade = 2020, years = 5, first = 414.21, mean = 418.97, last = 424.61, rise = 10.4 },
    }),
    example("All decades, by name", { path = "data/co2.csv", column = "co2_ppm", year = "year" }),
  },
  tags = { "csv", "statistics", "table" },
  handler = decades,
}
