// Stats: tokens, cost and sessions by day and model, as bars.

import { h } from './dom.js';
import { get } from './api.js';
import { code, empty, heading, section } from './ui.js';
import { cost, count, dollars, one, tokens, today } from './format.js';

const DAY_MS = 86400000;
const SPANS = [7, 30, 90];
const COLOURS = 8;

export function open({ query, go }) {
  const days = SPANS.includes(Number(query.get('days'))) ? Number(query.get('days')) : 30;
  const what = query.get('what') === 'cost' ? 'cost' : 'tokens';
  const state = { spendings: [], failed: [] };
  const since = today(new Date(Date.now() - (days - 1) * DAY_MS));
  return {
    title: 'Stats',
    wants: (change) => change.kind === 'run-updated',
    async load() {
      const [spendings, failed] = await Promise.all([get('spendings/sums', { since }), get('sessions', { status: 'failed', since: `${since}T00:00:00Z`, limit: 500 })]);
      state.spendings = spendings.items;
      state.failed = failed.items;
    },
    draw() {
      const table = fold(state, days);
      return [
        heading('Stats',
          h('label', { class: 'inline' }, 'Days', h('select', { onchange: (event) => go(`/stats?days=${event.target.value}&what=${what}`) }, SPANS.map((each) => h('option', { value: String(each), selected: each === days, key: each }, String(each))))),
          h('label', { class: 'inline' }, 'Bars', h('select', { onchange: (event) => go(`/stats?days=${days}&what=${event.target.value}`) }, ['tokens', 'cost'].map((each) => h('option', { value: each, selected: each === what, key: each }, each))))),
        totals(state, table),
        section('By day', {}, state.spendings.length ? bars(table, what) : empty('Nothing was spent in these days.', 'ah import --all')),
        section('By model', { class: 'card flush' }, models(table)),
        section('Days as a table', { class: 'card flush' }, dayTable(table)),
      ];
    },
  };
}

/// The spendings per day, and per model in it; every day has a row, so a gap is a gap.
function fold(state, days) {
  const byDay = new Map();
  for (let back = days - 1; back >= 0; back -= 1) byDay.set(today(new Date(Date.now() - back * DAY_MS)), { models: new Map(), sessions: 0, failed: 0, all: [] });
  const models = new Map();
  for (const spending of state.spendings) {
    const day = byDay.get(spending.day);
    if (!day) continue;
    const model = spending.model || 'unknown';
    day.all.push(spending);
    day.sessions += spending.sessions;
    day.models.set(model, [...(day.models.get(model) || []), spending]);
    models.set(model, [...(models.get(model) || []), spending]);
  }
  for (const session of state.failed) {
    const day = byDay.get(session.lastActivityAt.slice(0, 10));
    if (day) day.failed += 1;
  }
  const sum = (spendings) => spendings.reduce((total, each) => total + tokens(each.usage), 0);
  const names = [...models.keys()].sort((left, right) => sum(models.get(right)) - sum(models.get(left)));
  return { byDay, models, names, sum };
}

function totals(state, table) {
  const sum = cost(state.spendings);
  const sessions = state.spendings.reduce((total, each) => total + each.sessions, 0);
  const tile = (value, name) => h('div', { class: 'tile', key: name }, h('strong', null, value), h('span', { class: 'quiet' }, name));
  return h('div', { class: 'tiles', key: 'tiles' }, tile(sum.text, 'cost'), tile(count(table.sum(state.spendings)), 'tokens'), tile(count(sessions), 'sessions by day and model'), tile(String(state.failed.length), 'sessions that failed'),
    sum.unpriced > 0 && h('p', { class: 'quiet' }, `${count(sum.unpriced)} tokens are of models without a price; `, code('prices.toml'), ' may name one.'));
}

function bars(table, what) {
  const size = what === 'cost' ? (spendings) => cost(spendings).nano : table.sum;
  const label = what === 'cost' ? dollars : (number) => `${count(number)} tokens`;
  const most = Math.max(1, ...[...table.byDay.values()].map((day) => size(day.all)));
  const width = 720 / table.byDay.size;
  const columns = [...table.byDay].map(([day, row], at) => {
    let top = 180;
    return h('g', { key: day }, table.names.map((name, colour) => {
      const part = size(row.models.get(name) || []);
      if (!part) return null;
      const height = Math.max(1, (part / most) * 170);
      top -= height;
      return h('rect', { key: name, x: (at * width + width * 0.12).toFixed(1), y: top.toFixed(1), width: (width * 0.76).toFixed(1), height: height.toFixed(1), class: `series-${colour % COLOURS}` }, h('title-svg', null, `${day} · ${name} · ${label(part)}`));
    }));
  });
  const every = Math.ceil(table.byDay.size / 8);
  return h('figure', { class: 'chart' },
    h('svg', { viewBox: '0 0 760 205', role: 'img', 'aria-label': `${what} by day and model; the table below has the numbers` },
      h('line', { x1: 0, x2: 720, y1: 180, y2: 180, class: 'axis' }), h('line', { x1: 0, x2: 720, y1: 10, y2: 10, class: 'axis faint' }),
      h('text', { x: 724, y: 14, class: 'tick' }, what === 'cost' ? dollars(most) : count(most)), columns,
      [...table.byDay.keys()].map((day, at) => at % every === 0 && h('text', { key: day, x: Math.max(14, at * width + width / 2).toFixed(1), y: 198, class: 'tick middle' }, day.slice(5)))),
    h('figcaption', { class: 'legend' }, table.names.map((name, colour) => h('span', { key: name }, h('i', { class: `series-${colour % COLOURS}` }), name))));
}

function models(table) {
  return h('table', null, h('thead', null, h('tr', null, ['Model', 'Input', 'Output', 'Cache', 'Tokens', 'Cost'].map((name) => h('th', { scope: 'col', key: name }, name)))),
    h('tbody', null, table.names.map((name) => {
      const spendings = table.models.get(name);
      const sum = (part) => count(spendings.reduce((total, each) => total + part(each.usage), 0));
      return h('tr', { key: name }, h('th', { scope: 'row' }, name), h('td', null, sum((usage) => usage.inputTokens)), h('td', null, sum((usage) => usage.outputTokens + usage.reasoningTokens)),
        h('td', null, sum((usage) => usage.cacheReadTokens + usage.cacheWriteTokens)), h('td', null, sum(tokens)), h('td', null, cost(spendings).text));
    })));
}

function dayTable(table) {
  const rows = [...table.byDay].filter(([, day]) => day.all.length || day.failed).reverse();
  return h('table', null, h('thead', null, h('tr', null, ['Day', 'Sessions', 'Failed', 'Tokens', 'Cost'].map((name) => h('th', { scope: 'col', key: name }, name)))),
    h('tbody', null, rows.map(([day, row]) => h('tr', { key: day }, h('th', { scope: 'row' }, day), h('td', null, one(row.sessions, 'session')), h('td', null, String(row.failed)), h('td', null, count(table.sum(row.all))), h('td', null, cost(row.all).text)))));
}
