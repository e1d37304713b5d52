// Questions: options, several of them, free text, deadlines.

import { h } from './dom.js';
import { get, post, path } from './api.js';
import { act, badge, code, empty, heading, link, section, time, toast } from './ui.js';
import { countdown } from './format.js';
import { draft } from './drafts.js';

const STATUSES = ['answered', 'expired', 'withdrawn'];

export function open(context) {
  const { shell, redraw, reload } = context;
  const state = { others: [], past: [] };
  return {
    title: 'Questions',
    wants: (change) => change.kind === 'question-updated',
    async load() {
      const [, open, past] = await Promise.all([
        shell.needs.join(), get('questions', { status: 'open', limit: 100 }), get('questions', { status: STATUSES, limit: 30 }),
      ]);
      state.others = open.items.filter((question) => question.to !== 'operator');
      state.past = past.items;
    },
    draw: () => [
      heading('Questions'),
      section('Open', {},
        !shell.needs.questions.length && empty('Nobody asks you anything.', 'ah question ask "Which name?" --from NAME --option one --option two --ttl 10m'),
        h('div', { class: 'stack' }, shell.needs.questions.map((question) => questionCard(question, { shell, redraw, reload })))),
      state.others.length > 0 && section('Between agents', {}, h('ul', { class: 'list' }, state.others.map((question) => h('li', { key: question.id },
        h('span', { class: 'grow' }, h('strong', null, `${question.from} → ${question.to}`), ` ${question.text.slice(0, 500)}`), deadline(question), time(question.askedAt))))),
      section('Past', {},
        !state.past.length && h('p', { class: 'quiet' }, 'Nothing was asked before.'),
        h('div', { class: 'stack' }, state.past.map((question) => past(question, { shell, reload })))),
    ],
  };
}

export function deadline(question) {
  return question.deadlineAt && h('span', { class: 'countdown', 'data-deadline': question.deadlineAt, role: 'timer' }, countdown(question.deadlineAt));
}

export function questionCard(question, { shell, reload }) {
  return h('article', { class: 'item', key: question.id, tabindex: '-1', 'data-row': true, 'aria-label': `Question of ${question.from}` },
    h('div', { class: 'row' }, badge('question', 'warn'), link(`/agents/${path(question.from)}`, {}, question.from), 'asks', time(question.askedAt), h('span', { class: 'grow' }), deadline(question)),
    h('p', { class: 'said strong' }, question.text),
    shell.may.write && answerForm(question, reload));
}

/// The form is one element under the question's key: an update of the list does not touch it.
function answerForm(question, reload) {
  const name = `question/${question.id}`;
  const kept = JSON.parse(draft.of(name, '{"chosen":[],"text":""}'));
  const typed = question.freeText || !question.options.length;
  const keep = (event) => {
    const form = event.target.form;
    const chosen = [...form.querySelectorAll('[name=option]:checked')].map((box) => box.value);
    draft.keep(name, JSON.stringify({ chosen, text: form.text?.value || '' }));
  };
  const send = (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const chosen = [...form.querySelectorAll('[name=option]:checked')].map((box) => box.value);
    const text = form.text?.value.trim();
    const values = text ? (question.multi ? [...chosen, text] : [text]) : chosen;
    if (!values.length) { toast('Choose or write an answer first.'); return; }
    const button = form.querySelector('button');
    act({ currentTarget: button }, async () => {
      const answered = await post(path('questions', question.id, 'answer'), { values });
      draft.drop(name);
      toast(answered.outcome === 'late' ? 'Too late: kept as a late answer.' : `${question.from} has your answer.`, { tone: answered.outcome === 'late' ? 'bad' : 'good' });
      await reload();
    });
  };
  return h('form', { class: 'answer', onsubmit: send, onchange: keep, oninput: keep },
    question.options.length > 0 && h('fieldset', null,
      h('legend', null, question.multi ? 'Choose some' : 'Choose one'),
      question.options.map((option) => h('label', { class: 'option', key: option },
        h('input', { type: question.multi ? 'checkbox' : 'radio', name: 'option', value: option, checked: kept.chosen.includes(option) }), h('span', null, option)))),
    h('div', { class: 'row' },
      typed && h('textarea', { name: 'text', rows: '1', class: 'grow', value: kept.text, 'aria-label': 'Answer in your words', placeholder: question.options.length ? 'Or in your words' : 'Your answer' }),
      h('button', { class: 'primary' }, 'Answer')));
}

function past(question, context) {
  const answer = question.answer || question.lateAnswer;
  return h('article', { class: 'item', key: question.id },
    h('div', { class: 'row' }, badge(question.outcome), h('strong', null, `${question.from} → ${question.to}`), time(question.resolvedAt || question.askedAt)),
    h('p', { class: 'said' }, question.text),
    answer && h('p', null, h('span', { class: 'quiet' }, `${answer.resolver || answer.by}: `), answer.values.join(', ')),
    question.outcome === 'expired' && question.to === 'operator' && context.shell.may.write && h('details', null, h('summary', null, 'Answer late'),
      h('p', { class: 'quiet' }, 'A late answer is kept, and never taken for one in time. See ', code('ah question show'), '.'), answerForm(question, context.reload)));
}
