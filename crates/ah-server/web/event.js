// One event of a session as people read it: who spoke, what was said, which tools were called.
//
// Payloads are those of many programs (ours, hooks, transcripts); what is not understood is shown as
// JSON. Everything becomes text, and long text is cut until somebody asks for all of it.

import { h } from './dom.js';
import { clock, span, count, when } from './format.js';
import { badge, link } from './ui.js';
import { path } from './api.js';

const TEXT_CHARACTERS = 6000;
const QUIET = new Set(['turn_end', 'session_start', 'usage', 'note', 'tool_status', 'session_stop']);

/// What an event says: `{who, text, calls: [{id, name, input}], results: [{id, name, output, failed}]}`.
export function read(event) {
  const data = event.data && typeof event.data === 'object' && !Array.isArray(event.data) ? event.data : {};
  const message = data.message && typeof data.message === 'object' ? data.message : data.payload && typeof data.payload === 'object' ? data.payload : data;
  const out = { who: who(event, message), texts: [], calls: [], results: [] };
  for (const call of list(data.toolCalls || message.tool_calls)) out.calls.push({ id: call.id, name: call.name || call.function?.name, input: call.arguments ?? call.input ?? call.args ?? call.function?.arguments });
  if (data.tool_name) hook(event, data, out);
  else if (event.type === 'tool_result' && !Array.isArray(message.content)) out.results.push(result(data));
  else parts(message, out);
  if (event.type === 'snapshot') out.texts.push(snapshot(data));
  if (!out.texts.length && typeof data.prompt === 'string') out.texts.push(data.prompt);
  if (!out.texts.length && typeof data.last_assistant_message === 'string') out.texts.push(data.last_assistant_message);
  out.text = out.texts.join('\n');
  out.shown = out.text !== '' || out.calls.length > 0 || out.results.length > 0;
  return out;
}

/// The files at that moment, and where their provider keeps them.
function snapshot({ number, provider, reference, message }) {
  const name = `${number === undefined ? 'snapshot' : `snapshot ${number}`}${provider ? ` by ${provider}` : ''}`;
  return [message ? `${name}: ${message}` : name, reference].filter(Boolean).join('\n');
}

const list = (value) => (Array.isArray(value) ? value.filter((one) => one && typeof one === 'object') : []);

function who(event, message) {
  if (/^user|prompt/.test(event.type)) return 'user';
  if (/^assistant/.test(event.type)) return 'assistant';
  if (/tool/.test(event.type)) return 'tool';
  const role = typeof message.role === 'string' ? message.role : message.type;
  return ['user', 'assistant', 'tool', 'system'].includes(role) ? role : 'other';
}

function hook(event, data, out) {
  const id = data.tool_use_id || data.toolCallId;
  const answer = data.tool_response ?? data.tool_output;
  if (event.type === 'post_tool' || answer !== undefined) out.results.push({ id, name: data.tool_name, output: answer, failed: data.is_error === true });
  else out.calls.push({ id, name: data.tool_name, input: data.tool_input });
}

function result(data) {
  const output = data.text ?? data.output ?? data.content ?? data.result ?? data.error ?? data;
  return { id: data.toolCallId || data.tool_use_id || data.call_id, name: data.toolName || data.name, output, failed: data.isError === true || data.is_error === true };
}

function parts(message, out) {
  if (typeof message.text === 'string') out.texts.push(message.text);
  if (typeof message.content === 'string') out.texts.push(message.content);
  if (!Array.isArray(message.content)) return;
  for (const part of message.content) {
    if (typeof part === 'string') out.texts.push(part);
    if (!part || typeof part !== 'object') continue;
    if (part.type === 'tool_use' || part.type === 'toolCall') out.calls.push({ id: part.id, name: part.name, input: part.input ?? part.arguments });
    else if (part.type === 'tool_result') out.results.push({ id: part.tool_use_id, output: textOf(part.content), failed: part.is_error === true });
    else if (part.type === 'image') out.texts.push('[image]');
    else if (typeof part.text === 'string') out.texts.push(part.text);
  }
}

function textOf(content) {
  if (!Array.isArray(content)) return content;
  return content.map((part) => (typeof part?.text === 'string' ? part.text : JSON.stringify(part))).join('\n');
}

/// A row of the timeline. `pairs` finds calls and results of the events that are loaded.
export function row(event, said, { pairs, unfolded, resize, marked, fork }) {
  const label = said.who === 'other' ? event.type : said.who;
  const fold = (name) => ({ open: unfolded.has(name), ontoggle: (toggled) => { if (toggled.target.open) unfolded.add(name); else unfolded.delete(name); resize(); } });
  const quiet = !said.shown || QUIET.has(event.type);
  return h('article', { class: `event ${said.who} ${quiet ? 'minor' : ''} ${marked ? 'marked' : ''}`, key: event.seq, 'data-seq': event.seq, tabindex: '-1', 'aria-label': `Event ${event.seq}: ${label}` },
    h('div', { class: 'side' }, h('span', { class: 'role' }, label), h('time', { datetime: event.ts, title: `${when(event.ts)} · ${event.type}` }, clock(event.ts)),
      h('span', { class: 'seq' }, `#${event.seq}`), fork && h('button', { class: 'ghost fork', title: 'Fork from here', 'aria-label': `Fork at event ${event.seq}`, onclick: () => fork(event.seq) }, 'Fork')),
    h('div', { class: 'content' },
      said.text && long(said.text, `text${event.seq}`, unfolded, resize),
      said.calls.map((call, at) => callOf(event, call, at, pairs, fold)),
      said.results.map((each, at) => resultOf(event, each, at, pairs, fold)),
      !said.shown && other(event, fold)));
}

function callOf(event, call, at, pairs, fold) {
  const answer = call.id !== undefined && pairs.results.get(call.id);
  const took = answer && Date.parse(answer.ts) - Date.parse(event.ts);
  return h('details', { class: 'tool', key: `call${at}`, ...fold(`call${event.seq}.${at}`) },
    h('summary', null, h('span', { class: 'toolname' }, call.name || 'tool'), h('span', { class: 'ellipsis quiet' }, line(call.input)),
      answer ? h('span', { class: 'number quiet' }, span(took)) : h('span', { class: 'quiet' }, 'no answer here'), answer?.failed && badge('failed')),
    h('h3', null, 'Input'), block(call.input), answer && h('h3', null, 'Output'), answer && block(answer.output));
}

function resultOf(event, result, at, pairs, fold) {
  const call = result.id !== undefined && pairs.calls.get(result.id);
  return h('details', { class: 'tool answer', key: `result${at}`, ...fold(`result${event.seq}.${at}`) },
    h('summary', null, h('span', { class: 'toolname' }, `↳ ${result.name || call?.name || 'result'}`), h('span', { class: 'ellipsis quiet' }, line(result.output)), result.failed && badge('failed')),
    block(result.output));
}

function other(event, fold) {
  const note = typeof event.data === 'string' ? event.data : JSON.stringify(event.data);
  if (note === undefined || note === 'null' || note === '{}') return h('span', { class: 'quiet' }, event.type);
  return h('details', { class: 'tool', ...fold(`data${event.seq}`) }, h('summary', null, h('span', { class: 'toolname' }, event.type), h('span', { class: 'ellipsis quiet' }, note.slice(0, 160))), block(event.data));
}

const line = (value) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 160).replace(/\s+/g, ' ');

function block(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2) ?? '';
  const cut = text.length > 20 * TEXT_CHARACTERS;
  return h('pre', { tabindex: '0' }, cut ? `${text.slice(0, 20 * TEXT_CHARACTERS)}\n… ${count(text.length)} characters in all` : text);
}

function long(text, name, unfolded, resize) {
  if (text.length <= TEXT_CHARACTERS || unfolded.has(name)) return h('p', { class: 'said' }, text);
  return h('div', null, h('p', { class: 'said' }, `${text.slice(0, TEXT_CHARACTERS)}…`),
    h('button', { class: 'ghost', onclick: () => { unfolded.add(name); resize(true); } }, `Show all ${count(text.length)} characters`));
}

export const sessionLink = (id, text) => link(`/sessions/${path(id)}`, {}, text);
