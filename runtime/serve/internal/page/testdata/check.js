// What TestBrowser runs in every page.
const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
function rgba(color) {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}
const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
function background(el) {
  const layers = [];
  for (let at = el; at; at = at.parentElement) {
    const c = rgba(getComputedStyle(at).backgroundColor);
    if (c[3]) layers.push(c);
    if (c[3] === 1) break;
  }
  return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
}
const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
function ratio(a, b) { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); }
const named = el => `<${el.tagName.toLowerCase()} class="${el.getAttribute('class') || ''}" id="${el.id}"> ${el.textContent.trim().slice(0, 40)}`;
const seen = el => el.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !el.closest('.sr, .skip, [hidden]');

function check() {
  const contrast = new Set(), overflow = [], small = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const el = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !seen(el) || el.closest('noscript, option, button[disabled]')) continue;
    const style = getComputedStyle(el), size = parseFloat(style.fontSize), under = background(el);
    const want = size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5;
    const got = ratio(over(rgba(style.color), under), under);
    if (got < want) contrast.add(`contrast ${got.toFixed(2)} of ${named(el)}`);
  }
  for (const el of document.querySelectorAll('input:not([type=hidden]), select, textarea')) {
    if (!seen(el) || el.matches('[type=checkbox], [type=radio]')) continue;
    const got = ratio(rgba(getComputedStyle(el).borderTopColor), background(el.parentElement));
    if (got < 3 && !el.closest('.compose')) contrast.add(`contrast ${got.toFixed(2)} of the border of ${named(el)}`);
  }
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) {
    const bad = [...document.querySelectorAll('body *')].filter(el => el.getBoundingClientRect().right > innerWidth + 1 && seen(el) && !el.closest('.scroll, .tabsel, pre')).slice(0, 3).map(named);
    overflow.push(`${wide} px wide: ${bad.join('; ')}`);
  }
  const phone = innerWidth < 600;
  const stops = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')].filter(el => seen(el) && !el.disabled);
  for (const el of stops) {
    const r = el.getBoundingClientRect(), inline = getComputedStyle(el).display === 'inline';
    if (!inline && r.height && (Math.min(r.height, el.matches('.runs .t, input') ? 99 : r.width) < 23.5 && !el.closest('.check, .seg, label') || phone && el.matches('.btns *, .tabs a, .tree a') && r.height < 43.5)) small.push(`${Math.round(r.width)} × ${Math.round(r.height)} px is too small to hit: ${named(el)}`);
  }
  return { Overflow: overflow, Contrast: [...contrast], Small: small.slice(0, 5), Stops: stops.length };
}

let before = null;
function checkFocus() {
  const el = document.activeElement;
  if (!el || el === document.body || el.matches('.skip')) before = null; // it begins again at the top
  if (!el || el === document.body) return '';
  const style = getComputedStyle(el), ring = e => { const s = getComputedStyle(e); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2; };
  if (!ring(el) && !(el.parentElement && ring(el.parentElement))) return `the focus cannot be seen on ${named(el)}: ${style.outline}`;
  if (before && before.isConnected && before !== el && !(before.compareDocumentPosition(el) & Node.DOCUMENT_POSITION_FOLLOWING)) return `the focus goes up from ${named(before)} to ${named(el)}`;
  const r = el.getBoundingClientRect(), x = Math.min(Math.max(r.left + Math.min(r.width, 40) / 2, 0), innerWidth - 1), y = Math.min(Math.max(r.top + Math.min(r.height, 20) / 2, 0), innerHeight - 1);
  if (r.bottom < 0 || r.top > innerHeight) return `the focus is out of sight on ${named(el)}`;
  const top = document.elementFromPoint(x, y);
  if (top && !el.contains(top) && !top.contains(el) && top.closest('.tabs, .top, .jump')) return `${named(el)} has the focus under ${named(top)}`;
  before = el;
  return '';
}
