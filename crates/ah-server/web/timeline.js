// The timeline of a session: a window over any number of events.
//
// Only what can be seen stands in the page. Rows have the height they were measured with, or an
// estimate; pages of events are read when the window comes near and dropped when it is far, so
// 100,000 events cost as much memory as 1,000. The row at the upper edge is the anchor: when heights
// above it turn out otherwise, the scroll position is corrected, so nothing jumps.

import { h, render } from './dom.js';
import { get, path } from './api.js';
import { follow } from './live.js';
import { read, row } from './event.js';

const PAGE = 100;
const PAGES_KEPT = 16;
/// Pages of long outputs are dropped earlier: this many characters are kept, and two pages in any case.
const CHARACTERS_KEPT = 24e6;
const ROW_PX = 44;
const OVERSCAN_PX = 600;
/// While somebody drags through the whole log, pages passed by are not worth a request.
const SETTLE_MS = 70;
const NEAR_END_PX = 60;
/// What stays visible above an event that was jumped to.
const EDGE_PX = 40;

export function timeline({ id, last, at, fork, changed, failed }) {
  const self = { last, following: at === undefined && last > 0, node: null, loaded: () => pages.size };
  const pages = new Map();
  const heights = [];
  const pairs = { calls: new Map(), results: new Map() };
  const unfolded = new Set();
  const inFlight = new Map();
  let stream = null;
  let settle = null;
  let frame = 0;
  let closed = false;

  const pageOf = (seq) => Math.floor((seq - 1) / PAGE);
  const pageCount = () => Math.ceil(self.last / PAGE);
  const rowsOf = (page) => Math.min(PAGE, self.last - page * PAGE);

  function heightOf(page) {
    const known = heights[page];
    return known ? known.sum + (rowsOf(page) - known.known) * ROW_PX : rowsOf(page) * ROW_PX;
  }
  const rowHeight = (seq) => { const known = heights[pageOf(seq)]?.rows[(seq - 1) % PAGE]; return known >= 0 ? known : ROW_PX; };
  function measure(seq, height) {
    const page = pageOf(seq);
    const known = (heights[page] ||= { rows: new Float32Array(PAGE).fill(-1), sum: 0, known: 0 });
    const at = (seq - 1) % PAGE;
    if (known.rows[at] < 0) known.known += 1;
    else known.sum -= known.rows[at];
    known.rows[at] = height;
    known.sum += height;
  }
  function offsetOf(seq) {
    let top = 0;
    for (let page = 0; page < pageOf(seq); page += 1) top += heightOf(page);
    for (let each = pageOf(seq) * PAGE + 1; each < seq; each += 1) top += rowHeight(each);
    return top;
  }
  const total = () => { let sum = 0; for (let page = 0; page < pageCount(); page += 1) sum += heightOf(page); return sum; };
  /// The event at a place, and where it begins.
  function seqAt(top) {
    let sum = 0;
    let page = 0;
    while (page < pageCount() - 1 && sum + heightOf(page) <= top) sum += heightOf(page++);
    let seq = page * PAGE + 1;
    while (seq < self.last && sum + rowHeight(seq) <= top) sum += rowHeight(seq++);
    return { seq, top: sum };
  }

  function take(page, events) {
    const bySeq = new Map();
    for (const event of events) remember(bySeq, event);
    // A number without an event (trimmed, or of a parent) takes no room.
    for (let seq = page * PAGE + 1; seq <= page * PAGE + rowsOf(page); seq += 1) if (!bySeq.has(seq)) measure(seq, 0);
    pages.set(page, bySeq);
    shed(page);
  }
  function remember(bySeq, event) {
    const said = read(event);
    const characters = said.results.reduce((sum, { output }) => sum + (typeof output === 'string' ? output.length : 0), said.text.length);
    bySeq.set(event.seq, { event, said, characters });
    for (const call of said.calls) if (call.id !== undefined) pairs.calls.set(call.id, call);
    for (const result of said.results) if (result.id !== undefined) pairs.results.set(result.id, { ...result, ts: event.ts });
  }
  function weight() {
    let sum = 0;
    for (const page of pages.values()) for (const { characters } of page.values()) sum += characters;
    return sum;
  }
  /// Drops the pages that are farthest from the one just read, with the calls they held.
  function shed(near) {
    while (pages.size > PAGES_KEPT || (pages.size > 2 && weight() > CHARACTERS_KEPT)) {
      const far = [...pages.keys()].reduce((worst, page) => (Math.abs(page - near) > Math.abs(worst - near) ? page : worst));
      for (const { said } of pages.get(far).values()) {
        for (const call of said.calls) pairs.calls.delete(call.id);
        for (const result of said.results) pairs.results.delete(result.id);
      }
      pages.delete(far);
    }
  }
  async function fetchPage(page) {
    if (pages.has(page) || inFlight.has(page) || page < 0 || page >= pageCount()) return;
    const controller = new AbortController();
    inFlight.set(page, controller);
    try {
      const upTo = page * PAGE + rowsOf(page);
      const { items } = await get(`${path('sessions', id)}/events`, { after: page * PAGE, upTo, limit: PAGE }, { signal: controller.signal });
      if (!closed) take(page, items);
    } catch (error) {
      if (error.name !== 'AbortError') failed(error);
    } finally {
      inFlight.delete(page);
    }
    if (!closed) draw();
  }

  /// Draws the window, measures it, and keeps the anchor where it was.
  function draw() {
    const box = self.node;
    if (!box || closed) return;
    const anchor = seqAt(box.scrollTop);
    const into = box.scrollTop - anchor.top;
    place(box);
    let changedHeight = false;
    for (const node of box.querySelectorAll('[data-seq]')) {
      const height = node.offsetHeight;
      const seq = Number(node.dataset.seq);
      if (rowHeight(seq) !== height || !(heights[pageOf(seq)]?.rows[(seq - 1) % PAGE] >= 0)) { measure(seq, height); changedHeight = true; }
    }
    if (self.following) box.scrollTop = box.scrollHeight;
    if (!changedHeight) return;
    if (!self.following) { place(box); box.scrollTop = offsetOf(anchor.seq) + into; }
    schedule();
  }
  function place(box) {
    const from = seqAt(Math.max(0, box.scrollTop - OVERSCAN_PX));
    const bottom = box.scrollTop + box.clientHeight + OVERSCAN_PX;
    const rows = [];
    let top = from.top;
    let seq = from.seq;
    for (; seq <= self.last && top < bottom; seq += 1) {
      const held = pages.get(pageOf(seq))?.get(seq);
      if (held) rows.push(row(held.event, held.said, { pairs, unfolded, resize, marked: seq === at, fork }));
      else if (!pages.has(pageOf(seq))) rows.push(h('div', { class: 'event waiting', key: seq, style: { height: `${rowHeight(seq)}px` } }));
      top += rowHeight(seq);
    }
    render(box, h('div', { key: 'above', style: { height: `${from.top}px` } }), rows, h('div', { key: 'below', style: { height: `${Math.max(0, total() - top)}px` } }));
    want(pageOf(from.seq), pageOf(Math.max(1, seq - 1)));
  }
  function want(from, to) {
    for (const [page, controller] of inFlight) if (page < from - 1 || page > to + 1) controller.abort();
    clearTimeout(settle);
    const missing = [];
    for (let page = from; page <= to; page += 1) if (!pages.has(page) && !inFlight.has(page)) missing.push(page);
    if (!missing.length) return;
    const ask = () => missing.forEach(fetchPage);
    if (pages.size) settle = setTimeout(ask, SETTLE_MS);
    else ask();
  }
  function schedule() {
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(); });
  }
  function resize(now) {
    if (now === true) draw();
    else schedule();
  }
  function scrolled() {
    const box = self.node;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
    if (atEnd !== self.following) { self.following = atEnd; changed(); }
    schedule();
  }
  function arrived(event) {
    if (event.seq <= self.last) return;
    self.last = event.seq;
    const held = pages.get(pageOf(event.seq));
    if (held) remember(held, event);
    else if ((event.seq - 1) % PAGE === 0) take(pageOf(event.seq), [event]);
    changed();
    schedule();
  }

  /// Takes the element over: its children are ours, not the page's.
  self.attach = (node) => {
    self.node = node;
    node.onscroll = scrolled;
    new ResizeObserver(schedule).observe(node);
    // The place to begin at comes first: the start of a long log is not read on the way to its end.
    render(node, h('div', { key: 'below', style: { height: `${total()}px` } }));
    node.scrollTop = at === undefined ? node.scrollHeight : offsetOf(Math.min(at, Math.max(1, self.last))) - EDGE_PX;
    draw();
    stream = follow({ path: `${path('sessions', id)}/events`, after: self.last, each: (event) => arrived(event.event || event), refused: failed });
  };
  self.goTo = (seq) => {
    self.following = false;
    const to = Math.min(Math.max(1, seq), self.last);
    self.node.scrollTop = offsetOf(to) - EDGE_PX;
    draw();
  };
  self.goLive = () => {
    self.following = true;
    self.node.scrollTop = self.node.scrollHeight;
    changed();
    draw();
  };
  self.goStart = () => { self.following = false; self.node.scrollTop = 0; changed(); draw(); };
  self.close = () => { closed = true; stream?.stop(); clearTimeout(settle); };
  return self;
}
