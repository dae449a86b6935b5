-- Reads a table, and tells what is in it.
return tool{
  description = "Count the rows of a file by one of its columns, and describe the file.",
  params = {
    path = param("string", "The file, as \"orders.csv\"."),
    options = param("object", "How data.read shall read it.", { default = {} }),
    by = param("string", "The column to count by.", { default = "region" }),
  },
  needs = { "fs.read" },
  handler = function(args)
    local by, t = args.by, data.read(args.path, args.options)
    local first = t.columns[1]
    local counts = t:filter(by, "present"):group_by(by):agg{
      n = "count",
      kinds = { first, "distinct" },
      least = { first, "min" },
    }
    local frequent = counts:filter(function(row) return row.n > 1 end):sort("-n", by)
    return { counts = frequent:to_csv(), about = t:describe() }
  end,
}
