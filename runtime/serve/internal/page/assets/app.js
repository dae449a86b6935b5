// The page works without this file. It adds: live parts, keys, and comfort in forms.
// It never builds HTML from data: it puts parts that the server rendered where they belong,
// and appends streamed text as text.
const $ = (s, el = document) => el.querySelector(s);
const $$ = (s, el = document) => [...el.querySelectorAll(s)];

// ---- what a screen reader hears: boundaries only, at most one message in 3 s
const said = [];
let saying = 0;
function say(text) {
  if (!said.includes(text)) said.push(text);
  if (saying) return;
  saying = setTimeout(() => { saying = 0; $('#say').textContent = said.splice(0).join('. '); }, said.length > 1 ? 3000 : 300);
}

// ---- live
const live = { url: document.body.dataset.live, last: 0, heard: Date.now(), wait: 1000, es: null, timer: 0 };
const QUIET = 40_000; // ms: the server sends a ping event (not a comment, which we could not see) every 15 s
function net(state, text) {
  for (const p of $$('[data-net]')) { p.dataset.s = state; p.lastElementChild.textContent = text; }
  const note = $('#offline');
  if (state === 'off' && (note.hidden || Date.now() - live.heard > QUIET)) bar(`Not live since ${new Date(live.heard).toLocaleTimeString()}. What you see may be old.`);
  else if (state === 'on') note.hidden = true;
}
function bar(text, out = false) {
  $('#offline > span').textContent = text;
  $('[data-now]').hidden = out; $('[data-sign]').hidden = !out; $('#offline').hidden = false;
}
$('[data-now]').addEventListener('click', () => { live.wait = 1000; open(); });
function open() {
  close();
  const u = new URL(live.url, location);
  if (live.last) u.searchParams.set('after', live.last);
  const es = live.es = new EventSource(u);
  const on = (type, fn) => es.addEventListener(type, e => {
    live.heard = Date.now(); live.wait = 1000; net('on', 'Live');
    if (e.lastEventId) live.last = e.lastEventId;
    fn?.(e.data);
  });
  on('ping'); on('part', part); on('text', text); on('say', say); on('count', count); on('resync', resync); on('draining', () => { live.wait = 2000; bar('The server is restarting. Runs continue where they were.'); });
  es.onopen = () => { live.heard = Date.now(); net('on', 'Live'); };
  es.onerror = () => { es.close(); retry(); };
  clearInterval(live.timer);
  live.timer = setInterval(() => { if (Date.now() - live.heard > QUIET) { close(); retry(); } }, 5000);
}
function close() { live.es?.close(); live.es = null; clearInterval(live.timer); clearTimeout(live.again); }
function retry() {
  net('try', 'Reconnecting');
  if (Date.now() - live.heard > 5000) net('off', 'Not live');
  if (live.wait > 3000) signed();
  live.again = setTimeout(open, live.wait * (.8 + Math.random() * .4));
  live.wait = Math.min(live.wait * 2, 30_000);
}
// A stream that is refused looks like one that broke, so ask whether we are still signed in.
async function signed() {
  try { const r = await fetch(location.href, { method: 'HEAD', redirect: 'manual' }); if (r.type === 'opaqueredirect' || r.status === 401) { close(); bar('You are signed out. What you have typed stays here.', true); } } catch { /* not live: the bar says so */ }
}
if (live.url) {
  open();
  // A hidden tab gives its connection back: HTTP/1.1 allows six for all tabs together.
  document.addEventListener('visibilitychange', () => document.hidden ? close() : open());
  addEventListener('pagehide', close); addEventListener('pageshow', e => e.persisted && open());
}

// ---- merging: an element with an ID is replaced in place; nothing moves under the pointer
function part(html) {
  const t = document.createElement('template');
  t.innerHTML = html; // rendered and escaped by the server's templates
  for (const now of [...t.content.children]) {
    const old = document.getElementById(now.id);
    if (old) { if (!busy(old)) swap(old, now); else late.set(now.id, now); continue; }
    put(now);
  }
}
function put(now) {
  const into = document.getElementById(now.dataset.into || '');
  if (into?.matches('[data-list]')) hold(now); else if (into) follow(now, () => into.append(now));
}
// The page scrolls with what is new only while its end is in view.
function follow(el, add) {
  const end = $('[data-follow]'), there = end && end.getBoundingClientRect().bottom <= innerHeight + 4;
  add();
  if (there) end.scrollIntoView({ block: 'end' });
}
// A part in which somebody types, selects or has a menu open waits until they are done.
function busy(el) {
  const at = document.activeElement, s = getSelection();
  return el.contains(at) && at.matches('input,textarea,select,.menu[open] *') || !s.isCollapsed && el.contains(s.anchorNode);
}
const late = new Map();
const flush = () => late.size && setTimeout(() => {
  for (const [id, now] of late) { const old = document.getElementById(id); if (!old || !busy(old)) { late.delete(id); if (old) swap(old, now); } }
});
addEventListener('focusout', flush); document.addEventListener('selectionchange', flush);
function swap(old, now) {
  const open = $$('details', old).map(d => d.open), focus = old.contains(document.activeElement) && pathTo(old, document.activeElement);
  $$('details', now).forEach((d, i) => { if (open[i] !== undefined) d.open = open[i]; });
  if ($('[aria-current]', old) && !$('[aria-current]', now)) $('a', now)?.setAttribute('aria-current', 'true');
  for (const t of $$('textarea[id]', old)) { const to = document.getElementById(t.id) === t && $('#' + CSS.escape(t.id), now); if (to && t.value) to.value = t.value; }
  const top = old.scrollTop;
  old.replaceWith(now); now.scrollTop = top; wire(now);
  if (focus) focus.reduce((el, i) => el?.children[i], now)?.focus({ preventScroll: true });
}
function pathTo(root, el) { const p = []; for (; el !== root; el = el.parentElement) p.unshift([...el.parentElement.children].indexOf(el)); return p; }
// New rows of a list wait behind a button.
const held = [];
function hold(row) {
  held.push(row);
  const b = $('[data-new]');
  const what = b.dataset.new || 'run';
  b.hidden = false; b.textContent = `${held.length} new ${what}${held.length === 1 ? '' : 's'} · Show`;
}
$('[data-new]')?.addEventListener('click', e => {
  const list = $('[data-list]'), first = held.at(-1);
  list.prepend(...held.splice(0).reverse()); e.target.hidden = true;
  for (let el = list; el; el = el.parentElement) el.hidden = false;
  for (const el of $$('[data-empty]')) el.remove();
  $('a', first)?.focus();
});
function text(data) {
  const d = JSON.parse(data), el = document.getElementById(d.to)?.querySelector('[data-stream]');
  if (el) follow(el, () => el.append(d.add));
}
function count(data) {
  const n = +data;
  for (const b of $$('[data-count]')) { b.textContent = n; b.parentElement.hidden = !n; }
  document.title = (n ? `(${n}) ` : '') + document.title.replace(/^\(\d+\) /, '');
}
// After a gap, the page is fetched again and merged: what has parts is compared part by part.
async function resync() {
  let d;
  try { d = await page(location.href); } catch { return; } // the bar says why, or the page is being left
  for (const el of $$('main [id]', d)) {
    const old = document.getElementById(el.id);
    if (!old) { if (el.dataset.into) put(el); continue; }
    if (!$('[id]', el) && old.outerHTML !== el.outerHTML) busy(old) ? late.set(el.id, el) : swap(old, el);
  }
}
const out = new Error('signed out');
async function page(url) {
  const r = await fetch(url, { headers: { Accept: 'text/html' } });
  if (r.redirected && new URL(r.url).pathname === '/login') { close(); bar('You are signed out. What you have typed stays here.', true); throw out; }
  return new DOMParser().parseFromString(await r.text(), 'text/html');
}

// ---- a step opens in the pane beside the tree; without script the link loads the page
$('[data-tree]')?.addEventListener('click', async e => {
  const a = e.target.closest('a'), pane = $('.two > .pane');
  if (!a || !pane || e.ctrlKey || e.metaKey || e.shiftKey || 'in' in a.dataset || a.matches('.more') || matchMedia('(max-width: 1099px)').matches) return;
  e.preventDefault();
  if ($('textarea', pane)?.value && !confirm('Leave your reason unsent?')) return;
  const slow = setTimeout(() => pane.setAttribute('aria-busy', 'true'), 400);
  try {
    const d = await page(a.href), now = $('.two > .pane', d);
    if (!now) throw 0;
    if (live.url) { live.url = d.body.dataset.live; live.last = 0; open(); }
    pane.replaceWith(now); history.replaceState(null, '', a.href); wire(now);
    $$('[data-tree] [aria-current]').forEach(x => x.removeAttribute('aria-current')); a.setAttribute('aria-current', 'true');
    say($('h2', now)?.textContent);
  } catch (err) { if (err !== out) location = a.href; } finally { clearTimeout(slow); }
});

// ---- forms
function wire(root) {
  for (const a of $$('[data-jump] + .answer', root)) seen.observe(a);
  for (const b of $$('[data-copy], [data-text]', root)) b.hidden = !navigator.clipboard;
  for (const s of $$('select[data-go]', root)) s.addEventListener('change', () => s.form.requestSubmit());
  for (const f of $$('form[data-once]', root)) f.addEventListener('submit', () => setTimeout(() => { for (const b of $$('button', f)) b.disabled = true; f.setAttribute('aria-busy', 'true'); }));
}
document.addEventListener('click', e => {
  const b = e.target.closest('button'); if (!b) return;
  if (b.dataset.copy || b.dataset.text) navigator.clipboard?.writeText(b.dataset.text || $(b.dataset.copy).textContent).then(() => { b.textContent = 'Copied'; say('Copied'); });
  if ('keys' in b.dataset) $('#keys').showModal();
});
for (const t of $$('textarea[data-draft]')) {
  const key = 'draft:' + t.dataset.draft;
  t.value ||= sessionStorage.getItem(key) ?? '';
  t.addEventListener('input', () => sessionStorage.setItem(key, t.value));
  // A draft ends when the page that sent it does: what is typed meanwhile belongs to it. Stop sends nothing.
  let sent = false;
  t.form.addEventListener('submit', e => { sent = e.submitter?.name !== 'stop'; });
  addEventListener('pagehide', () => { if (sent) sessionStorage.removeItem(key); sent = false; });
  t.addEventListener('keydown', e => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing && e.keyCode !== 229 && !matchMedia('(pointer: coarse)').matches) { e.preventDefault(); if (t.value.trim()) t.form.requestSubmit($('.pri', t.form)); } });
}


// ---- a table sorts in place when all its rows are here
for (const t of $$('table[data-sort]')) for (const a of $$('th a', t.tHead)) a.addEventListener('click', e => {
  e.preventDefault();
  const th = a.parentElement, i = th.cellIndex, numbers = th.classList.contains('r'), down = th.getAttribute('aria-sort') !== (numbers ? 'descending' : 'ascending') === numbers;
  const of = row => $('.null', row.cells[i]) ? null : row.cells[i].textContent; // what is missing is last
  const rows = [...t.tBodies[0].rows].sort((x, y) => {
    const p = of(x), q = of(y), d = numbers ? p - q : (p ?? '').localeCompare(q ?? '');
    return p === null || q === null ? (p === null) - (q === null) : down ? -d : d;
  });
  for (const h of $$('th', t.tHead)) { h.removeAttribute('aria-sort'); h.firstElementChild.textContent = h.textContent.replace(/ [▾▴]$/, ''); }
  th.setAttribute('aria-sort', down ? 'descending' : 'ascending'); a.textContent += down ? ' ▾' : ' ▴';
  t.tBodies[0].append(...rows); say(`Sorted by ${a.textContent.slice(0, -2)}`);
});

// ---- time: durations of what runs tick; the exact local time is in the title
const dur = s => s < 60 ? `${s} s` : s < 3600 ? `${s / 60 | 0} m ${s % 60} s` : `${s / 3600 | 0} h ${s % 3600 / 60 | 0} m`;
const tick = () => { for (const el of $$('[data-tick]')) el.textContent = dur(Math.max(0, (Date.now() - Date.parse(el.dataset.tick)) / 1000 | 0)); };
setInterval(() => document.hidden || tick(), 1000);
for (const t of $$('time[datetime]')) t.title = new Date(t.dateTime).toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'long' });

// ---- keys. None decides; they can be turned off in the settings (data-nokeys).
let g = 0;
const go = { r: '/runs', q: '/questions', c: '/chat', t: '/tools' };
document.addEventListener('keydown', e => {
  if ((e.ctrlKey || e.metaKey) && e.key === 'Enter') { const f = e.target.form; if (f && (f.matches('[data-args]') || f.matches('[data-send]'))) f.requestSubmit(); return; }
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches('input,textarea,select') || 'nokeys' in document.body.dataset || $('dialog[open]')) return;
  if (g && Date.now() - g < 1500 && go[e.key]) { location = go[e.key]; return; }
  g = e.key === 'g' ? Date.now() : 0;
  if (e.key === '?') $('#keys')?.showModal();
  else if (e.key === '/' && $('[type=search]')) { e.preventDefault(); $('[type=search]').focus(); }
  else if (e.key === 'a') $('.answer button, .answer input:not([type=hidden]), .answer textarea')?.focus();
  else if (e.key === 'j' || e.key === 'k') move($$('.runs .t, [data-tree] a, .qs a'), e.key === 'j' ? 1 : -1);
  else if (e.key === 'e') move($$('[data-tree] a > .bad').map(x => x.parentElement), 1);
});
function move(all, by) {
  all = all.filter(a => a.offsetParent); if (!all.length) return;
  const at = all.findIndex(a => a === document.activeElement || a.matches('[aria-current]'));
  all[Math.min(Math.max(at + by, 0), all.length - 1)].focus();
}
// The bar that leads to the answer hides while the answer is on screen.
document.documentElement.classList.add('js');
document.getElementById(location.hash.slice(1))?.matches('[tabindex]') && document.getElementById(location.hash.slice(1)).focus();
// Buttons of a page that comes back from the browser's cache work again.
addEventListener('pageshow', e => { if (e.persisted) for (const b of $$('form[data-once][aria-busy] button')) { b.disabled = false; b.form.removeAttribute('aria-busy'); } });
addEventListener('keydown', e => { const m = e.key === 'Escape' && $('.menu[open]'); if (m) { m.open = false; $('summary', m).focus(); } });
addEventListener('click', e => { for (const m of $$('.menu[open]')) if (!m.contains(e.target)) m.open = false; });
// The server shows times in the zone of this cookie; the first page of all is shown again.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone, had = document.cookie.includes('zone=');
if (zone && !document.cookie.split('; ').includes('zone=' + zone)) {
  document.cookie = `zone=${zone}; path=/; max-age=31536000; samesite=lax`;
  if (!had && zone !== document.body.dataset.zone && document.cookie.includes('zone=') && live.url) location.replace(location.href);
}
const seen = new IntersectionObserver(es => es.forEach(e => e.target.previousElementSibling.classList.toggle('here', e.isIntersecting)), { rootMargin: '0px 0px -70px' });
wire(document);

// ---- forms of tools. The server knows the rules of schemas, so it is asked for what buttons change that do not run
// the form, and for what will be sent. A file or a password stays where it was entered.
const KEPT = 'input[type=file], input[type=password]';
async function ask(f, button) {
  const data = new FormData(f, button);
  for (const el of $$(KEPT, f)) if (el.type === 'file') data.delete(el.name);
  const body = f.enctype.startsWith('multipart') ? data : new URLSearchParams(data);
  const r = await fetch(f.action, { method: 'POST', body, headers: { Accept: 'text/html' } });
  const now = $('#call', new DOMParser().parseFromString(await r.text(), 'text/html'));
  if (!r.ok || r.redirected || !now) throw new Error(r.status);
  return now;
}
function preview(f) {
  clearTimeout(f.later);
  if (!$('[data-sent]', f)?.open) return;
  f.later = setTimeout(async () => {
    try { const now = $$('[data-args-out]', await ask(f, $('[data-show]', f))); $$('[data-args-out]', f).forEach((el, i) => el.replaceWith(now[i])); } catch { /* what is shown is older */ }
  }, 400);
}
document.addEventListener('click', async e => {
  const b = e.target.closest('form[data-args] button[formnovalidate]:not(.sr)');
  if (!b || 'plainly' in b.dataset) return;
  e.preventDefault();
  const f = b.form;
  f.inert = true;
  try {
    const now = await ask(f, b);
    for (const el of $$(KEPT, f)) if (el.value) now.elements[el.name]?.replaceWith(el);
    const to = $('[autofocus]', now);
    to?.removeAttribute('autofocus'); // which browsers refuse for parts
    f.replaceWith(now); wire(now); to?.focus();
  } catch { f.inert = false; b.dataset.plainly = ''; b.click(); }
});
document.addEventListener('input', e => { const f = e.target.closest('form[data-args]'); if (f) preview(f); });
document.addEventListener('toggle', e => { if (e.target.matches('[data-sent]')) preview(e.target.closest('form')); }, true);
