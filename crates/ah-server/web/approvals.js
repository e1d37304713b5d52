// Approvals: what agents may not do until somebody agrees.

import { h } from './dom.js';
import { get, post, path } from './api.js';
import { act, badge, code, empty, facts, heading, link, section, time, toast } from './ui.js';
import { draft } from './drafts.js';

const STATUSES = ['approved', 'denied', 'failed', 'withdrawn'];

export function open(context) {
  const { shell, redraw, reload } = context;
  const state = { decided: [], cursor: null };
  return {
    title: 'Approvals',
    wants: (change) => change.kind === 'approval-updated',
    async load() {
      const [, page] = await Promise.all([shell.needs.join(), get('approvals', { status: STATUSES, limit: 30 })]);
      state.decided = page.items;
      state.cursor = page.nextCursor;
    },
    draw: () => [
      heading('Approvals'),
      section('Pending', {},
        !shell.needs.approvals.length && empty('No agent waits for an approval.', 'ah approval request --agent NAME --kind deploy --reason "the tests pass"'),
        h('div', { class: 'stack' }, shell.needs.approvals.map((approval) => approvalCard(approval, { shell, redraw, reload })))),
      section('Decided', {},
        !state.decided.length && h('p', { class: 'quiet' }, 'Nothing was decided yet.'),
        h('ul', { class: 'list' }, state.decided.map(decided)),
        state.cursor && h('button', { onclick: (event) => act(event, async () => {
          const page = await get('approvals', { status: STATUSES, limit: 30, cursor: state.cursor });
          state.decided.push(...page.items);
          state.cursor = page.nextCursor;
          redraw();
        }) }, 'Older')),
    ],
  };
}

export function approvalCard(approval, { shell, reload, redraw }) {
  const note = `approval/${approval.id}`;
  const decide = (verdict) => (event) => act(event, async () => {
    const said = draft.of(note).trim();
    try {
      await post(path('approvals', approval.id, 'decision'), { verdict, note: said || null });
      toast(`${approval.agent}: ${approval.kind} is ${verdict}.`, { tone: verdict === 'approved' ? 'good' : 'plain' });
    } catch (error) {
      if (error.status !== 409) throw error;
      toast(await whoDecided(approval.id, error), { title: 'Somebody was faster', tone: 'bad', ms: 12000 });
    }
    draft.drop(note);
    // What is in force may be another now.
    diffs.clear();
    await reload();
  });
  return h('article', { class: 'item', key: approval.id, tabindex: '-1', 'data-row': true, 'aria-label': `Approval: ${approval.agent} asks for ${approval.kind}` },
    h('div', { class: 'row' }, badge('approval', 'warn'), h('strong', null, approval.kind), 'for', link(`/agents/${path(approval.agent)}`, {}, approval.agent), time(approval.requestedAt)),
    approval.reason && h('p', { class: 'said' }, approval.reason),
    details(approval, redraw),
    shell.may.write && h('div', { class: 'row' },
      h('input', { class: 'grow', placeholder: 'Reason (for a denial)', 'aria-label': 'Reason', value: draft.of(note), oninput: (event) => draft.keep(note, event.target.value) }),
      h('button', { class: 'primary', onclick: decide('approved') }, 'Approve'),
      h('button', { class: 'danger', onclick: decide('denied') }, 'Deny')));
}

/// What the commits of approvals change, as far as it was asked for.
const diffs = new Map();
/// Lines of a difference that stand in the page.
const DIFF_LINES = 1000;

function diff(approval, redraw) {
  if (!diffs.has(approval.id)) {
    diffs.set(approval.id, null);
    get(`${path('approvals', approval.id)}/diff`).then((got) => diffs.set(approval.id, got), (error) => diffs.set(approval.id, { error })).then(redraw);
  }
  const got = diffs.get(approval.id);
  if (!got) return h('p', { class: 'quiet', key: 'diff' }, 'Reading what it changes…');
  if (got.error) return h('p', { class: 'quiet', key: 'diff' }, `What it changes cannot be shown: ${got.error.message}.`);
  const lines = got.text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const left = lines.length - DIFF_LINES;
  return h('div', { key: 'diff' },
    h('p', { class: 'quiet' }, got.base ? `What it changes of ${got.base.slice(0, 12)}:` : 'Nothing was before it:'),
    lines.length ? h('pre', { class: 'diff', tabindex: '0', 'aria-label': 'What the commit changes' }, lines.slice(0, DIFF_LINES).map((line, at) => h('span', { key: at, class: tone(line) }, line || ' ')))
      : h('p', null, 'Nothing: the files are the same.'),
    (left > 0 || got.isCut) && h('p', { class: 'quiet' }, left > 0 ? `… and ${left} lines more` : '… and more'));
}

function tone(line) {
  if (/^(diff |index |--- |\+\+\+ |new file|deleted file|old mode|new mode|Binary )/.test(line)) return 'file';
  return { '+': 'more', '-': 'less', '@': 'hunk' }[line[0]] || '';
}

function details(approval, redraw) {
  const more = Object.keys(approval.details || {}).length > 0;
  return [
    approval.commit && facts([['commit', code(approval.commit)], ['asked as', approval.commitRef && code(approval.commitRef)]]),
    approval.commit && approval.kind === 'apply_commit' && diff(approval, redraw),
    more && h('details', null, h('summary', null, 'Details'), h('pre', null, JSON.stringify(approval.details, null, 2))),
    approval.problem && h('p', { class: 'problem' }, approval.problem),
  ];
}

async function whoDecided(id, error) {
  try {
    const approval = await get(path('approvals', id));
    const who = [approval.resolvedBy, approval.resolver].filter(Boolean).join(', ');
    return `It is ${approval.status} already, decided by ${who || 'somebody else'}${approval.note ? `: ${approval.note}` : ''}.`;
  } catch {
    return error.message;
  }
}

function decided(approval) {
  const who = approval.resolver || approval.resolvedBy;
  return h('li', { key: approval.id },
    badge(approval.status), h('span', { class: 'grow' }, h('strong', null, approval.kind), ` for ${approval.agent}`,
      approval.note && h('span', { class: 'quiet' }, ` — ${approval.note}`), approval.problem && h('span', { class: 'problem' }, ` — ${approval.problem}`)),
    who && h('span', { class: 'quiet' }, `by ${who}`), time(approval.resolvedAt));
}
