// Sessions: the list with its filters, and what a search of all that was said found.

import { h } from './dom.js';
import { get, path } from './api.js';
import { act, badge, empty, heading, link, section, time } from './ui.js';
import { count, short, tokens } from './format.js';

const STATUSES = ['created', 'running', 'idle', 'stopping', 'succeeded', 'failed', 'cancelled'];
const PAGE = 50;
/// The list is read anew when a session changes, to the length that was asked for, at most this.
const MOST = 500;

export function open({ query, go, redraw }) {
  const filter = { q: query.get('q') || '', title: query.get('title') || '', status: query.getAll('status'), agent: query.get('agent') || '', since: query.get('since') || '' };
  const state = { items: [], cursor: null, wanted: PAGE, hits: [], hitCursor: null };
  const searching = () => filter.q.trim() !== '';
  const asked = () => ({ status: filter.status, agent: filter.agent, title: filter.title, since: filter.since && `${filter.since}T00:00:00Z` });
  async function search(cursor) {
    const page = await get('search', { q: filter.q, agent: filter.agent, since: asked().since, limit: 50, cursor });
    state.hits = cursor ? [...state.hits, ...page.items] : page.items;
    state.hitCursor = page.nextCursor;
  }
  async function list() {
    const items = [];
    let cursor;
    do {
      const page = await get('sessions', { ...asked(), limit: Math.min(state.wanted, MOST), cursor });
      items.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor && items.length < state.wanted);
    state.items = items;
    state.cursor = cursor;
  }
  function apply(event) {
    event?.preventDefault();
    const form = event.currentTarget;
    const next = new URLSearchParams();
    for (const name of ['q', 'title', 'agent', 'since']) if (form[name].value.trim()) next.set(name, form[name].value.trim());
    for (const box of form.querySelectorAll('[name=status]:checked')) next.append('status', box.value);
    go(`/sessions${next.size ? `?${next}` : ''}`);
  }
  return {
    title: 'Sessions',
    wants: (change) => !searching() && change.kind.startsWith('session-'),
    load: () => searching() ? search() : list(),
    draw: () => [
      heading('Sessions'),
      filters(filter, apply),
      searching() ? found(filter, state, (event) => act(event, async () => { await search(state.hitCursor); redraw(); }))
        : listed(filter, state, (event) => act(event, async () => { state.wanted = Math.min(MOST, state.items.length + PAGE); await list(); redraw(); })),
    ],
  };
}

function filters(filter, apply) {
  const field = (name, label, props) => h('label', { key: name }, label, h('input', { name, value: filter[name], ...props }));
  return h('form', { class: 'filters card', role: 'search', 'aria-label': 'Sessions', onsubmit: apply, onchange: (event) => { if (event.target.type === 'checkbox') apply({ currentTarget: event.currentTarget, preventDefault() {} }); } },
    field('q', 'Said', { type: 'search', 'data-search': true, placeholder: 'words, "a phrase", log*, -not' }),
    field('title', 'Title', { placeholder: 'contains' }),
    field('agent', 'Agent kind', { placeholder: 'claude-code' }),
    field('since', 'Since', { type: 'date' }),
    h('fieldset', { class: 'chips' }, h('legend', null, 'Status'), STATUSES.map((status) => h('label', { class: 'chip', key: status },
      h('input', { type: 'checkbox', name: 'status', value: status, checked: filter.status.includes(status) }), h('span', null, status)))),
    h('button', { class: 'primary' }, 'Find'));
}

function listed(filter, state, more) {
  return section('List', { class: 'card flush', 'aria-labelledby': null, 'aria-label': 'Sessions' },
    !state.items.length && empty('No session is like that.', 'ah session create --agent claude-code'),
    h('ul', { class: 'list' }, state.items.map((session) => h('li', { key: session.id },
      badge(session.status),
      link(`/sessions/${path(session.id)}`, { 'data-row': true, class: 'grow ellipsis' }, session.title || `${session.agent.type} ${short(session.id)}`),
      session.pinned && badge('pinned', 'plain'),
      session.forkedFrom && badge('fork', 'plain'),
      h('span', { class: 'quiet wide-only' }, session.agent.type),
      h('span', { class: 'quiet number wide-only' }, `${count(session.lastSeq)} events`),
      h('span', { class: 'quiet number wide-only' }, tokens(session.usage) ? `${count(tokens(session.usage))} tokens` : ''),
      time(session.lastActivityAt)))),
    state.cursor && h('div', { class: 'row pad' }, h('button', { onclick: more }, 'More')));
}

function found(filter, state, more) {
  return section('Found', {},
    !state.hits.length && empty(state.hitCursor ? 'Nothing so far; look further back.' : `Nothing was said like “${filter.q}”.`, 'ah search --reindex'),
    h('ul', { class: 'hits' }, state.hits.map((hit) => h('li', { key: `${hit.sessionId}/${hit.seq}` },
      link(`/sessions/${path(hit.sessionId)}?at=${hit.seq}`, { 'data-row': true }, h('strong', null, hit.title || short(hit.sessionId)), ` #${hit.seq}`),
      h('span', { class: 'quiet' }, ` ${hit.who} `), time(hit.ts),
      h('p', { class: 'said' }, hit.snippet.map((part) => part.found ? h('mark', null, part.text) : part.text))))),
    state.hitCursor && h('button', { onclick: more }, 'Further back'));
}
