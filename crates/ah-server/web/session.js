// A session: what it is, where it came from, what it cost, and its timeline.

import { h } from './dom.js';
import { get, post, put, path } from './api.js';
import { act, badge, complain, dialog, facts, heading, link, time, toast } from './ui.js';
import { cost, count, one, short, span, tokens, when } from './format.js';
import { timeline } from './timeline.js';

const ENDED = new Set(['succeeded', 'failed', 'cancelled']);

export function open(context) {
  const { name: id, query, shell, redraw, go } = context;
  const state = { session: null, agent: null, children: [], parents: [], spendings: [], runs: [] };
  let line = null;
  const fork = (seq) => forkAt(id, seq, go);
  const view = {
    title: 'Session',
    wide: true,
    wants: (change) => change.sessionId === id,
    async load() {
      const address = path('sessions', id);
      // The timeline needs only the session; the rest comes when it comes.
      state.session = await get(address);
      view.title = state.session.title || short(id);
      const rest = beside(state, id).then(redraw, () => {});
      if (!line) {
        const at = Number(query.get('at')) || undefined;
        line = timeline({ id, last: state.session.lastSeq, at, fork: shell.may.write && fork, changed: redraw, failed: complain });
      } else await rest;
    },
    draw: () => [
      heading(state.session.title || `${state.session.agent.type} ${short(id)}`, badge(state.session.status), buttons(state, context)),
      h('div', { class: 'replay', key: 'replay' },
        h('div', { class: 'timeline-box', key: 'box' },
          h('div', { class: 'row tools' },
            h('span', { class: 'quiet' }, one(line.last, 'event')),
            h('form', { class: 'row', onsubmit: (event) => { event.preventDefault(); line.goTo(Number(event.target.seq.value) || 1); redraw(); } },
              h('label', { class: 'inline' }, 'Go to #', h('input', { name: 'seq', type: 'number', min: '1', max: String(line.last), class: 'tiny' }))),
            h('span', { class: 'grow' }),
            h('button', { onclick: () => line.goStart() }, 'Start'),
            h('button', { class: line.following ? 'on' : 'primary', 'data-live': true, 'aria-pressed': String(line.following), onclick: () => line.goLive() }, line.following ? 'At live' : 'Jump to live')),
          line.last === 0 && h('p', { class: 'empty' }, 'Nothing was said yet. It appears here as it happens.'),
          goesOn(state.session),
          h('div', { key: 'timeline', own: true, class: 'timeline', role: 'feed', 'aria-label': 'Events', tabindex: '0', made: (node) => queueMicrotask(() => line.attach(node)) })),
        h('aside', { class: 'about', key: 'about', 'aria-label': 'About this session' }, about(state), tree(state), spent(state), runs(state))),
    ],
    close: () => line?.close(),
  };
  return view;
}

/// A fork has only its own events; what came before is its parent's.
function goesOn({ forkedFrom }) {
  return forkedFrom && h('p', { class: 'quiet', key: 'before' }, 'It goes on from ',
    link(`/sessions/${path(forkedFrom.sessionId)}?at=${forkedFrom.atSeq}`, {}, `event ${forkedFrom.atSeq} of ${short(forkedFrom.sessionId)}`), '.');
}

async function beside(state, id) {
  const session = state.session;
  const [children, spendings, runs, agent, forks] = await Promise.all([
    get('sessions', { parent: id, limit: 50 }), get('spendings/sums', { sessionId: id }), get(`${path('sessions', id)}/runs`),
    session.ofAgent ? get(path('agent-instances', session.ofAgent.id)).catch(() => null) : null,
    get('sessions', { forkedFrom: id, limit: 50 }),
  ]);
  state.children = [...children.items, ...forks.items.filter((fork) => fork.parentSessionId !== id)];
  state.more = Boolean(children.nextCursor || forks.nextCursor);
  state.spendings = spendings.items;
  state.runs = runs.items;
  state.agent = agent;
  state.parents = [];
  let up = session.forkedFrom?.sessionId || session.parentSessionId;
  for (let depth = 0; up && depth < 8; depth += 1) {
    const parent = await get(path('sessions', up)).catch(() => null);
    if (!parent) break;
    state.parents.unshift(parent);
    up = parent.forkedFrom?.sessionId || parent.parentSessionId;
  }
}

function buttons(state, { shell, reload }) {
  const session = state.session;
  const address = path('sessions', session.id);
  return [
    h('a', { class: 'button', href: `/api/v1/${address}/export`, download: `session-${session.id.replace(/[^\w-]/g, '_')}.jsonl` }, 'Export'),
    h('button', { onclick: (event) => act(event, share) }, 'Share'),
    shell.may.write && h('button', { onclick: (event) => act(event, async () => { await put(`${address}/pinned`, { pinned: !session.pinned }); await reload(); }) }, session.pinned ? 'Unpin' : 'Pin'),
    shell.may.write && !ENDED.has(session.status) && session.status !== 'stopping' && h('button', { class: 'danger', onclick: (event) => act(event, async () => { await post(`${address}/stop`); await reload(); }) }, 'Stop'),
  ];
}

function about(state) {
  const session = state.session;
  return h('section', { class: 'card', key: 'facts' }, h('h2', null, 'About'), facts([
    ['id', h('code', null, session.id)],
    ['agent', state.agent ? link(`/agents/${path(state.agent.name)}`, {}, state.agent.name) : `${session.agent.type}@${session.agent.version}`],
    ['repository', session.repo.rootPath || session.repo.remoteUrl],
    ['directory', session.projectDir],
    ['started', time(session.startedAt)],
    ['last', time(session.lastActivityAt)],
    ['took', session.endedAt && span(Date.parse(session.endedAt) - Date.parse(session.startedAt))],
    ['exit', [session.exit.code !== null && `code ${session.exit.code}`, session.exit.reason].filter(Boolean).join(', ')],
    ['origin', session.origin && `${session.origin.source} ${session.origin.externalId}`],
    ...Object.entries(session.labels).map(([name, value]) => [name, value]),
  ]));
}

/// Parents above, this one, children below.
function tree(state) {
  const { session, parents, children } = state;
  if (!parents.length && !children.length) return null;
  const name = (each) => each.title || `${each.agent.type} ${short(each.id)}`;
  const how = (each) => (each.forkedFrom ? ` forked at #${each.forkedFrom.atSeq}` : '');
  const leaf = (each, depth, here) => h('li', { key: each.id, style: { '--depth': String(Math.min(depth, 8)) }, 'aria-current': here ? 'true' : null, role: 'treeitem', 'aria-level': String(depth + 1), 'aria-selected': String(Boolean(here)) },
    here ? h('strong', null, name(each)) : link(`/sessions/${path(each.id)}`, {}, name(each)), h('span', { class: 'quiet' }, how(each)));
  return h('section', { class: 'card', key: 'tree' }, h('h2', null, 'Tree'), h('ul', { class: 'tree', role: 'tree', 'aria-label': 'Parents and forks' },
    parents.map((each, depth) => leaf(each, depth)), leaf(session, parents.length, true), children.map((each) => leaf(each, parents.length + 1))),
    state.more && h('p', { class: 'quiet' }, 'There are more: ', h('code', null, `ah session list --forked-from ${short(session.id)}`)));
}

function spent(state) {
  const usage = state.session.usage;
  if (!tokens(usage)) return null;
  return h('section', { class: 'card', key: 'spent' }, h('h2', null, 'Tokens and cost'), facts([
    ['cost', cost(state.spendings).text], ['input', count(usage.inputTokens)], ['output', count(usage.outputTokens)], ['reasoning', count(usage.reasoningTokens)],
    ['cache read', count(usage.cacheReadTokens)], ['cache write', count(usage.cacheWriteTokens)],
    ...[...new Set(state.spendings.map((each) => each.model))].filter(Boolean).map((model) => ['model', model]),
  ].filter(([, value], at) => at < 1 || value !== '0')));
}

function runs(state) {
  if (!state.runs.length) return null;
  return h('section', { class: 'card', key: 'runs' }, h('h2', null, 'Runs'), h('ul', { class: 'list' }, state.runs.slice(-10).map((run) => h('li', { key: run.id, title: when(run.createdAt) },
    badge(run.status), h('span', { class: 'grow ellipsis' }, run.error || run.kind), time(run.endedAt || run.createdAt)))));
}

async function forkAt(id, seq, go) {
  let title = '';
  const yes = await dialog(`Fork at event ${seq}`, (done) => h('form', { onsubmit: (event) => { event.preventDefault(); done(true); } },
    h('p', null, 'A new session goes on from here; this one stays as it is.'),
    h('label', null, 'Title', h('input', { name: 'title', oninput: (event) => { title = event.target.value; } })),
    h('div', { class: 'row end' }, h('button', { type: 'button', onclick: () => done(false) }, 'Cancel'), h('button', { class: 'primary' }, 'Fork'))));
  if (!yes) return;
  await act(null, async () => {
    const made = await post(`${path('sessions', id)}/fork`, { atSeq: seq, title: title || null });
    go(`/sessions/${path(made.id)}`);
  });
}

/// The clipboard is closed to pages over plain http from another machine.
async function share() {
  const address = location.href.split('?')[0];
  if (!navigator.clipboard) throw new Error(`This page may not copy. The link is ${address}`);
  await navigator.clipboard.writeText(address);
  toast('The link is copied.');
}
