return tool{
  description = "Read a page.",
  needs = { "fs.read" },
  params = { path = param("string", "File to read.") },
  handler = function(args)
    return fs.read(args.path)
  end,
}
