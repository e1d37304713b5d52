// Clicks through every job of the dashboard in a real browser, against a live `ah up --demo`.
//
//   AH_HOME=… node dashboard.mjs --base http://127.0.0.1:4747 --login '/login#CODE' \
//     --chromium /usr/bin/chromium --ah target/debug/ah --shots DIR [--long 100000] [--only WORD]
//
// Node alone, no packages. Prints a line per job and the figures; exits 1 if a job failed.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { launch } from './chromium.mjs';
import { FORBIDDEN, HOSTILE } from './corpus.mjs';
import { relay } from './relay.mjs';
import { lostByTab, nameless, pale, tooWide } from './access.mjs';
import { ask, deadLetter, failedRun, long, request, runner, seed } from './harbor.mjs';

const { values: given } = parseArgs({ options: {
  base: { type: 'string' }, login: { type: 'string', default: '/' }, chromium: { type: 'string', default: 'chromium' }, ah: { type: 'string', default: 'ah' },
  shots: { type: 'string', default: 'shots' }, long: { type: 'string', default: '5000' }, only: { type: 'string', default: '' },
} });
mkdirSync(given.shots, { recursive: true });
const ah = runner(given.ah);
const made = seed(ah);
const browser = await launch(given.chromium);
const page = await browser.newPage();
const line = await relay(given.base);
const at = (path) => page.go(line.base + path);
const shot = (name) => page.shot(join(given.shots, `${name}.png`));
let failed = 0;

async function job(name, deed) {
  if (!name.includes(given.only)) return;
  const begun = Date.now();
  try {
    page.complaints.length = 0;
    await deed();
    assert.deepEqual(page.complaints, [], 'the browser has nothing to complain of');
    console.log(`ok    ${name} (${Date.now() - begun} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}: ${error.message.slice(0, 900)}`);
    await shot(`failed-${name.replace(/\W+/g, '-')}`).catch(() => {});
  }
}

await page.go(line.base + given.login);
await page.until('location.pathname === "/" && document.querySelector("main h1")?.innerText === "Home"', 'logged in');

await job('home shows what needs me, what runs and what it cost', async () => {
  const question = ask(ah, 'May I lower the bridge?', ['--option', 'yes', '--option', 'no', '--ttl', '5m']);
  request(ah, 'deploy', 'the tide is right');
  await at('/');
  await page.shows('May I lower the bridge?');
  await page.shows('the tide is right');
  await page.until(`/[0-4]:\\d\\d left/.test(document.querySelector('[data-deadline]').innerText)`, 'a countdown');
  await page.shows('$0.25');
  await shot('home');
  assert.ok(question);
});

await job('home shows dead letters and failed runs, and queues a letter again', async () => {
  const letter = deadLetter(ah, 'carol', `do the impossible ${HOSTILE[2]}`);
  failedRun(ah, `the compiler said ${HOSTILE[1]}`);
  await at('/');
  await page.shows(`do the impossible ${HOSTILE[2]}`);
  await page.shows(`the compiler said ${HOSTILE[1]}`);
  await shot('home-bad');
  await page.click('[aria-label="Dead letter from operator to carol"] button', 'Queue again');
  await page.until(`!document.querySelector('[aria-label="Dead letter from operator to carol"]')`, 'it is gone');
  assert.equal(JSON.parse(ah(['message', 'show', letter, '--json'])).status, 'queued');
});

await job('an executor is drained and taken back, a fleet is shown', async () => {
  await at('/executors');
  const answer = await page.value(`fetch('/api/v1/executors/box-1', { method: 'PUT', headers: { 'Content-Type': 'application/json', 'X-Ah-Dashboard': '1' }, body: JSON.stringify({ id: 'box-1', offer: { hostname: ${JSON.stringify(HOSTILE[1])}, tags: ['big'] } }) }).then((got) => got.status)`);
  assert.equal(answer, 200);
  const session = ah(['session', 'create', '--agent', 'claude-code', '--title', 'With a fleet']);
  ah(['fleet', 'create', session, '--member', 'captain', '--member', 'mate']);
  await page.shows('captain leads');
  await page.click('button', 'Drain box-1');
  await page.until(`[...document.querySelectorAll('button')].some((each) => each.getAttribute('aria-label') === 'Activate box-1')`, 'it is draining');
  assert.equal(JSON.parse(ah(['executor', 'show', 'box-1', '--json'])).status, 'draining');
  await page.click('button', 'Activate box-1');
  await page.until(`[...document.querySelectorAll('button')].some((each) => each.getAttribute('aria-label') === 'Drain box-1')`, 'it is active');
  await shot('executors');
});

await job('an approval is approved, and denied with a reason', async () => {
  const [yes, no] = [request(ah, 'raise-anchor', 'we sail'), request(ah, 'cut-rope', 'it is old')];
  await at('/approvals');
  await page.shows('raise-anchor');
  await page.click('[aria-label="Approval: carol asks for raise-anchor"] button', 'Approve');
  await page.until('!document.querySelector(\'[aria-label="Approval: carol asks for raise-anchor"]\')', 'it is gone from the pending');
  await page.type('[aria-label="Approval: carol asks for cut-rope"] input', 'not on a Friday');
  await page.click('[aria-label="Approval: carol asks for cut-rope"] button', 'Deny');
  await page.shows('— not on a Friday');
  assert.equal(JSON.parse(ah(['approval', 'show', yes, '--json'])).status, 'approved');
  assert.deepEqual((({ status, note }) => ({ status, note }))(JSON.parse(ah(['approval', 'show', no, '--json']))), { status: 'denied', note: 'not on a Friday' });
  await shot('approvals');
});

await job('the second of two operators sees who decided', async () => {
  request(ah, 'open-lock', 'water is high');
  await at('/approvals');
  await page.shows('open-lock');
  // The other operator decides between the click and its request.
  await page.value(`(() => { const real = window.fetch; window.fetch = async (to, how) => {
    if (String(to).endsWith('/decision')) await real(to, { ...how, headers: { ...how.headers, 'Idempotency-Key': crypto.randomUUID() }, body: JSON.stringify({ verdict: 'denied', note: 'I was first' }) });
    return real(to, how); }; })()`);
  await page.click('[aria-label="Approval: carol asks for open-lock"] button', 'Approve');
  await page.shows('Somebody was faster');
  await page.until(`/denied already, decided by operator.*I was first/.test(document.querySelector('#toasts').innerText)`, 'who decided');
});

await job('questions are answered by option, by several, and in words', async () => {
  const one = ask(ah, 'Which pier?', ['--option', 'north', '--option', 'south']);
  const several = ask(ah, 'Which crew?', ['--option', 'ann', '--option', 'ben', '--option', 'cy', '--multi']);
  const words = ask(ah, 'Which name?', ['--option', 'Anna', '--free-text']);
  await at('/questions');
  const card = (text) => page.value(`(() => { const node = [...document.querySelectorAll('article')].find((each) => each.innerText.includes(${JSON.stringify(text)})); node.id = 'it'; })()`);
  const answer = async (text, deed) => { await page.shows(text); await card(text); await deed(); await page.click('#it button', 'Answer'); await page.until(`!document.querySelector('form.answer') || !document.querySelector('#it form.answer')`, 'answered'); await page.value('document.getElementById("it")?.removeAttribute("id")'); };
  await answer('Which pier?', () => page.click('#it input[value=south]'));
  await answer('Which crew?', async () => { await page.click('#it input[value=ann]'); await page.click('#it input[value=cy]'); });
  await answer('Which name?', () => page.type('#it textarea', 'Harbor of <b>Hope</b>'));
  const values = (id) => JSON.parse(ah(['question', 'show', id, '--json'])).answer.values;
  assert.deepEqual([values(one), values(several), values(words)], [['south'], ['ann', 'cy'], ['Harbor of <b>Hope</b>']]);
  await shot('questions');
});

await job('half-typed answers, open details, focus and scroll survive updates', async () => {
  ask(ah, 'Long story?', ['--free-text']);
  request(ah, 'keep-open', 'details stay open');
  await at('/');
  await page.shows('Long story?');
  const field = 'article[aria-label="Question of carol"] textarea';
  await page.type(field, 'half a sent');
  await page.click('[aria-label="Approval: carol asks for keep-open"] summary');
  await page.value(`(document.querySelector(${JSON.stringify(field)}).focus(), window.scrollTo(0, 60), window.kept = document.activeElement)`);
  for (let time = 0; time < 3; time += 1) request(ah, `more-${time}`, 'more comes in');
  await page.shows('more-2');
  assert.deepEqual(await page.value(`({ text: document.querySelector(${JSON.stringify(field)}).value, same: document.activeElement === window.kept, open: document.querySelector('[aria-label="Approval: carol asks for keep-open"] details').open, scroll: scrollY })`), { text: 'half a sent', same: true, open: true, scroll: 60 });
  await at('/');
  assert.equal(await page.value(`document.querySelector(${JSON.stringify(field)}).value`), 'half a sent', 'a reload of the tab keeps it too');
});

await job('sessions are filtered and searched', async () => {
  await at('/sessions');
  await page.shows('The other way');
  await page.type('main input[name=title]', 'The other');
  await page.press('Enter');
  await page.lacks('A child');
  await page.shows('The other way');
  await at('/sessions?status=running');
  await page.lacks('The other way');
  await at('/sessions');
  ah(['search', 'lighthouse']);
  await page.press('/');
  await page.type('main input[name=q]', 'lighthouse');
  await page.press('Enter');
  await page.until(`document.querySelector('mark')?.innerText === 'lighthouse'`, 'the word is marked');
  await shot('search');
  await page.click('.hits a');
  await page.until(`!!document.querySelector('.event.marked')`, 'the event that was found is marked');
});

await job('a session replays: tools folded, tree, cost, live', async () => {
  await at(`/sessions/${made.session}`);
  await page.until(`document.querySelectorAll('.event[data-seq]').length > 5`, 'events');
  await page.click('button', 'Start');
  await page.until(`!!document.querySelector('[data-seq="1"]')`, 'the first event');
  await page.value(`document.querySelector('.timeline').scrollTop = 400`);
  await page.until(`!!document.querySelector('[data-seq="11"] details')`, 'the calls');
  assert.equal(await page.value(`document.querySelector('[data-seq="11"] details').open`), false, 'calls are folded');
  await page.click('[data-seq="11"] details summary');
  await page.until(`/Input[^]*Output/.test(document.querySelector('[data-seq="11"] details[open]')?.innerText)`, 'input and output');
  await page.shows('A child');
  await page.shows('$0.25');
  await shot('session');
  await page.click('[data-live]');
  ah(['session', 'append', made.session, '--type', 'assistant_message', '--data', '{"text":"the newest word"}']);
  await page.shows('the newest word');
  await at(`/sessions/${made.fork}`);
  await page.shows('It goes on from');
});

await job('a session is exported whole', async () => {
  await at(`/sessions/${made.session}`);
  await page.value(`(() => { const real = URL.createObjectURL; URL.createObjectURL = (blob) => { window.exported = blob.text(); return real(blob); }; })()`);
  await page.click('button', 'Export');
  await page.until('window.exported', 'the file');
  const lines = (await page.value('window.exported')).trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(lines[0].session.id, made.session);
  assert.deepEqual(lines.slice(1).map((event) => event.seq), Array.from({ length: lines[0].session.lastSeq }, (_, before) => before + 1));
});

await job('a session is pinned, forked and stopped', async () => {
  await at(`/sessions/${made.session}`);
  await page.click('button', 'Pin');
  await page.until(`[...document.querySelectorAll('button')].some((each) => each.innerText === 'Unpin')`, 'pinned');
  await page.until(`document.querySelectorAll('.fork').length > 0`, 'events');
  await page.value(`document.querySelector('.fork').click()`);
  await page.type('dialog input', 'Forked by hand');
  await page.click('dialog button', 'Fork');
  await page.until(`document.querySelector('h1').innerText === 'Forked by hand'`, 'the fork is shown');
  await page.click('button', 'Stop');
  await page.until(`!!document.querySelector('.heading .badge') && /cancelled|stopping/.test(document.querySelector('.heading .badge').innerText)`, 'stopped');
});

await job('an agent gets another model, mail, and its end', async () => {
  await at('/agents');
  await page.shows('carol');
  await page.until(`/[1-9] in inbox/.test(document.querySelector('main').innerText)`, 'how much mail waits');
  await page.click('[aria-label="Model of dave: first-model. Change"]');
  await page.type('input[aria-label="Model of dave"]', 'second-model');
  await page.press('Enter');
  await page.until(`!!document.querySelector('[aria-label="Model of dave: second-model. Change"]')`, 'the chip shows it');
  assert.equal(JSON.parse(ah(['agent', 'show', 'dave', '--json'])).model, 'second-model');
  await shot('agents');
  await page.click('main a', 'dave');
  await page.type('textarea[name=body]', 'hello from the page');
  await page.click('button', 'Send');
  await page.shows('operator → dave hello from the page');
  await page.click('button', 'Destroy');
  await page.type('dialog input', 'dav');
  assert.equal(await page.value('document.querySelector("dialog .danger").disabled'), true, 'half a name is not enough');
  await page.type('dialog input', 'dave');
  await page.click('dialog .danger');
  await page.until(`document.querySelector('.heading .badge').innerText === 'destroyed'`, 'destroyed');
  await page.click('button', 'Revive');
  await page.shows('once its spawn is approved');
  await at('/agents');
  await page.shows('KEPT OF DESTROYED AGENTS');
  await page.click('button', 'Purge dave');
  await page.type('dialog input', 'dave');
  await page.click('dialog .danger');
  await page.until(`!document.querySelector('main').innerText.includes('dave')`, 'dave is gone');
});

await job('executors, stats and settings are shown', async () => {
  await at('/executors');
  await page.shows('MACHINES');
  await at('/stats');
  await page.until(`document.querySelectorAll('.chart rect').length > 0`, 'bars');
  await shot('stats');
  await at('/settings');
  await page.shows('ready');
  await page.click('button', 'Plan');
  await page.click('button', 'New token');
  await page.type('dialog input[name=name]', 'made by a click');
  await page.click('dialog button', 'Make');
  const secret = await page.until(`document.querySelector('.secret')?.innerText`, 'the secret');
  await page.click('dialog button', 'I have it');
  await page.shows('made by a click');
  const who = await page.value(`fetch('/api/v1/whoami', { headers: { Authorization: 'Bearer ${secret}' }, credentials: 'omit' }).then(async (answer) => ({ status: answer.status, role: (await answer.json()).role }))`);
  assert.deepEqual(who, { status: 200, role: 'viewer' });
  await shot('settings');
  await page.click('[aria-label="Revoke made by a click"]');
  await page.type('dialog input', 'made by a click');
  await page.click('dialog .danger');
  await page.until(`!document.querySelector('[aria-label="Revoke made by a click"]')`, 'revoked');
});

await job('what comes while nobody looks is told once, under its own tag', async () => {
  await at('/sessions');
  await page.until(`!!document.querySelector('.line.live') && !!document.querySelector('#places .count')`, 'live, and what waits is known');
  await page.value(`(() => { window.told = []; Object.defineProperty(document, 'hidden', { get: () => true });
    window.Notification = class { static permission = 'granted'; constructor(title, { tag, body }) { window.told.push({ title, tag, body }); } }; })()`);
  const approval = request(ah, 'wake-me', 'it is urgent');
  await page.until('window.told.length > 0', 'a notification');
  const question = ask(ah, 'Are you there?');
  await page.until('window.told.length > 1', 'another notification');
  assert.deepEqual(await page.value('window.told'), [
    { title: 'carol asks for wake-me', tag: `approval-${approval}`, body: 'it is urgent' },
    { title: 'carol asks', tag: `question-${question}`, body: 'Are you there?' },
  ]);
});

await job('hostile words are shown as text and do nothing', async () => {
  request(ah, 'hostile', HOSTILE.join(' '));
  ask(ah, HOSTILE.join(' '), HOSTILE.slice(0, 4).flatMap((option) => ['--option', option]));
  const places = ['/', '/approvals', '/questions', '/sessions', `/sessions/${made.session}`, `/sessions/${made.session}?at=12`, '/agents/carol', `/sessions?q=pwned`, `/sessions?q=${encodeURIComponent(HOSTILE[1])}`, `/agents/${encodeURIComponent(HOSTILE[1])}`, '/stats'];
  for (const place of places) {
    await at(place);
    await page.value(`document.querySelectorAll('details').forEach((each) => { each.open = true; })`);
    await new Promise((done) => setTimeout(done, 150));
    assert.deepEqual([place, await page.value('window.pwned ?? null'), await page.value(`[...document.querySelectorAll(${JSON.stringify(FORBIDDEN)})].map((node) => node.outerHTML)`)], [place, null, []]);
  }
  await at('/approvals');
  for (const word of HOSTILE) await page.until(`document.querySelector('main').textContent.includes(${JSON.stringify(word.replace('\u202E', '⟨U+202E⟩'))})`, word);
});

await job('everybody can use it: names, contrast, order of Tab, 360 pixels', async () => {
  for (const place of ['/', '/approvals', '/questions', '/agents', '/agents/carol', '/sessions', `/sessions/${made.session}`, '/executors', '/stats', '/settings']) {
    await page.size(1280, 800);
    for (const scheme of ['light', 'dark']) {
      await page.colours(scheme);
      await at(place);
      assert.deepEqual([place, scheme, await pale(page)], [place, scheme, []]);
    }
    assert.deepEqual([place, await nameless(page)], [place, []]);
    assert.deepEqual([place, await lostByTab(page, 40)], [place, []]);
    assert.equal(await page.value(`document.querySelectorAll('h1').length`), 1, `${place} has one heading`);
    await page.size(360, 740);
    await at(place);
    assert.deepEqual([place, await tooWide(page)], [place, 0]);
    await shot(`phone-${place.split('/')[1] || 'home'}${place.split('/').length > 2 ? '-one' : ''}`);
  }
  await page.size(1280, 800);
  await page.colours('light');
});

await job('the keyboard alone goes everywhere', async () => {
  await at('/');
  for (const [key, heading] of [['a', 'Agents'], ['p', 'Approvals'], ['q', 'Questions'], ['s', 'Sessions'], ['e', 'Executors'], ['t', 'Stats'], ['x', 'Settings'], ['h', 'Home']]) {
    await page.press('g');
    await page.press(key);
    await page.until(`document.activeElement?.matches('h1') && document.activeElement.innerText === ${JSON.stringify(heading)}`, `g ${key} gives the focus to ${heading}`);
  }
  await page.press('?');
  await page.shows('Next and last row of a list');
  await page.press('Escape');
  await page.until(`!document.querySelector('dialog')`, 'the help is closed');
  await page.press('g');
  await page.press('s');
  await page.until(`document.querySelector('h1').innerText === 'Sessions' && document.querySelectorAll('main [data-row]').length > 2`, 'rows');
  await page.press('j');
  await page.press('j');
  assert.equal(await page.value(`[...document.querySelectorAll('main [data-row]')].indexOf(document.activeElement)`), 1);
  await page.press('Enter');
  await page.until(`location.pathname.startsWith('/sessions/')`, 'Enter opens the row');
});

await job('a server that is gone is told, and what was missed comes without a reload', async () => {
  await at('/approvals');
  await page.until(`document.querySelector('.line.live')`, 'live');
  await page.value('window.sameDocument = true');
  await line.cut();
  request(ah, 'while-away', 'you slept');
  await page.until(`/server gone/.test(document.querySelector('.line').innerText)`, 'the page says so');
  await shot('gone');
  await line.mend();
  await page.shows('while-away', 20000);
  await page.until(`!!document.querySelector('.line.live')`, 'live again', 20000);
  assert.equal(await page.value('window.sameDocument'), true);
});

await job('figures', async () => {
  const usable = [];
  for (let run = 0; run < 5; run += 1) {
    await at('/');
    usable.push(Math.round(await page.value('performance.getEntriesByName("usable")[0].startTime')));
  }
  console.log(`      first page usable after ${usable.join(', ')} ms`);
  await at(`/sessions/${made.session}`);
  await page.until(`document.querySelector('[data-live]')?.innerText === 'At live'`, 'following');
  const delays = [];
  for (let run = 0; run < 10; run += 1) {
    delays.push(Math.round(await page.value(`(async () => {
      const text = 'mark-' + crypto.randomUUID();
      const seen = new Promise((done) => { const watch = new MutationObserver(() => { if (document.querySelector('.timeline').textContent.includes(text)) { watch.disconnect(); done(performance.now()); } }); watch.observe(document.querySelector('.timeline'), { childList: true, subtree: true, characterData: true }); });
      await fetch('/api/v1/sessions/${made.session}/events', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Ah-Dashboard': '1' }, body: JSON.stringify({ events: [{ type: 'note', data: { text } }] }) });
      const begun = performance.now();
      return Math.max(0, await seen - begun);
    })()`)));
  }
  console.log(`      an event is in the page ${delays.join(', ')} ms after its append was answered`);
});

await job('a long session opens at once and stays small', async () => {
  const number = Number(given.long);
  const session = long(ah, number);
  const opened = [];
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: `new MutationObserver((_, watch) => { if (document.querySelector('.event[data-seq]')) { window.firstEvent = performance.now(); watch.disconnect(); } }).observe(document, { childList: true, subtree: true })` });
  for (let run = 0; run < 5; run += 1) {
    await at(`/sessions/${session}`);
    opened.push(Math.round(await page.until('window.firstEvent', 'the first event')));
  }
  await page.until(`!!document.querySelector('[data-seq="${number}"]')`, 'it opens at its end');
  console.log(`      a session of ${number} events opened after ${opened.join(', ')} ms`);
  const frames = await page.value(`(async () => {
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
  })()`);
  console.log(`      frames while scrolling: median ${frames[60].toFixed(1)} ms, 95 % ${frames[114].toFixed(1)} ms, worst ${frames[119].toFixed(1)} ms`);
  for (const seq of [1, Math.floor(number / 2), number - 3, Math.floor(number / 3)]) {
    await page.type('input[name=seq]', String(seq));
    await page.press('Enter');
    await page.until(`(() => { const node = document.querySelector('[data-seq="${seq}"]'); if (!node) return false; const box = node.getBoundingClientRect(); const outer = document.querySelector('.timeline').getBoundingClientRect(); return box.top >= outer.top - 1 && box.top < outer.bottom; })()`, `event ${seq} is in sight`);
    await page.until(`!document.querySelector('.event.waiting')`, 'its neighbours are read');
  }
  await shot('long');
  await page.send('HeapProfiler.enable');
  await page.send('HeapProfiler.collectGarbage');
  const memory = await page.value('performance.memory.usedJSHeapSize');
  const { nodes } = await page.send('Memory.getDOMCounters');
  console.log(`      heap ${(memory / 1048576).toFixed(1)} MiB, ${nodes} nodes`);
  assert.ok(memory < 200 * 1048576);
  await page.click('[data-live]');
  await page.until(`!!document.querySelector('[data-seq="${number}"]')`, 'jump to live');
});

await job('who logs out is asked for a link', async () => {
  await at('/');
  await page.click('button', 'Log out');
  await page.shows('ah dashboard');
  await at('/agents');
  await page.shows('ah dashboard');
  await shot('login');
});

await browser.close();
line.close();
console.log(failed ? `${failed} jobs failed` : 'all jobs done');
process.exit(failed ? 1 : 0);
