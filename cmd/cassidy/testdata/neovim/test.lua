-- Runs in Neovim: opens the tools of a project with cassidy lsp, and prints a line of JSON for
-- each answer. The environment variable CASSIDY names the command.

local function fail(text)
  io.stdout:write('FAIL ' .. text .. '\n')
  vim.cmd('cquit 1')
end

local function show(name, value)
  io.stdout:write(name .. ' ' .. vim.fn.json_encode(value) .. '\n')
end

local client = vim.lsp.start_client({
  name = 'cassidy',
  cmd = { vim.env.CASSIDY, 'lsp' },
  root_dir = vim.fn.getcwd(),
})
if not client then fail('the server did not start') end

-- open opens a file, and waits until the server has published its faults.
local function open(file, language)
  vim.cmd('edit ' .. file)
  local buffer = vim.api.nvim_get_current_buf()
  vim.bo[buffer].filetype = language
  local published = false
  local handler = vim.lsp.handlers['textDocument/publishDiagnostics']
  vim.lsp.handlers['textDocument/publishDiagnostics'] = function(...)
    handler(...)
    published = true
  end
  if not vim.lsp.buf_attach_client(buffer, client) then fail('attach ' .. file) end
  if not vim.wait(20000, function() return published end, 20) then fail('no diagnostics of ' .. file) end
  vim.lsp.handlers['textDocument/publishDiagnostics'] = handler
  return buffer
end

-- ask sends a request about the text behind a mark in a buffer.
local function ask(buffer, method, mark, more)
  local line, col = 0, 0
  for i, text in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local _, stop = string.find(text, mark, 1, true)
    if stop then
      line, col = i, stop - 1
      break
    end
  end
  if line == 0 then fail('no ' .. mark) end
  vim.api.nvim_win_set_cursor(0, { line, col })
  local params = vim.lsp.util.make_position_params(0, 'utf-16')
  for name, value in pairs(more or {}) do params[name] = value end
  local answers, err = vim.lsp.buf_request_sync(buffer, method, params, 20000)
  if not answers then fail(method .. ': ' .. tostring(err)) end
  for _, answer in pairs(answers) do
    if answer.error then fail(method .. ': ' .. answer.error.message) end
    return answer.result
  end
end

local function faults(buffer)
  local list = {}
  for _, d in ipairs(vim.diagnostic.get(buffer)) do
    table.insert(list, { line = d.lnum + 1, code = d.code or (d.user_data and d.user_data.lsp.code), message = d.message })
  end
  return list
end

for _, case in ipairs({ { 'page.star', 'starlark' }, { 'page_lua.lua', 'lua' }, { 'page_md.md', 'markdown' } }) do
  local file, language = case[1], case[2]
  local buffer = open('.cassidy/tools/' .. file, language)
  show(file .. ' diagnostics', faults(buffer))
  show(file .. ' hover', ask(buffer, 'textDocument/hover', 'return fs.re').contents.value)

  local labels = {}
  for _, item in ipairs(ask(buffer, 'textDocument/completion', 'return fs.r').items) do table.insert(labels, item.label) end
  show(file .. ' completion', labels)
end
-- The quick fix of a fault is applied to the buffer, and the fault is gone.
local function fix(file, language, mark)
  local buffer = open('.cassidy/tools/' .. file, language)
  show(file .. ' diagnostics', faults(buffer))
  local fault = vim.diagnostic.get(buffer)[1]
  if not fault then fail(file .. ' has no fault') end
  local first = { line = fault.lnum, character = fault.col }
  local actions = ask(buffer, 'textDocument/codeAction', mark, {
    range = { start = first, ['end'] = first },
    context = { diagnostics = {} },
  })
  show(file .. ' action', actions[1].title)
  vim.lsp.util.apply_workspace_edit(actions[1].edit, 'utf-16')
  show(file .. ' text', vim.api.nvim_buf_get_lines(buffer, 0, -1, false))
  if not vim.wait(20000, function() return #vim.diagnostic.get(buffer) == 0 end, 20) then fail(file .. ' is not fixed') end
  return buffer
end
fix('need_lua.lua', 'lua', 'fs.read')
fix('need_md.md', 'markdown', 'fs.read')
local buffer = fix('typo.star', 'starlark', 'ofset')

-- While a text does not parse, completion and documentation continue.
vim.api.nvim_buf_set_lines(buffer, 7, 9, false, { 'tool(typo, needs = ["fs.' })
local labels = {}
for _, item in ipairs(ask(buffer, 'textDocument/completion', '["fs.').items) do table.insert(labels, item.label) end
show('typo.star completion', labels)
show('typo.star hover', ask(buffer, 'textDocument/hover', 'fs.re').contents.value)
vim.cmd('qall!')
