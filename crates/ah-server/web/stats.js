// Stats: tokens, cost and sessions by day and model, failed sessions by day and agent, as bars.

import { h } from './dom.js';
import { all, get } from './api.js';
import { code, empty, heading, section } from './ui.js';
import { cost, count, dollars, one, tokens, today } from './format.js';

const DAY_MS = 86400000;
const SPANS = [7, 30, 90];
const COLOURS = 8;
const FAILED_MAX = 2000;

const total = (items, part) => items.reduce((sum, each) => sum + part(each), 0);
const used = (spendings) => total(spendings, (each) => tokens(each.usage));

/// What bars can show: how much of it some items have, and how that is said.
const BARS = {
  tokens: { size: used, say: (number) => `${count(number)} tokens` },
  cost: { size: (spendings) => cost(spendings).nano, say: dollars },
  sessions: { size: (spendings) => total(spendings, (each) => each.sessions), say: (number) => one(number, 'session') },
  errors: { size: (failed) => failed.length, say: (number) => one(number, 'failed session') },
};

export function open({ query, go }) {
  const days = SPANS.includes(Number(query.get('days'))) ? Number(query.get('days')) : 30;
  const what = Object.hasOwn(BARS, query.get('what')) ? query.get('what') : 'tokens';
  const state = { spendings: [], failed: [] };
  const since = today(new Date(Date.now() - (days - 1) * DAY_MS));
  return {
    title: 'Stats',
    wants: (change) => change.kind === 'run-updated',
    async load() {
      const [spendings, failed] = await Promise.all([get('spendings/sums', { since }), all('sessions', { status: 'failed', since: `${since}T00:00:00Z` }, FAILED_MAX)]);
      state.spendings = spendings.items;
      state.failed = failed;
    },
    draw() {
      const table = fold(state, days);
      return [
        heading('Stats',
          h('label', { class: 'inline' }, 'Days', h('select', { onchange: (event) => go(`/stats?days=${event.target.value}&what=${what}`) }, SPANS.map((each) => h('option', { value: String(each), selected: each === days, key: each }, String(each))))),
          h('label', { class: 'inline' }, 'Bars', h('select', { onchange: (event) => go(`/stats?days=${days}&what=${event.target.value}`) }, Object.keys(BARS).map((each) => h('option', { value: each, selected: each === what, key: each }, each))))),
        totals(state),
        section('By day', {}, chart(state, table, what)),
        section('By model', { class: 'card flush' }, models(table)),
        section('Days as a table', { class: 'card flush' }, dayTable(table)),
      ];
    },
  };
}

/// The spendings per day, and per model in it; every day has a row, so a gap is a gap.
function fold(state, days) {
  const byDay = new Map();
  for (let back = days - 1; back >= 0; back -= 1) byDay.set(today(new Date(Date.now() - back * DAY_MS)), { models: new Map(), failures: new Map(), sessions: 0, failed: 0, all: [] });
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
    if (!day) continue;
    const agent = session.agent.type;
    day.failed += 1;
    day.failures.set(agent, [...(day.failures.get(agent) || []), session]);
  }
  const names = [...models.keys()].sort((left, right) => used(models.get(right)) - used(models.get(left)));
  return { byDay, models, names, failing: [...new Set(state.failed.map((session) => session.agent.type))].sort() };
}

function totals(state) {
  const sum = cost(state.spendings);
  const sessions = BARS.sessions.size(state.spendings);
  const tile = (value, name) => h('div', { class: 'tile', key: name }, h('strong', null, value), h('span', { class: 'quiet' }, name));
  return h('div', { class: 'tiles', key: 'tiles' }, tile(sum.text, 'cost'), tile(count(used(state.spendings)), 'tokens'), tile(count(sessions), 'sessions by day and model'), tile(String(state.failed.length), 'sessions that failed'),
    sum.unpriced > 0 && h('p', { class: 'quiet' }, `${count(sum.unpriced)} tokens are of models without a price; `, code('prices.toml'), ' may name one.'));
}

function chart(state, table, what) {
  if (what === 'errors') return state.failed.length ? bars(table, what, 'failures', table.failing) : h('p', { class: 'quiet' }, 'No session failed in these days.');
  return state.spendings.length ? bars(table, what, 'models', table.names) : empty('Nothing was spent in these days.', 'ah import --all');
}

/// Bars of days, each of the parts that `names` name.
function bars(table, what, parts, names) {
  const { size, say } = BARS[what];
  const most = Math.max(1, ...[...table.byDay.values()].map((day) => total([...day[parts].values()], size)));
  const width = 720 / table.byDay.size;
  const columns = [...table.byDay].map(([day, row], at) => {
    let top = 180;
    return h('g', { key: day }, names.map((name, colour) => {
      const part = size(row[parts].get(name) || []);
      if (!part) return null;
      const height = Math.max(1, (part / most) * 170);
      top -= height;
      return h('rect', { key: name, x: (at * width + width * 0.12).toFixed(1), y: top.toFixed(1), width: (width * 0.76).toFixed(1), height: height.toFixed(1), class: `series-${colour % COLOURS}` }, h('title-svg', null, `${day} · ${name} · ${say(part)}`));
    }));
  });
  const every = Math.ceil(table.byDay.size / 8);
  return h('figure', { class: 'chart' },
    h('svg', { viewBox: '0 0 760 205', role: 'img', 'aria-label': `${what} by day and ${parts === 'models' ? 'model' : 'agent'}; the table below has the numbers` },
      h('line', { x1: 0, x2: 720, y1: 180, y2: 180, class: 'axis' }), h('line', { x1: 0, x2: 720, y1: 10, y2: 10, class: 'axis faint' }),
      h('text', { x: 724, y: 14, class: 'tick' }, what === 'cost' ? dollars(most) : count(most)), columns,
      [...table.byDay.keys()].map((day, at) => at % every === 0 && h('text', { key: day, x: Math.max(14, at * width + width / 2).toFixed(1), y: 198, class: 'tick middle' }, day.slice(5)))),
    h('figcaption', { class: 'legend' }, names.map((name, colour) => h('span', { key: name }, h('i', { class: `series-${colour % COLOURS}` }), name))));
}

function models(table) {
  return h('table', null, h('thead', null, h('tr', null, ['Model', 'Input', 'Output', 'Cache', 'Tokens', 'Cost'].map((name) => h('th', { scope: 'col', key: name }, name)))),
    h('tbody', null, table.names.map((name) => {
      const spendings = table.models.get(name);
      const sum = (part) => count(total(spendings, (each) => part(each.usage)));
      return h('tr', { key: name }, h('th', { scope: 'row' }, name), h('td', null, sum((usage) => usage.inputTokens)), h('td', null, sum((usage) => usage.outputTokens + usage.reasoningTokens)),
        h('td', null, sum((usage) => usage.cacheReadTokens + usage.cacheWriteTokens)), h('td', null, sum(tokens)), h('td', null, cost(spendings).text));
    })));
}

function dayTable(table) {
  const rows = [...table.byDay].filter(([, day]) => day.all.length || day.failed).reverse();
  return h('table', null, h('thead', null, h('tr', null, ['Day', 'Sessions', 'Failed', 'Tokens', 'Cost'].map((name) => h('th', { scope: 'col', key: name }, name)))),
    h('tbody', null, rows.map(([day, row]) => h('tr', { key: day }, h('th', { scope: 'row' }, day), h('td', null, one(row.sessions, 'session')), h('td', null, String(row.failed)), h('td', null, count(used(row.all))), h('td', null, cost(row.all).text)))));
}
