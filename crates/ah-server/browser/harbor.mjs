// The server of the click-through, and its data, made with `ah` as a person would.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOSTILE } from './corpus.mjs';

/// Runs `ah` in the home that the server has, given by `AH_HOME`.
export function runner(program) {
  const directory = mkdtempSync(join(tmpdir(), 'dashboard-data-'));
  return (args, { input, cwd = directory } = {}) => execFileSync(program, ['-q', ...args], { input, cwd, encoding: 'utf8', maxBuffer: 1 << 26 }).trim();
}

/// `ah up --demo` in the home: it can be killed as a power cut would, and started again at the same place.
export async function serve(program) {
  let child;
  const start = (port) => new Promise((done, fail) => {
    child = spawn(program, ['up', '--demo', '--json', '--port', port], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    let errors = '';
    child.stderr.on('data', (part) => { errors = (errors + part).slice(-2000); });
    child.stdout.on('data', (part) => { said += part; if (said.includes('\n')) done(JSON.parse(said)); });
    child.once('error', fail);
    child.once('exit', (code) => fail(new Error(`the server ended with ${code}: ${errors}`)));
  });
  const kill = () => new Promise((done) => { child.once('exit', done); child.kill('SIGKILL'); });
  const { url, dashboardUrl } = await start('0');
  return { base: url, login: dashboardUrl, pid: () => child.pid, kill, again: () => start(new URL(url).port) };
}

/// A link for another browser, or another operator in it.
export const invite = (ah, name, role = 'operator') => ah(['dashboard', '--role', role, '--name', name]);

/// A session with tool calls, and hostile words wherever words may stand.
export function seed(ah) {
  const directory = join(mkdtempSync(join(tmpdir(), 'dashboard-project-')), '<img src=x onerror=pwned=1>');
  mkdirSync(directory);
  const session = ah(['session', 'create', '--agent', 'claude-code', '--title', `Mend ${HOSTILE[0]}`, '--label', `note=${HOSTILE[1]}`, '--project-dir', directory]);
  const events = [
    ...HOSTILE.map((text) => ({ type: 'user_message', data: { text } })),
    { type: 'assistant_message', data: { text: 'I look at the lighthouse.', model: 'claude-opus-4-5', costUsd: 0.25, usage: { inputTokens: 1200, outputTokens: 300 },
      toolCalls: HOSTILE.map((name, at) => ({ id: `call-${at}`, name, arguments: { path: name } })) } },
    ...HOSTILE.map((text, at) => ({ type: 'tool_result', data: { toolCallId: `call-${at}`, text, isError: at === 0 } })),
    { type: HOSTILE[2].replace(/[^a-z]/g, ''), data: { [HOSTILE[3]]: HOSTILE[4] } },
    { type: 'turn_end', data: { outcome: 'succeeded' } },
  ];
  ah(['session', 'append', session, '--stdin-jsonl'], { input: `${events.map((event) => JSON.stringify(event)).join('\n')}\n` });
  const fork = ah(['session', 'fork', session, '--at', '5', '--title', 'The other way']);
  const child = ah(['session', 'create', '--agent', 'claude-code', '--parent', session, '--title', 'A child']);
  for (const name of ['carol', 'dave']) ah(['agent', 'create', name, '--kind', 'claude-code', '--model', 'first-model']);
  ah(['message', 'send', 'carol', HOSTILE[1]]);
  return { session, fork, child, events: events.length };
}

export function ask(ah, text, more = []) {
  return ah(['question', 'ask', text, '--from', 'carol', ...more]);
}

export function request(ah, kind, reason) {
  return ah(['approval', 'request', '--agent', 'carol', '--kind', kind, '--reason', reason, '--details', JSON.stringify({ why: HOSTILE[0] })]);
}

/// A message that its recipient could not handle, five times.
export function deadLetter(ah, to, body) {
  const message = JSON.parse(ah(['message', 'send', to, body, '--json']));
  for (let time = 0; time < 5; time += 1) {
    ah(['message', 'recv', to, '--id', message.id]);
    ah(['message', 'release', message.id, '--note', 'it does not understand']);
  }
  return message.id;
}

/// A run that was taken, and failed.
export function failedRun(ah, error) {
  const session = ah(['session', 'create', '--agent', 'claude-code', '--title', 'It will fail']);
  const run = JSON.parse(ah(['run', 'create', session, '--prompt', 'try', '--json'])).id;
  const claimed = JSON.parse(ah(['run', 'claim', '--executor', 'box-0', '--run', run, '--json']));
  const { leaseEpoch } = claimed.run || claimed;
  ah(['run', 'start', run, '--epoch', String(leaseEpoch)]);
  ah(['run', 'finish', run, 'failed', '--epoch', String(leaseEpoch), '--error', error]);
}

/// A session of many events, for what must stay fast.
export function long(ah, number) {
  const session = ah(['session', 'create', '--agent', 'claude-code', '--title', 'A very long one']);
  const lines = [];
  for (let at = 1; at <= number; at += 1) {
    const kinds = [
      () => ({ type: 'note', data: { at } }),
      () => ({ type: 'user_message', data: { text: `question ${at} ${'word '.repeat(at % 50)}` } }),
      () => ({ type: 'assistant_message', data: { text: `answer ${at} ${'lorem ipsum '.repeat(at % 40)}`, toolCalls: [{ id: `c${at}`, name: 'Bash', arguments: { command: `echo ${at}` } }] } }),
      () => ({ type: 'tool_result', data: { toolCallId: `c${at - 1}`, text: `${at}\n`.repeat(at % 60) } }),
    ];
    lines.push(JSON.stringify(kinds[at % kinds.length]()));
  }
  ah(['session', 'append', session, '--stdin-jsonl'], { input: `${lines.join('\n')}\n` });
  return session;
}

/// Many sessions, each with what it spent today, through the interface.
export async function many(server, number) {
  const token = readFileSync(join(process.env.AH_HOME, 'admin-token'), 'utf8').trim();
  const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
  const send = (path, body) => new Promise((done, fail) => {
    const asked = http.request(`${server.base}/api/v1/${path}`, { method: 'POST', agent, headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` } }, (answer) => {
      let text = '';
      answer.on('data', (part) => { text += part; });
      answer.on('end', () => (answer.statusCode < 300 ? done(JSON.parse(text)) : fail(new Error(text))));
    });
    asked.once('error', fail);
    asked.end(JSON.stringify(body));
  });
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < number; at = next++) {
      const { id } = await send('sessions', { repo: { vcs: 'git', rootPath: `/src/project-${at % 50}` }, agent: { type: 'claude-code', version: 'latest' }, title: `Session ${at} of many` });
      await send(`sessions/${id}/events`, { events: [{ type: 'assistant_message', data: { text: `answer ${at}`, model: `model-${at % 5}`, usage: { inputTokens: 1000 + at, outputTokens: 100 } } }] });
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  agent.destroy();
}
