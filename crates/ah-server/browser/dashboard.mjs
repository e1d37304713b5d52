// Clicks through every job of the dashboard in a real browser, against an `ah up --demo` of its own.
//
//   AH_HOME=$(mktemp -d) node dashboard.mjs --chromium /usr/bin/chromium --ah target/debug/ah \
//     --shots DIR [--long 100000] [--sessions 100000] [--measure] [--only WORD]
//
// Node alone, no packages. Prints a line per job and the figures; exits 1 if a job failed. With
// `--measure` a median that is over its limit fails too, which is for machines that do nothing else.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { launch } from './chromium.mjs';
import { FORBIDDEN, HOSTILE } from './corpus.mjs';
import { lostByTab, nameless, pale, tooWide } from './access.mjs';
import { ask, deadLetter, failedRun, many, request, runner, seed, serve } from './harbor.mjs';
import { mustHold } from './must.mjs';

const { values: given } = parseArgs({ options: {
  chromium: { type: 'string', default: 'chromium' }, ah: { type: 'string', default: 'ah' },
  shots: { type: 'string', default: 'shots' }, long: { type: 'string', default: '5000' }, sessions: { type: 'string', default: '0' }, only: { type: 'string', default: '' },
  measure: { type: 'boolean', default: false },
} });
mkdirSync(given.shots, { recursive: true });
const server = await serve(given.ah);
const ah = runner(given.ah);
await many(server, Number(given.sessions));
const made = seed(ah);
const browser = await launch(given.chromium);
const page = await browser.newPage();
const at = (path) => page.go(server.base + path);
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

await page.go(server.login);
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

await job('what told no cost has its price', async () => {
  const session = ah(['session', 'create', '--agent', 'claude-code', '--title', 'Priced']);
  ah(['session', 'append', session, '--type', 'assistant_message', '--data', JSON.stringify({ text: 'a million', model: 'claude-opus-4-5', usage: { inputTokens: 1000000 } })]);
  await at(`/sessions/${session}`);
  await page.shows('$5.00');
  await at('/');
  await page.shows('$5.25');
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
  for (const relative of ['A child', 'The other way', 'forked at #5', '$0.25']) await page.shows(relative);
  await shot('session');
  await page.click('[data-live]');
  ah(['session', 'append', made.session, '--type', 'assistant_message', '--data', '{"text":"the newest word"}']);
  await page.shows('the newest word');
  ah(['session', 'append', made.session, '--type', 'snapshot', '--data', '{"number":3,"provider":"git","reference":"refs/ah/sessions/it/3","message":"before the cut"}']);
  await page.shows('snapshot 3 by git: before the cut');
  await at(`/sessions/${made.fork}`);
  await page.shows('It goes on from');
});

await job('a session is exported whole', async () => {
  await at(`/sessions/${made.session}`);
  await page.until(`[...document.querySelectorAll('a[download]')].some((each) => each.innerText === 'Export')`, 'the button');
  // The document that the button saves is the one that the program writes.
  const saved = await page.value(`fetch(document.querySelector('a[download]').href).then(async (answer) => ({ name: answer.headers.get('content-disposition'), text: await answer.text() }))`);
  assert.deepEqual(saved, { name: `attachment; filename="session-${made.session}.jsonl"`, text: `${ah(['session', 'export', made.session])}\n` });
});

await job('an approval of a commit shows what it changes', async () => {
  const home = join(process.env.AH_HOME, 'agents', 'carol', 'config');
  const git = (...args) => execFileSync('git', args, { cwd: home, encoding: 'utf8', env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' } });
  const propose = (text, reason) => {
    writeFileSync(join(home, 'agent.toml'), text);
    git('add', '-A');
    git('commit', '-qm', reason);
    return ah(['approval', 'request', '--agent', 'carol', '--kind', 'apply_commit', '--reason', reason]);
  };
  ah(['approval', 'approve', propose('model = "first"\nretries = 3\n', 'the first words')]);
  propose(`model = "second"\nretries = 3\nmotto = '${HOSTILE[1]}'\n`, 'another model');
  await at('/approvals');
  await page.until(`document.querySelectorAll('.diff .more').length === 2`, 'what it changes');
  assert.deepEqual(await page.value(`[...document.querySelectorAll('.diff .more, .diff .less')].map((each) => each.textContent)`), ['-model = "first"', '+model = "second"', `+motto = '${HOSTILE[1]}'`]);
  await shot('diff');
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
  const session = JSON.parse(ah(['agent', 'show', 'dave', '--json'])).activeSessionId;
  const run = JSON.parse(ah(['run', 'create', session, '--prompt', 'go on', '--json'])).id;
  ah(['run', 'claim', '--executor', 'box-7', '--run', run]);
  await page.shows('on box-7');
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
  for (const what of ['cost', 'sessions', 'errors']) {
    await at(`/stats?what=${what}`);
    await page.until(`document.querySelector('.chart svg')?.getAttribute('aria-label').startsWith('${what}') && document.querySelectorAll('.chart rect').length > 0`, `bars of ${what}`);
  }
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

await mustHold({ job, page, at, shot, ah, made, server, given, browser });

await job('who logs out is asked for a link', async () => {
  await at('/');
  await page.click('button', 'Log out');
  await page.shows('ah dashboard');
  await at('/agents');
  await page.shows('ah dashboard');
  await shot('login');
});

await browser.close();
await server.kill();
console.log(failed ? `${failed} jobs failed` : 'all jobs done');
process.exit(failed ? 1 : 0);
