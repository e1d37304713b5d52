// Makes the pictures of `docs/tour.md`, in a harbor with an ordinary day in it.
//
//   AH_HOME=$(mktemp -d) node tour.mjs --chromium /usr/bin/chromium --ah target/debug/ah --shots docs/tour

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { launch } from './chromium.mjs';
import { ask, deadLetter, failedRun, runner, serve } from './harbor.mjs';
import { small } from './png.mjs';

const { values: given } = parseArgs({ options: {
  chromium: { type: 'string', default: 'chromium' }, ah: { type: 'string', default: 'ah' }, shots: { type: 'string', default: 'docs/tour' },
} });
mkdirSync(given.shots, { recursive: true });
const server = await serve(given.ah);
const ah = runner(given.ah);
const day = ordinaryDay(ah);
const browser = await launch(given.chromium);
const page = await browser.newPage();
await page.size(1000, 640);
await page.go(server.login);
await page.until('location.pathname === "/" && document.querySelector("main h1")?.innerText === "Home"', 'logged in');

async function picture(name, place, until, deed = async () => {}) {
  await page.go(server.base + place);
  await page.until(until, name);
  await deed();
  const { data } = await page.send('Page.captureScreenshot', { format: 'png' });
  writeFileSync(join(given.shots, `${name}.png`), small(Buffer.from(data, 'base64')));
}

await picture('home', '/', `document.body.innerText.includes('tokens') && document.body.innerText.includes('Which region')`);
await picture('approval', '/approvals', `document.querySelectorAll('.diff .more').length > 0`);
await picture('sessions', '/sessions', `document.querySelectorAll('main [data-row]').length > 3`);
await picture('session', `/sessions/${day.session}`, `document.querySelectorAll('.event[data-seq]').length > 5 && document.body.innerText.includes('TREE')`, async () => {
  await page.click('button', 'Start');
  await page.until(`!!document.querySelector('[data-seq="2"] details')`, 'the first call');
  await page.click('[data-seq="2"] details summary');
});
ah(['search', 'retry']);
await picture('search', '/sessions?q=retry', `!!document.querySelector('mark')`);
await picture('agents', '/agents', `document.body.innerText.includes('carol')`);
await picture('stats', '/stats?days=30&what=cost', `document.querySelectorAll('.chart rect').length > 3`);
await page.size(360, 640);
await page.colours('dark');
await picture('phone', '/', `document.body.innerText.includes('Which region')`);
await browser.close();
await server.kill();
process.exit(0);

/// Sessions with tools, tokens of several days, and things that wait.
function ordinaryDay(ah) {
  for (const [name, model] of [['carol', 'claude-opus-4-5'], ['dave', 'gpt-5']]) ah(['agent', 'create', name, '--kind', 'claude-code', '--model', model]);
  for (const [title, model, scale] of [['Upgrade the HTTP client', 'gpt-5', 3], ['Write the release notes', 'claude-sonnet-4-5', 2], ['Find the slow query', 'claude-opus-4-5', 4]]) spent(ah, title, model, scale);
  failedRun(ah, 'the tests of the parser did not pass');
  const session = mending(ah);
  ah(['session', 'fork', session, '--at', '4', '--title', 'The same with a queue']);
  ah(['session', 'create', '--agent', 'claude-code', '--parent', session, '--title', 'Review of the change']);
  configuration(ah);
  deadLetter(ah, 'dave', 'please look at the flaky test again');
  ask(ah, 'Which region first?', ['--option', 'eu-central', '--option', 'us-east', '--ttl', '30m']);
  return { session };
}

function append(ah, session, events) {
  ah(['session', 'append', session, '--stdin-jsonl'], { input: `${events.map((event) => JSON.stringify(event)).join('\n')}\n` });
}

/// What a session spent over the last three weeks.
function spent(ah, title, model, scale) {
  const session = ah(['session', 'create', '--agent', 'claude-code', '--title', title]);
  const events = [];
  for (let back = 20; back >= 0; back -= scale) {
    const ts = new Date(Date.now() - back * 86400000).toISOString();
    events.push({ type: 'assistant_message', ts, data: { text: `${title}: step ${21 - back}`, model, usage: { inputTokens: 40000 * (1 + ((back * 7) % 5)), outputTokens: 9000 * scale } } });
  }
  append(ah, session, events);
}

function mending(ah) {
  const session = ah(['session', 'create', '--agent', 'claude-code', '--title', 'Mend the retry of uploads']);
  const call = (id, name, input) => ({ id, name, arguments: input });
  append(ah, session, [
    { type: 'user_message', data: { text: 'Uploads fail on a slow line. Please mend the retry.' } },
    { type: 'assistant_message', data: { text: 'I look at how uploads are sent.', model: 'claude-opus-4-5', usage: { inputTokens: 12000, outputTokens: 400 }, toolCalls: [call('a', 'Read', { path: 'src/upload.rs' }), call('b', 'Bash', { command: 'cargo test upload' })] } },
    { type: 'tool_result', data: { toolCallId: 'a', text: 'fn send(part: &Part) -> Result<(), Error> {\n    client.put(part)?;\n    Ok(())\n}' } },
    { type: 'tool_result', data: { toolCallId: 'b', text: 'test upload::a_slow_line ... FAILED', isError: true } },
    { type: 'assistant_message', data: { text: 'A part that timed out is never sent again. I add a retry with a growing pause.', model: 'claude-opus-4-5', usage: { inputTokens: 16000, outputTokens: 900 }, toolCalls: [call('c', 'Edit', { path: 'src/upload.rs', add: 'for pause in PAUSES { … }' }), call('d', 'Bash', { command: 'cargo test upload' })] } },
    { type: 'tool_result', data: { toolCallId: 'c', text: 'changed 1 file' } },
    { type: 'tool_result', data: { toolCallId: 'd', text: 'test result: ok. 14 passed' } },
    { type: 'assistant_message', data: { text: 'Done: a part is sent up to five times, and the test of the slow line passes.', model: 'claude-opus-4-5', usage: { inputTokens: 17000, outputTokens: 300 } } },
    { type: 'turn_end', data: { outcome: 'succeeded' } },
  ]);
  return session;
}

/// A configuration in force, and a change of it that waits.
function configuration(ah) {
  const home = join(process.env.AH_HOME, 'agents', 'carol', 'config');
  const git = (...args) => execFileSync('git', args, { cwd: home, encoding: 'utf8', env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' } });
  const propose = (text, reason) => {
    writeFileSync(join(home, 'agent.toml'), text);
    git('add', '-A');
    git('commit', '-qm', reason);
    return ah(['approval', 'request', '--agent', 'carol', '--kind', 'apply_commit', '--reason', reason]);
  };
  ah(['approval', 'approve', propose('model = "claude-sonnet-4-5"\nretries = 3\n', 'begin')]);
  propose('model = "claude-opus-4-5"\nretries = 3\nreviewer = "dave"\n', 'the larger model finds more, and dave reviews');
}
