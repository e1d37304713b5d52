// What happens now: the server's streams, read over `fetch`.
//
// `EventSource` gives only events whose names are known before, and hides why a stream was refused;
// event types are anybody's words here, so we read the stream ourselves. The place is kept in the
// page: after sleep, a restart of the server or a lost line the stream goes on behind it.

import { get, Unreachable, Problem, queryOf } from './api.js';

const BACKOFF_MS = [250, 500, 1000, 2000, 4000, 8000];
/// The server sends a comment every few seconds; a line that is silent for longer is dead.
const SILENCE_MS = 45000;
export const KINDS = ['session-created', 'session-updated', 'session-deleted', 'run-queued', 'run-updated', 'run-stopping',
  'executor-updated', 'agent-updated', 'message-queued', 'message-updated', 'approval-updated', 'question-updated',
  'fleet-updated', 'fence-updated', 'changes-trimmed'];

/// A browser gives a server six connections over HTTP/1.1 for all its tabs. A page that nobody sees
/// (left behind for the back button, or a hidden tab without notifications) has to give its own back.
const HIDDEN_MS = 15000;
const lines = new Set();
let resting = false;
let hiding = 0;
function rest(now) {
  if (now === resting) return;
  resting = now;
  for (const line of lines) line.rest(now);
}
addEventListener('pagehide', () => rest(true));
addEventListener('pageshow', () => rest(false));
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding);
  if (!document.hidden) { rest(false); return; }
  if (!('Notification' in window) || Notification.permission !== 'granted') hiding = setTimeout(() => rest(true), HIDDEN_MS);
});

/// Follows `path` from a place until `stop`; calls `each(entry)`, and `state('live' | 'gone')`.
export function follow({ path, query = {}, after, each, state = () => {}, refused = () => {} }) {
  let place = after;
  let controller;
  let stopped = false;
  let tries = 0;
  let wake = () => {};
  const again = () => { tries = 0; wake(); };
  const line = { rest: (now) => { if (now) controller?.abort(); else again(); } };
  const stop = () => { stopped = true; lines.delete(line); controller?.abort(); wake(); };
  lines.add(line);
  (async () => {
    while (!stopped) {
      if (resting) { await new Promise((done) => { wake = done; }); continue; }
      controller = new AbortController();
      try {
        await stream(controller, path, { ...query, after: place }, () => { tries = 0; state('live'); }, (id, data) => {
          if (id) place = id;
          each(data);
        });
      } catch (error) {
        if (stopped) return;
        if (error instanceof Problem && error.status !== 429 && error.status < 500) { refused(error); return; }
        if (!resting) state('gone');
      }
      if (stopped) return;
      const wait = BACKOFF_MS[Math.min(tries++, BACKOFF_MS.length - 1)];
      await new Promise((done) => { wake = done; setTimeout(done, wait); });
    }
  })();
  return { stop, again };
}

async function stream(controller, path, query, opened, each) {
  let timer;
  const heard = () => { clearTimeout(timer); timer = setTimeout(() => controller.abort(), SILENCE_MS); };
  heard();
  try {
    const answer = await fetch(`/api/v1/${path}${queryOf(query)}`, { headers: { Accept: 'text/event-stream' }, signal: controller.signal, credentials: 'same-origin' });
    if (!answer.ok) throw new Problem(answer.status, await answer.json().catch(() => ({})));
    opened();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) take(block, each);
    }
  } finally {
    clearTimeout(timer);
  }
}

function take(block, each) {
  let id;
  let name;
  const data = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('id:')) id = line.slice(3).trim();
    else if (line.startsWith('event:')) name = line.slice(6).trim();
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  if (!data.length) return;
  const value = JSON.parse(data.join('\n'));
  if (name === 'problem' && !id) throw new Problem(value.status || 401, value);
  each(id, value);
}

/// The feed of changes: one stream for the whole page.
export async function feed({ change, state, refused }) {
  let after;
  while (after === undefined) {
    try {
      after = (await get('feed/end')).cursor;
    } catch (error) {
      if (!(error instanceof Unreachable) && error.status < 500) { refused(error); return { stop() {}, again() {} }; }
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
  return follow({ path: 'feed', query: { types: KINDS }, after, each: (entry) => entry.change && change(entry.change), state, refused });
}
