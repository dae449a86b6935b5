-- Sums a log up: levels, errors by hour, and the slowest requests.

-- request reads the message of a request, or returns nothing.
local function request(message)
  local method, path, status, ms = message:match("^request method=(%S+) path=(%S+) status=(%d+) ms=(%d+)")
  if method then
    return { method = method, path = path, status = tonumber(status), ms = tonumber(ms) }
  end
end

-- hourly counts a line under its hour; hours come in the order of the log.
local function hourly(hours, hour, level, r)
  local last = hours[#hours]
  if not last or last.hour ~= hour then
    last = { hour = hour, requests = 0, failed = 0, errors = 0 }
    table.insert(hours, last)
  end
  last.requests = last.requests + (r and 1 or 0)
  last.failed = last.failed + (r and r.status >= 500 and 1 or 0)
  last.errors = last.errors + (level == "ERROR" and 1 or 0)
end

-- first keeps the n slowest requests; of equals, the earlier one comes first.
local function first(requests, n)
  table.sort(requests, function(a, b)
    if a.ms ~= b.ms then return a.ms > b.ms end
    return a.time < b.time
  end)
  local kept = {}
  for i = 1, math.min(n, #requests) do
    kept[i] = requests[i]
  end
  return kept
end

local function log_summary(args)
  local levels, hours, requests, failed, other = {}, {}, {}, 0, 0
  for line in fs.read(args.path):gmatch("[^\r\n]+") do
    local time, level, message = line:match("^(%d+%-%d+%-%d+T%S+)%s+(%u+)%s+(.*)$")
    if time then
      local r = request(message)
      levels[level] = (levels[level] or 0) + 1
      hourly(hours, time:sub(1, 13) .. ":00", level, r)
      if r then
        r.time = time
        table.insert(requests, r)
        failed = failed + (r.status >= 500 and 1 or 0)
      end
    else
      other = other + 1
    end
  end
  if #hours == 0 then
    error(args.path .. " holds no line that begins with a time and a level, as in 2026-03-02T06:00:01Z INFO …; give another file")
  end
  return {
    levels = levels, other_lines = other, requests = #requests, failed = failed,
    failed_percent = #requests > 0 and math.floor(1000 * failed / #requests + 0.5) / 10 or 0,
    hours = hours, slowest = first(requests, args.slowest),
  }
end

return tool{
  description = [[Sum a log up: levels, failures by hour, slowest requests.
Reads lines of the form "TIME LEVEL MESSAGE", in which a request is
"request method=… path=… status=… ms=…". A request has failed if its status is
500 or more. Lines of another form, such as stack traces, are only counted.]],
  group = "data",
  hints = { read_only = true, idempotent = true },
  needs = { "fs.read:data/**" },
  params = {
    path = param("string", "Log file below data.", { default = "data/shop.log" }),
    slowest = param("integer", "How many of the slowest requests to list.", { default = 3, min = 0, max = 100 }),
  },
  examples = {
    example("When did the shop fail?", { slowest = 1 }),
  },
  tags = { "logs" },
  handler = log_summary,
}
