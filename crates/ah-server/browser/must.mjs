// What must hold of the dashboard: two operators, viewers, a server that is killed, speed and memory.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { launch } from './chromium.mjs';
import { ask, invite, long, request } from './harbor.mjs';

const MIB = 1048576;
const FIRST_PAGE_MS = 300;
const EVENT_MS = 100;
const OPEN_MS = 1000;
const MEMORY_BYTES = 200 * MIB;

const median = (numbers) => [...numbers].sort((left, right) => left - right)[Math.floor(numbers.length / 2)];

export async function mustHold(context) {
  await twoOperators(context);
  await viewer(context);
  await killed(context);
  await fast(context);
  await large(context);
}

async function guest({ browser, server, ah }, name, role) {
  const page = await browser.newPage();
  await page.go(invite(ah, name, role));
  await page.until('location.pathname === "/" && document.querySelector("main h1")?.innerText === "Home"', `${name} is logged in`);
  return Object.assign(page, { at: (path) => page.go(server.base + path) });
}

async function twoOperators(context) {
  const { job, ah } = context;
  await job('of two operators one decides, and the other sees who did', async () => {
    const approval = request(ah, 'open-lock', 'water is high');
    const [ann, ben] = [await guest(context, 'ann'), await guest(context, 'ben')];
    const card = '[aria-label="Approval: carol asks for open-lock"]';
    for (const one of [ann, ben]) { await one.at('/approvals'); await one.shows('open-lock'); }
    // Both have clicked before either is answered: Ben's click waits on its way.
    await ben.hold('*/decision');
    await ben.click(`${card} button`, 'Approve');
    while (!ben.held.length) await new Promise((done) => setTimeout(done, 10));
    await ann.type(`${card} input`, 'I was first');
    await ann.click(`${card} button`, 'Deny');
    await ann.shows('— I was first');
    await ben.letGo();
    await ben.shows('Somebody was faster');
    await ben.until(`/denied already, decided by .*\\bann\\b.*I was first/.test(document.querySelector('#toasts').innerText)`, 'who decided');
    const { status, resolver } = JSON.parse(ah(['approval', 'show', approval, '--json']));
    assert.deepEqual({ status, resolver }, { status: 'denied', resolver: 'ann' });
    assert.deepEqual([ann.complaints, ben.complaints], [[], []]);
    for (const one of [ann, ben]) await one.leave();
  });
}

async function viewer(context) {
  const { job, ah, made } = context;
  await job('who may only look has no buttons that change, and is told why not', async () => {
    request(ah, 'not-yours', 'only look');
    ask(ah, 'Not for viewers?', ['--option', 'yes']);
    const page = await guest(context, 'vera', 'viewer');
    const known = ['Export', 'Share', 'Start', 'At live', 'Jump to live', 'Find', 'Plan', 'More', 'Older', 'Log out', 'Notify me', '?', '◐', '☀', '☾', '×'];
    for (const place of ['/', '/approvals', '/questions', '/agents', '/agents/carol', '/sessions', `/sessions/${made.session}`, '/executors', '/stats', '/settings']) {
      await page.at(place);
      await page.until(`!!document.querySelector('main h1')`, place);
      const others = await page.value(`[...document.querySelectorAll('button, main form[method], main textarea')].filter((node) => node.offsetParent !== null).map((node) => node.innerText.trim()).filter((text) => !${JSON.stringify(known)}.includes(text))`);
      assert.deepEqual([place, others], [place, []]);
    }
    // Whoever finds a way to ask nevertheless is shown the server's own words.
    await page.value(`Promise.all([import('/assets/api.js'), import('/assets/ui.js')]).then(([{ post }, { act }]) => act(null, () => post('messages', { from: 'operator', to: ['carol'], body: 'let me in' })))`);
    await page.until(`/viewer/.test(document.querySelector('#toasts').innerText)`, 'the problem is told');
    assert.deepEqual(page.complaints, []);
    await page.leave();
  });
}

async function killed({ job, page, at, shot, ah, server }) {
  await job('a server that was killed is told, and what was missed comes without a reload', async () => {
    ask(ah, 'What did I type?', ['--free-text']);
    await at('/');
    await page.until(`document.querySelector('.line.live')`, 'live');
    await page.shows('What did I type?');
    await page.value(`[...document.querySelectorAll('article')].find((each) => each.innerText.includes('What did I type?')).querySelector('textarea').id = 'typed'`);
    await page.type('#typed', 'half an ans');
    await page.value('window.sameDocument = true');
    await server.kill();
    request(ah, 'while-away', 'you slept');
    await page.until(`/server gone/.test(document.querySelector('.line').innerText)`, 'the page says so');
    await page.shows('The server is gone');
    await shot('gone');
    await server.again();
    await page.shows('while-away', 20000);
    await page.until(`!!document.querySelector('.line.live')`, 'live again', 20000);
    assert.deepEqual(await page.value(`({ same: window.sameDocument, typed: document.getElementById('typed')?.value, gone: document.body.innerText.includes('The server is gone') })`), { same: true, typed: 'half an ans', gone: false });
  });
}

async function fast({ job, page, at, made, given }) {
  await job('the first page is usable at once, and an event is in the page at once', async () => {
    const usable = [];
    for (let run = 0; run < 7; run += 1) {
      await at('/');
      usable.push(Math.round(await page.value('performance.getEntriesByName("usable")[0].startTime')));
    }
    console.log(`      first page usable after ${usable.join(', ')} ms`);
    await at(`/sessions/${made.session}`);
    await page.until(`document.querySelector('[data-live]')?.innerText === 'At live'`, 'following');
    const delays = [];
    for (let run = 0; run < 20; run += 1) delays.push(Math.round(await page.value(`(${appended})(${JSON.stringify(made.session)})`)));
    console.log(`      an event is in the page ${delays.join(', ')} ms after its append was answered`);
    if (!given.measure) return;
    assert.ok(median(usable) < FIRST_PAGE_MS, `first page: ${usable}`);
    assert.ok(median(delays) < EVENT_MS, `event: ${delays}`);
  });
}

/// In the page: appends an event, and how long after the answer it is shown.
async function appended(session) {
  const text = `mark-${crypto.randomUUID()}`;
  const box = document.querySelector('.timeline');
  const seen = new Promise((done) => {
    const watch = new MutationObserver(() => { if (box.textContent.includes(text)) { watch.disconnect(); done(performance.now()); } });
    watch.observe(box, { childList: true, subtree: true, characterData: true });
  });
  await fetch(`/api/v1/sessions/${session}/events`, { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Ah-Dashboard': '1' }, body: JSON.stringify({ events: [{ type: 'note', data: { text } }] }) });
  const answered = performance.now();
  return Math.max(0, await seen - answered);
}

/// What a process has for itself alone, and what is resident of it, in bytes.
function memoryOf(pid) {
  const lines = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').split('\n');
  const sum = (name) => lines.filter((line) => line.startsWith(name)).reduce((total, line) => total + Number(line.split(/\s+/)[1]) * 1024, 0);
  return { own: sum('Private_Clean:') + sum('Private_Dirty:'), resident: sum('Rss:') };
}

/// The largest of the browser's renderers: the one that shows something.
async function renderer(browser) {
  const all = (await browser.processes('renderer')).map(memoryOf);
  return all.reduce((most, one) => (one.own > most.own ? one : most));
}

async function large({ job, ah, server, given }) {
  const number = Number(given.long);
  await job(`a session of ${number} events opens at once and stays small`, async () => {
    const session = long(ah, number);
    // A browser of its own: nothing of the other pages is in its memory.
    const browser = await launch(given.chromium);
    try { await openLong({ browser, session, number, ah, server, given }); } finally { await browser.close(); }
  });
}

async function openLong({ browser, session, number, ah, server, given }) {
  const linux = process.platform === 'linux';
  const page = await browser.newPage();
  const empty = linux && await renderer(browser);
  await page.go(invite(ah, 'reader', 'viewer'));
  await page.until('location.pathname === "/"', 'logged in');
  const opened = [];
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: `new MutationObserver((_, watch) => { if (document.querySelector('.event[data-seq]')) { window.firstEvent = performance.now(); watch.disconnect(); } }).observe(document, { childList: true, subtree: true })` });
  for (let run = 0; run < 5; run += 1) {
    await page.go(`${server.base}/sessions/${session}`);
    opened.push(Math.round(await page.until('window.firstEvent', 'the first event')));
  }
  await page.until(`!!document.querySelector('[data-seq="${number}"]')`, 'it opens at its end');
  console.log(`      opened after ${opened.join(', ')} ms`);
  const frames = await page.value(`(${scrolled})()`);
  console.log(`      frames while scrolling: median ${frames[60].toFixed(1)} ms, 95 % ${frames[114].toFixed(1)} ms, worst ${frames[119].toFixed(1)} ms`);
  for (const seq of [1, Math.floor(number / 2), number - 3, Math.floor(number / 3)]) await jump(page, seq);
  const before = linux && await renderer(browser);
  await page.send('HeapProfiler.enable');
  await page.send('HeapProfiler.collectGarbage');
  const heap = await page.value('performance.memory.usedJSHeapSize');
  const { nodes } = await page.send('Memory.getDOMCounters');
  console.log(`      JavaScript heap ${(heap / MIB).toFixed(1)} MiB, ${nodes} nodes`);
  if (linux) {
    const after = await renderer(browser);
    for (const [when, { own, resident }] of [['about:blank', empty], ['the session, as it is', before], ['the session, garbage collected', after]]) console.log(`      renderer of ${when}: ${(own / MIB).toFixed(1)} MiB private, ${(resident / MIB).toFixed(1)} MiB resident`);
    assert.ok(before.own < MEMORY_BYTES, `${before.own} bytes of the renderer alone`);
  }
  assert.ok(heap < MEMORY_BYTES, `${heap} bytes of heap`);
  await page.click('[data-live]');
  await page.until(`!!document.querySelector('[data-seq="${number}"]')`, 'jump to live');
  if (given.measure) assert.ok(median(opened) < OPEN_MS, `opened after ${opened}`);
  assert.deepEqual(page.complaints, []);
}

async function jump(page, seq) {
  await page.type('input[name=seq]', String(seq));
  await page.press('Enter');
  await page.until(`(() => { const node = document.querySelector('[data-seq="${seq}"]'); if (!node) return false; const box = node.getBoundingClientRect(); const outer = document.querySelector('.timeline').getBoundingClientRect(); return box.top >= outer.top - 1 && box.top < outer.bottom; })()`, `event ${seq} is in sight`);
  await page.until(`!document.querySelector('.event.waiting')`, 'its neighbours are read');
}

/// In the page: scrolls up in steps and leaps; how long the frames took, sorted.
async function scrolled() {
  const box = document.querySelector('.timeline');
  const times = [];
  let last = performance.now();
  for (let step = 0; step < 120; step += 1) {
    box.scrollTop -= step % 10 === 9 ? box.scrollHeight / 14 : 300;
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - last);
    last = performance.now();
  }
  return times.sort((left, right) => left - right);
}
