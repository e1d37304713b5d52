// Agents: who lives here, what they did last, what waits for them, and what destroyed ones left.

import { h } from './dom.js';
import { all, get, patch, path } from './api.js';
import { act, badge, empty, heading, link, section, time, toast } from './ui.js';
import { count, one, tokens } from './format.js';
import { read } from './event.js';
import { lifecycleButtons } from './agent.js';

const SPOKE = ['user_message', 'assistant_message', 'message', 'turn_end', 'session_stop'];
const AT_ONCE = 6;
const AT_WORK = ['claimed', 'running', 'stopping'];

export function open(context) {
  const { shell, redraw, reload } = context;
  const state = { live: [], kept: [], inbox: new Map(), turns: new Map(), hosts: new Map() };
  return {
    title: 'Agents',
    wants: (change) => /^(agent|message|session|run)-/.test(change.kind),
    async load() {
      const [live, kept, mail, runs] = await Promise.all([
        all('agent-instances', { destroyed: false }, 1000), all('agent-instances', { destroyed: true }, 200),
        shell.may.hive ? all('messages', { status: ['queued', 'leased'] }, 2000) : [], all('runs', { status: AT_WORK }, 1000),
      ]);
      state.live = live.filter((agent) => !agent.destroyedAt);
      state.kept = kept.filter((agent) => agent.destroyedAt);
      state.inbox = new Map();
      for (const message of mail) state.inbox.set(message.to, (state.inbox.get(message.to) || 0) + 1);
      state.hosts = new Map(runs.map((run) => [run.sessionId, run.executorId]));
      lastTurns(state, redraw);
    },
    draw: () => [
      heading('Agents', h('span', { class: 'quiet' }, one(state.live.length, 'agent'))),
      section('Live', { class: 'card flush' },
        !state.live.length && empty('There is no agent yet.', 'ah agent create NAME --kind claude-code'),
        h('ul', { class: 'list agents' }, state.live.map((agent) => liveAgent(agent, state, { shell, reload, redraw })))),
      state.kept.length > 0 && section('Kept of destroyed agents', { class: 'card flush' },
        h('ul', { class: 'list agents' }, state.kept.map((agent) => h('li', { key: agent.id },
          badge('destroyed'), link(`/agents/${path(agent.name)}`, { 'data-row': true, class: 'grow' }, agent.name),
          h('span', { class: 'quiet' }, one(agent.sessionCount, 'session')), time(agent.destroyedAt), shell.may.write && lifecycleButtons(agent, { reload }))))),
    ],
  };
}

function liveAgent(agent, state, { shell, reload, redraw }) {
  const turn = state.turns.get(agent.id);
  const waiting = state.inbox.get(agent.name) || 0;
  const host = state.hosts.get(agent.activeSessionId);
  return h('li', { key: agent.id },
    h('div', { class: 'grow' },
      h('div', { class: 'row' }, badge(agent.lifecycle), link(`/agents/${path(agent.name)}`, { 'data-row': true }, h('strong', null, agent.name)),
        h('span', { class: 'quiet' }, agent.kind.type), host && h('span', { class: 'quiet' }, `on ${host}`), agent.protected && badge('protected', 'plain'), modelChip(agent, { shell, reload, redraw })),
      h('p', { class: 'ellipsis quiet' }, turn ? `${turn.who}: ${turn.text}` : 'no turn yet')),
    h('span', { class: waiting ? 'number' : 'number quiet' }, `${waiting} in inbox`),
    h('span', { class: 'number quiet wide-only' }, tokens(agent.usage) ? `${count(tokens(agent.usage))} tokens` : ''),
    time(turn?.at || agent.updatedAt));
}

const editing = new Set();

/// The model an agent runs on; a click makes it a field.
export function modelChip(agent, { shell, reload, redraw }) {
  const text = agent.model || 'no model';
  if (!shell.may.write) return h('span', { class: 'chip still' }, text);
  const stop = () => { editing.delete(agent.id); redraw(); };
  if (!editing.has(agent.id)) {
    return h('button', { class: 'chip', key: 'model', 'aria-label': `Model of ${agent.name}: ${text}. Change`, onclick: () => { editing.add(agent.id); redraw(); } }, text);
  }
  return h('form', { class: 'row', key: 'model-edit', onsubmit: (event) => {
    event.preventDefault();
    const model = event.currentTarget.model.value.trim();
    act({ currentTarget: event.currentTarget.querySelector('button') }, async () => {
      await patch(path('agent-instances', agent.id), { model: model || null, expectedRevision: agent.revision });
      toast(`${agent.name} runs on ${model || 'no model'} from its next turn.`, { tone: 'good' });
      editing.delete(agent.id);
      await reload();
      redraw();
    });
  } },
    h('input', { name: 'model', value: agent.model || '', 'aria-label': `Model of ${agent.name}`, onkeydown: (event) => { if (event.key === 'Escape') stop(); }, made: (node) => queueMicrotask(() => { node.focus(); node.select(); }) }),
    h('button', { class: 'primary' }, 'Set'), h('button', { type: 'button', class: 'ghost', onclick: stop }, 'Cancel'));
}

/// The newest thing that each agent said or was told, a few requests at a time.
async function lastTurns(state, redraw) {
  const queue = state.live.filter((agent) => agent.activeSessionId).slice(0, 200);
  const work = async () => {
    for (let agent = queue.shift(); agent; agent = queue.shift()) {
      const { items } = await get(`${path('sessions', agent.activeSessionId)}/events`, { order: 'newest', limit: 2, type: SPOKE });
      const event = items.find((each) => read(each).text) || items[0];
      if (event) state.turns.set(agent.id, { who: read(event).who, text: (read(event).text || event.type).slice(0, 300), at: items[0].ts });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work)).catch(() => {});
  redraw();
}
