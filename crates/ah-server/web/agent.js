// One agent: what it is, its sessions, its mail, and the end of it.

import { h } from './dom.js';
import { get, post, put, path } from './api.js';
import { act, badge, confirmTyped, empty, facts, heading, link, section, time, toast } from './ui.js';
import { count, one, short, tokens } from './format.js';
import { modelChip } from './agents.js';
import { draft } from './drafts.js';

const PURGE_STEPS = 10000;

export function open(context) {
  const { name, shell, redraw, reload } = context;
  const state = { agent: null, sessions: [], mail: [] };
  return {
    title: name,
    wants: (change) => change.party === name || (change.sessionId && state.sessions.some((session) => session.id === change.sessionId)) || change.kind === 'agent-updated',
    async load() {
      const found = await get('agent-names', { name });
      if (!found.agent) throw Object.assign(new Error(`There is no agent ${name}. ah agent list shows those there are.`), { title: 'Agent not found', status: 404 });
      state.agent = found.agent;
      const [sessions, mail] = await Promise.all([
        get(`${path('agent-instances', state.agent.id)}/sessions`, { order: 'newest', limit: 50 }),
        shell.may.hive ? get('messages', { party: state.agent.name, limit: 30 }) : { items: [] },
      ]);
      state.sessions = sessions.items;
      state.mail = mail.items;
    },
    draw: () => [
      heading(state.agent.name, badge(state.agent.destroyedAt ? 'destroyed' : state.agent.lifecycle), modelChip(state.agent, { shell, reload, redraw }), shell.may.write && lifecycleButtons(state.agent, { reload })),
      h('div', { class: 'columns', key: 'columns' }, whatItIs(state.agent), sessionsOf(state)),
      mailOf(state, { shell, reload }),
    ],
  };
}

function whatItIs(agent) {
  return section('About', {}, facts([
    ['id', h('code', null, agent.id)], ['kind', `${agent.kind.type}@${agent.kind.version}`], ['type', agent.type], ['protected', agent.protected && 'yes: it cannot be destroyed'],
    ['made', time(agent.createdAt)], ['changed', time(agent.updatedAt)], ['destroyed', agent.destroyedAt && time(agent.destroyedAt)],
    ['tokens', tokens(agent.usage) ? count(tokens(agent.usage)) : ''], ['resident', agent.metadata?.resident && 'yes'],
  ]),
  [['Descriptor', agent.descriptor], ['Permissions', agent.permissions], ['Stats', agent.stats], ['Metadata', agent.metadata]].map(([name, value]) => value && Object.keys(value).length > 0
    && h('details', { key: name }, h('summary', null, name), h('pre', { tabindex: '0' }, JSON.stringify(value, null, 2)))));
}

function sessionsOf(state) {
  return section('Sessions', {},
    !state.sessions.length && empty('It has no session.', 'ah agent history NAME'),
    h('ul', { class: 'list' }, state.sessions.map((session) => h('li', { key: session.id },
      badge(session.status), link(`/sessions/${path(session.id)}`, { class: 'grow ellipsis', 'data-row': true }, session.title || `session ${session.ofAgent?.number ?? short(session.id)}`),
      h('span', { class: 'quiet' }, session.ofAgent?.cause), h('span', { class: 'quiet number' }, one(session.lastSeq, 'event')), time(session.lastActivityAt)))));
}

function mailOf(state, { shell, reload }) {
  const name = `mail/${state.agent.name}`;
  const send = (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    act({ currentTarget: form.querySelector('button') }, async () => {
      await post('messages', { to: [state.agent.name], body: form.body.value });
      form.body.value = '';
      draft.drop(name);
      await reload();
    });
  };
  return section('Mail', {},
    shell.may.write && !state.agent.destroyedAt && h('form', { class: 'row', onsubmit: send },
      h('textarea', { class: 'grow', name: 'body', rows: '1', required: true, 'aria-label': `Write to ${state.agent.name}`, placeholder: `Write to ${state.agent.name}`, value: draft.of(name), oninput: (event) => draft.keep(name, event.target.value) }),
      h('button', { class: 'primary' }, 'Send')),
    !state.mail.length && empty('No mail yet.', `ah message send ${state.agent.name} "hello"`),
    h('ul', { class: 'list' }, state.mail.map((message) => h('li', { key: message.id },
      badge(message.status), h('span', { class: 'grow' }, h('strong', null, `${message.from} → ${message.to} `), h('span', { class: 'said' }, message.body.slice(0, 1000))),
      h('span', { class: 'quiet' }, message.kind), time(message.sentAt)))));
}

/// Sleep and wake take nothing away; destroy and purge ask for the name.
export function lifecycleButtons(agent, { reload }) {
  const address = path('agent-instances', agent.id);
  const button = (label, deed, className) => h('button', { key: label, class: className, 'aria-label': `${label} ${agent.name}`, onclick: (event) => act(event, async () => { await deed(); await reload(); }) }, label);
  if (agent.destroyedAt) {
    return h('span', { class: 'row' },
      button('Revive', async () => { await post(`${address}/revive`); toast('It comes back once its spawn is approved.', { tone: 'good' }); }),
      button('Purge', () => purge(agent, address), 'danger'));
  }
  if (agent.protected) return null;
  return h('span', { class: 'row' },
    agent.lifecycle === 'active' && button('Sleep', () => put(`${address}/lifecycle`, { lifecycle: 'sleeping' })),
    agent.lifecycle === 'sleeping' && button('Wake', () => put(`${address}/lifecycle`, { lifecycle: 'active' })),
    button('Destroy', () => destroy(agent, address), 'danger'));
}

async function destroy(agent, address) {
  const yes = await confirmTyped({ title: `Destroy ${agent.name}`, word: agent.name, action: 'Destroy', text: 'Its session ends and its pending approvals fail. Everything else is kept, and it can be revived.' });
  if (!yes) return;
  await post(`${address}/destroy`);
  toast(`${agent.name} is destroyed; what it left is kept.`);
}

/// A purge works in steps, so that nobody else has to wait for it.
async function purge(agent, address) {
  const yes = await confirmTyped({ title: `Purge ${agent.name}`, word: agent.name, action: 'Purge for good', text: 'Its rows go for good, and its name is free again. A receipt stays.' });
  if (!yes) return;
  for (let step = 0; step < PURGE_STEPS; step += 1) {
    if (!(await post(`${address}/purge`)).more) break;
  }
  toast(`${agent.name} is purged.`);
  if (location.pathname.startsWith('/agents/')) document.querySelector('#places a[href="/agents"]')?.click();
}
