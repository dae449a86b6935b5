return tool{
  description = "Read a page.",
  needs = { "env:LANG" },
  params = { path = param("string", "File to read.") },
  handler = function(args)
    return fs.read(args.path) .. env.get("LANG")
  end,
}
