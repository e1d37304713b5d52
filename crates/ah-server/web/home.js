// Home: what needs me, what runs now, what it cost today.

import { h } from './dom.js';
import { get, post, path } from './api.js';
import { act, badge, code, empty, heading, link, section, time, toast } from './ui.js';
import { count, cost, one, short, today, tokens } from './format.js';
import { approvalCard } from './approvals.js';
import { questionCard } from './questions.js';

const DAY_MS = 86400000;
/// How old the cost of today may be.
const COST_MS = 10000;
const WANTED = /^(approval|question|message|run|session)-/;

export function open(context) {
  const { shell, redraw, reload } = context;
  const state = { approvals: [], questions: [], dead: [], failed: [], running: [], spendings: null };
  // What it cost is added up from much: the page does not wait for it, nor asks at every change.
  let adding = null;
  let asked = 0;
  function addUp() {
    adding ||= setTimeout(() => {
      adding = null;
      asked = Date.now();
      get('spendings/sums', { since: today() }).then(({ items }) => { state.spendings = items; redraw(); }, () => {});
    }, Math.max(0, asked + COST_MS - Date.now()));
  }
  return {
    title: 'Home',
    wants: (change) => WANTED.test(change.kind),
    async load() {
      const since = Date.now() - DAY_MS;
      const wanted = {
        hive: shell.may.hive && shell.needs.join(),
        dead: shell.may.hive && get('messages', { status: 'dead', limit: 20 }),
        failed: get('runs', { status: 'failed', limit: 20 }),
        running: get('sessions', { status: ['running', 'stopping'], limit: 50 }),
      };
      const names = Object.keys(wanted);
      const got = await Promise.all(names.map((name) => wanted[name]));
      const answer = Object.fromEntries(names.map((name, at) => [name, got[at]]));
      state.approvals = shell.needs.approvals;
      state.questions = shell.needs.questions;
      state.dead = answer.dead ? answer.dead.items : [];
      state.failed = answer.failed.items.filter((run) => Date.parse(run.endedAt) > since);
      state.running = answer.running.items;
      addUp();
    },
    close: () => clearTimeout(adding),
    draw: () => [
      heading('Home', h('span', { class: 'quiet' }, summary(state))),
      needsMe(state, { shell, redraw, reload }),
      h('div', { class: 'columns', key: 'columns' }, runsNow(state), costToday(state)),
    ],
  };
}

function summary(state) {
  const number = state.approvals.length + state.questions.length + state.dead.length + state.failed.length;
  return number ? `${one(number, 'thing')} for you` : 'nothing waits for you';
}

function needsMe(state, context) {
  const none = !state.approvals.length && !state.questions.length && !state.dead.length && !state.failed.length;
  return section('Needs me', {},
    none && empty('Nothing waits for you. Agents ask here when they need a decision.', 'ah question ask "Deploy now?" --option yes --option no'),
    h('div', { class: 'stack', key: 'list' },
      state.questions.map((question) => questionCard(question, context)),
      state.approvals.map((approval) => approvalCard(approval, context)),
      state.dead.map((message) => deadLetter(message, context)),
      state.failed.map(failedRun)));
}

function deadLetter(message, { shell, reload }) {
  return h('article', { class: 'item', key: message.id, tabindex: '-1', 'data-row': true, 'aria-label': `Dead letter from ${message.from} to ${message.to}` },
    h('div', { class: 'row' }, badge('dead letter', 'bad'), h('strong', null, `${message.from} → ${message.to}`), time(message.deadAt)),
    h('p', { class: 'said' }, message.body.slice(0, 2000)),
    message.note && h('p', { class: 'quiet' }, message.note),
    shell.may.write && h('div', { class: 'row' }, h('button', { onclick: (event) => act(event, async () => {
      await post(path('messages', message.id, 'requeue'));
      toast('Queued again.', { tone: 'good' });
      reload();
    }) }, 'Queue again')));
}

function failedRun(run) {
  return h('article', { class: 'item', key: run.id },
    h('div', { class: 'row' }, badge('run failed', 'bad'), link(`/sessions/${path(run.sessionId)}`, { 'data-row': true }, `session ${short(run.sessionId)}`), time(run.endedAt)),
    run.error && h('p', { class: 'said' }, run.error.slice(0, 2000)));
}

function runsNow(state) {
  return section('Runs now', {},
    !state.running.length && empty('No session is running.', 'ah task create --prompt "fix the login" --agent claude-code'),
    h('ul', { class: 'list' }, state.running.map((session) => h('li', { key: session.id },
      link(`/sessions/${path(session.id)}`, { 'data-row': true, class: 'grow ellipsis' }, session.title || `${session.agent.type} ${short(session.id)}`),
      h('span', { class: 'quiet number' }, `${count(session.lastSeq)} events`), badge(session.status), time(session.lastActivityAt)))));
}

function costToday(state) {
  if (!state.spendings) return section('Cost today', {}, h('p', { class: 'quiet' }, 'Adding up…'));
  const models = new Map();
  for (const spending of state.spendings) models.set(spending.model, [...(models.get(spending.model) || []), spending]);
  const sum = cost(state.spendings);
  const used = state.spendings.reduce((total, spending) => total + tokens(spending.usage), 0);
  return section('Cost today', {},
    h('p', { class: 'big' }, sum.text, h('small', { class: 'quiet' }, ` ${count(used)} tokens`)),
    sum.unpriced > 0 && h('p', { class: 'quiet' }, `${count(sum.unpriced)} tokens are of models without a price; `, code('prices.toml'), ' may name one.'),
    !state.spendings.length && empty('Nothing was spent today (UTC).', 'ah import --all'),
    h('ul', { class: 'list' }, [...models].map(([model, spendings]) => h('li', { key: model },
      h('span', { class: 'grow ellipsis' }, model || 'model unknown'),
      h('span', { class: 'number' }, `${count(spendings.reduce((total, each) => total + tokens(each.usage), 0))} tokens`),
      h('span', { class: 'number' }, cost(spendings).text)))));
}
