-- My Tool: asks a server, with a secret.
--
-- Made from the template "http". Change the address, the name of the secret, the description (by which a
-- model decides when to call the tool) and the test in my-tool_test.star; then see Testing below.

local function my_tool(args)
  local r = http.get{
    url = "https://api.example.com/search",
    params = { q = args.query, limit = args.limit },
    headers = { Authorization = "Bearer " .. secret("MY_TOKEN") },
  }
  if r.status == 401 then
    error{ message = "the server does not accept the secret MY_TOKEN", hint = "ask the user to type: cassidy secret set MY_TOKEN" }
  end
  if not r.ok then
    error("the server answered with status " .. r.status, 0)
  end
  local titles = {}
  for _, item in ipairs(r.json.items) do
    table.insert(titles, item.title)
  end
  return titles
end

return tool{
  title = "My Tool",
  description = [[Search a service, and return the titles that it finds.]],
  group = "custom",
  hints = { read_only = true },
  needs = { "http.get:api.example.com", "secret:MY_TOKEN@api.example.com" },
  params = {
    query = param("string", "What to search for.", { required = true, min_length = 1 }),
    limit = param("integer", "At most so many titles.", { default = 5, min = 1, max = 50 }),
  },
  returns = "array<string>",
  examples = { example("Search for a word", { query = "tea" }, { "Green tea", "Black tea" }) },
  tags = { "http" },
  handler = my_tool,
}

-- Testing:
--
--   cassidy test my-tool                   (with the fakes in my-tool_test.star: no network, no secret)
--   cassidy trust                          (after a change of needs, such as another server)
--   cassidy secret set MY_TOKEN            (asks for the value, which no script and no model sees)
--   cassidy tool run my-tool query=tea
--
-- For a server in your own network, allow its address once:
--
--   cassidy config set http.private '["10.0.0.7/32"]'
