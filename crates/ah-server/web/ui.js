// Pieces that every page uses: badges, empty states, toasts, dialogs.

import { h, render } from './dom.js';
import { Problem } from './api.js';
import { ago, when } from './format.js';

const TONES = {
  active: 'good', running: 'good', live: 'good', succeeded: 'good', completed: 'good', approved: 'good', answered: 'good', acked: 'good', good: 'good', ready: 'good',
  pending: 'warn', open: 'warn', stopping: 'warn', draining: 'warn', claimed: 'warn', leased: 'warn', poor: 'warn', late: 'warn',
  failed: 'bad', dead: 'bad', denied: 'bad', expired: 'bad', revoked: 'bad', disabled: 'bad', bad: 'bad', destroyed: 'bad',
};

export const badge = (word, tone) => h('span', { class: `badge ${tone || TONES[word] || 'plain'}` }, word);

/// A time that a second's tick keeps fresh; the title says it in full.
export const time = (at) => at ? h('time', { datetime: at, title: when(at), 'data-ago': at }, ago(at)) : h('span', { class: 'quiet' }, '–');

export const link = (to, props, ...children) => h('a', { href: to, ...props }, ...children);

export const code = (text) => h('code', null, text);

/// Says that there is nothing, and the command that would change it.
export function empty(text, command) {
  return h('div', { class: 'empty', key: 'empty' }, h('p', null, text), command && h('p', null, 'Try ', code(command)));
}

export function heading(title, ...beside) {
  return h('div', { class: 'heading', key: 'heading' }, h('h1', { tabindex: '-1' }, title), h('div', { class: 'beside' }, beside));
}

export function section(title, props, ...children) {
  const id = `s-${title.toLowerCase().replace(/[^a-z]+/g, '-')}`;
  return h('section', { 'aria-labelledby': id, key: id, class: 'card', ...props }, h('h2', { id }, title), children);
}

/// A definition list of pairs; a pair without a value is left out.
export function facts(pairs) {
  return h('dl', { class: 'facts' }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
    .map(([name, value]) => h('div', { key: name }, h('dt', null, name), h('dd', null, value))));
}

let toastNumber = 0;
const toasts = [];

export function toast(text, { title, tone = 'plain', ms = 6000 } = {}) {
  const one = { number: ++toastNumber, text, title, tone };
  toasts.push(one);
  if (toasts.length > 4) toasts.shift();
  const drop = () => { const at = toasts.indexOf(one); if (at >= 0) toasts.splice(at, 1); draw(); };
  one.drop = drop;
  setTimeout(drop, ms);
  draw();
  function draw() {
    render(document.getElementById('toasts'), toasts.map((it) => h('div', { class: `toast ${it.tone}`, key: it.number },
      h('div', null, it.title && h('strong', null, it.title), h('p', null, it.text)),
      h('button', { class: 'ghost', 'aria-label': 'Dismiss', onclick: it.drop }, '×'))));
  }
}

/// Shows what went wrong in the server's own words.
export function complain(error) {
  if (error.name === 'AbortError' || error.status === 401) return;
  const title = error instanceof Problem ? error.title : undefined;
  toast(error.message, { title: title === error.message ? undefined : title, tone: 'bad', ms: 10000 });
}

/// Does something that a button asks for: the button rests meanwhile, a problem becomes a toast.
export async function act(event, deed) {
  const button = event?.currentTarget;
  if (button) button.disabled = true;
  try {
    return await deed();
  } catch (error) {
    complain(error);
    return undefined;
  } finally {
    if (button) button.disabled = false;
  }
}

/// Asks for a word to be typed before something that cannot be taken back. True if it was.
export function confirmTyped({ title, text, word, action }) {
  return dialog(title, (done) => {
    let typed = '';
    return h('form', { onsubmit: (event) => { event.preventDefault(); if (typed === word) done(true); } },
      h('p', null, text),
      h('label', null, 'Type ', code(word), ' to go on',
        h('input', { autocomplete: 'off', spellcheck: 'false', name: 'word', oninput: (event) => {
          typed = event.target.value;
          event.target.form.querySelector('.danger').disabled = typed !== word;
        } })),
      h('div', { class: 'row end' },
        h('button', { type: 'button', onclick: () => done(false) }, 'Cancel'),
        h('button', { type: 'submit', class: 'danger', disabled: true }, action)));
  });
}

/// A modal dialog; `body(done)` describes it, and what `done` is given is the answer.
export function dialog(title, body) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    const node = document.createElement('dialog');
    let answer = false;
    const done = (value) => { answer = value; node.close(); };
    node.setAttribute('aria-label', title);
    node.onclose = () => { node.remove(); before?.focus?.(); resolve(answer); };
    render(node, h('h2', null, title), body(done));
    document.body.append(node);
    node.showModal();
    node.querySelector('input, textarea, button')?.focus();
  });
}
