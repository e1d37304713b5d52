// Executors and fleets: who works, how well they can be heard, what happened to them.

import { h } from './dom.js';
import { all, get, post, path } from './api.js';
import { act, badge, confirmTyped, empty, heading, link, section, time, toast } from './ui.js';
import { bytes, one, short, span } from './format.js';

/// Presence is no part of the feed: it lives in the access point.
const PRESENCE_MS = 5000;

export function open(context) {
  const { shell, reload } = context;
  const state = { executors: [], presence: new Map(), events: [], fleets: [] };
  const timer = setInterval(() => { if (!document.hidden) reload(); }, PRESENCE_MS);
  return {
    title: 'Executors',
    wants: (change) => /^(executor|fleet|fence|run)-/.test(change.kind),
    async load() {
      const [executors, presence, events, fleets] = await Promise.all([
        all('executors', {}, 500), get('executor-presence').catch(() => ({ items: [] })), get('executor-events', { limit: 30 }), get('fleets', { limit: 30 }),
      ]);
      state.executors = executors;
      state.presence = new Map(presence.items.map((each) => [each.executorId, each]));
      state.events = events.items;
      state.fleets = fleets.items;
    },
    draw: () => [
      heading('Executors', h('span', { class: 'quiet' }, `${state.presence.size} connected of ${state.executors.length}`)),
      section('Machines', { class: 'card flush' },
        !state.executors.length && empty('No executor was here yet.', 'ah agent enroll --server HOST:4748 --identity-dir DIR'),
        h('ul', { class: 'list' }, state.executors.map((executor) => machine(executor, state.presence.get(executor.id), { shell, reload })))),
      section('Fleets', { class: 'card flush' },
        !state.fleets.length && empty('No session has a fleet.', 'ah fleet create SESSION --member NAME'),
        h('ul', { class: 'list' }, state.fleets.map(fleet))),
      section('History', { class: 'card flush' },
        !state.events.length && h('p', { class: 'quiet pad' }, 'Nothing happened yet.'),
        h('ul', { class: 'list' }, state.events.map((event) => h('li', { key: event.number },
          badge(event.kind, 'plain'), h('span', { class: 'grow ellipsis' }, event.executorId), h('span', { class: 'quiet ellipsis wide-only' }, event.data ? JSON.stringify(event.data).slice(0, 200) : ''), time(event.at))))),
    ],
    close: () => clearInterval(timer),
  };
}

function machine(executor, presence, { shell, reload }) {
  const name = executor.friendlyName || executor.id;
  return h('li', { key: executor.id, tabindex: '-1', 'data-row': true },
    h('div', { class: 'grow' },
      h('div', { class: 'row' }, badge(executor.status), h('strong', null, name), presence ? badge(presence.quality) : badge('not connected', 'plain'),
        executor.tags.map((tag) => h('span', { class: 'chip still', key: tag }, tag))),
      h('p', { class: 'quiet' }, about(executor), load(presence))),
    presence && h('span', { class: 'number quiet' }, presence.rttMs === null || presence.rttMs === undefined ? '' : `${presence.rttMs} ms`),
    h('span', { class: 'number quiet wide-only' }, presence ? `${presence.runs.length} of ${presence.runs.length + presence.room} runs` : ''),
    time(executor.seenAt),
    shell.may.write && h('span', { class: 'row' }, change(executor, name, reload)));
}

function about(executor) {
  const machine = executor.machine;
  if (!machine) return executor.offer.hostname || '';
  return `${machine.osName} ${machine.architecture} · ${one(machine.cpuCores, 'core')} · ${bytes(machine.memoryBytes)}`;
}

function load(presence) {
  if (!presence) return '';
  const parts = [`heard ${span(presence.heardAgoMs)} ago`];
  if (typeof presence.load.cpu === 'number') parts.push(`cpu ${Math.round(presence.load.cpu * 100)} %`);
  if (presence.load.memoryFreeBytes) parts.push(`${bytes(presence.load.memoryFreeBytes)} free`);
  if (presence.drift) parts.push(`${presence.drift} runs drift`);
  return ` · ${parts.join(' · ')}`;
}

function change(executor, name, reload) {
  const to = (status) => (event) => act(event, async () => {
    await post(path('executors', executor.id, 'changes'), { change: { status } });
    toast(`${name} is ${status}.`, { tone: 'good' });
    await reload();
  });
  const removal = (event) => act(event, async () => {
    const yes = await confirmTyped({ title: `Remove ${name}`, word: name, action: 'Remove', text: 'It is asked to go; it takes no more runs.' });
    if (!yes) return;
    await post(path('executors', executor.id, 'removal'));
    await reload();
  });
  return [
    executor.status === 'active' && h('button', { key: 'drain', 'aria-label': `Drain ${name}`, onclick: to('draining') }, 'Drain'),
    executor.status === 'draining' && h('button', { key: 'activate', 'aria-label': `Activate ${name}`, onclick: to('active') }, 'Activate'),
    executor.status !== 'revoked' && !executor.removalRequestedAt && h('button', { key: 'remove', class: 'danger', 'aria-label': `Remove ${name}`, onclick: removal }, 'Remove'),
  ];
}

function fleet(fleet) {
  return h('li', { key: fleet.sessionId },
    badge(fleet.status), link(`/sessions/${path(fleet.sessionId)}`, { 'data-row': true }, `session ${short(fleet.sessionId)}`),
    h('span', { class: 'grow' }, fleet.members.map((member) => h('span', { class: 'chip still', key: member.name }, member.name === fleet.leader ? `${member.name} leads` : member.name))),
    h('span', { class: 'quiet number' }, `epoch ${fleet.epoch}`), time(fleet.endedAt || fleet.createdAt));
}
