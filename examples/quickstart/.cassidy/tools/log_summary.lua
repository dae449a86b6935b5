-- Sums a log up: levels, failures by hour, and the slowest requests.

-- request reads the message of a request; of any other it returns nothing.
local function request(time, message)
  local method, path, status, ms = message:match("^request method=(%S+) path=(%S+) status=(%d+) ms=(%d+)")
  return method and { time = time, method = method, path = path, status = tonumber(status), ms = tonumber(ms) }
end

-- count adds a line to the sums of the log, or of an hour.
local function count(sums, level, r)
  sums.errors = sums.errors + (level == "ERROR" and 1 or 0)
  if r then
    sums.requests = sums.requests + 1
    sums.failed = sums.failed + (r.status >= 500 and 1 or 0)
    sums.failed_percent = math.floor(1000 * sums.failed / sums.requests + 0.5) / 10
  end
end

-- slower orders requests; of two that took as long, the earlier comes first.
local function slower(a, b)
  if a.ms ~= b.ms then return a.ms > b.ms end
  return a.time < b.time
end

local function log_summary(args)
  local sum = { other_lines = 0, levels = {}, errors = 0, requests = 0, failed = 0, failed_percent = 0, hours_with_errors = {} }
  local hours, requests = {}, {}
  for line in fs.read(args.path):gmatch("[^\r\n]+") do
    local time, level, message = line:match("^(%d+%-%d+%-%d+T%S+)%s+(%u+)%s+(.*)$")
    if not time then
      sum.other_lines = sum.other_lines + 1
    else
      local hour, r = time:sub(1, 13) .. ":00", request(time, message)
      if not hours[hour] then
        hours[hour] = { hour = hour, errors = 0, requests = 0, failed = 0, failed_percent = 0 }
        table.insert(hours, hours[hour])
      end
      sum.levels[level] = (sum.levels[level] or 0) + 1
      count(sum, level, r)
      count(hours[hour], level, r)
      if r then table.insert(requests, r) end
    end
  end
  if #hours == 0 then
    error(args.path .. " is not a log: no line begins as in 2026-03-02T06:00:01Z INFO …; give another file", 0)
  end
  table.sort(requests, slower)
  for _, h in ipairs(hours) do
    if h.errors > 0 then table.insert(sum.hours_with_errors, h) end
  end
  sum.slowest = { unpack(requests, 1, math.min(args.slowest, #requests)) }
  return sum
end

return tool{
  description = [[Sum a log up: levels, failures by hour, slowest requests.
A request is a line "TIME LEVEL request method=… path=… status=… ms=…"; it has
failed if its status is 500 or more. Lines without time and level are only counted.]],
  group = "data",
  hints = { read_only = true, idempotent = true },
  needs = { "fs.read:data/**" },
  params = {
    path = param("string", "Log file below data.", { default = "data/shop.log" }),
    slowest = param("integer", "How many of the slowest requests to list.", { default = 3, min = 0, max = 100 }),
  },
  returns = "object",
  examples = {
    example("When did the shop fail, and what took longest?", { slowest = 1 }, {
      other_lines = 3, levels = { INFO = 185, WARN = 20, ERROR = 20 }, errors = 20, requests = 196, failed = 11, failed_percent = 5.6,
      hours_with_errors = {
        { hour = "2026-03-02T11:00", errors = 2, requests = 19, failed = 2, failed_percent = 10.5 },
        { hour = "2026-03-02T14:00", errors = 16, requests = 29, failed = 8, failed_percent = 27.6 },
        { hour = "2026-03-02T16:00", errors = 2, requests = 14, failed = 1, failed_percent = 7.1 },
      },
      slowest = { { time = "2026-03-02T12:45:10Z", method = "GET", path = "/admin/report", status = 200, ms = 4870 } },
    }),
  },
  tags = { "logs" },
  handler = log_summary,
}
