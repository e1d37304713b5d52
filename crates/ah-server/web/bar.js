// The bar at the top and the list of pages beside it.

import { h, render } from './dom.js';
import { help } from './keys.js';
import { notify } from './notify.js';

export const PLACES = [
  { to: '/', place: '', name: 'Home', key: 'h' },
  { to: '/approvals', place: 'approvals', name: 'Approvals', key: 'p', count: 'approvals' },
  { to: '/questions', place: 'questions', name: 'Questions', key: 'q', count: 'questions' },
  { to: '/agents', place: 'agents', name: 'Agents', key: 'a' },
  { to: '/sessions', place: 'sessions', name: 'Sessions', key: 's' },
  { to: '/executors', place: 'executors', name: 'Executors', key: 'e' },
  { to: '/stats', place: 'stats', name: 'Stats', key: 't' },
  { to: '/settings', place: 'settings', name: 'Settings', key: 'x' },
];

const STATES = { live: 'live', gone: 'server gone — trying again', starting: 'connecting…' };
const THEMES = ['auto', 'light', 'dark'];
let theme = localStorage.getItem('theme') || 'auto';
applyTheme();
let shown = null;

export function drawBar(shell, { logout, go }) {
  const redraw = () => drawBar(shell, { logout, go });
  render(document.getElementById('bar'),
    h('a', { class: 'brand', href: '/' }, 'Agent Harbor'),
    shell.who && h('form', { class: 'find', role: 'search', onsubmit: (event) => {
      event.preventDefault();
      const text = event.target.q.value.trim();
      if (text) go(`/sessions?q=${encodeURIComponent(text)}`);
    } }, h('input', { id: 'search', name: 'q', type: 'search', placeholder: 'Search what was said  ( / )', 'aria-label': 'Search what was said in all sessions' })),
    h('span', { class: 'grow' }),
    shell.who && h('span', { class: `line ${shell.state}`, title: 'The connection to the server' }, h('i', { 'aria-hidden': 'true' }), h('span', null, STATES[shell.state])),
    shell.who && h('span', { class: 'who quiet' }, `${shell.who.party} · ${shell.who.role || 'no login'}`),
    notify.offered() && shell.who && h('button', { class: 'ghost', onclick: () => notify.ask().then(redraw) }, 'Notify me'),
    h('button', { class: 'ghost', 'aria-label': `Colours: ${theme}`, title: `Colours: ${theme}`, onclick: () => { nextTheme(); redraw(); } }, { auto: '◐', light: '☀', dark: '☾' }[theme]),
    h('button', { class: 'ghost', 'aria-label': 'Keyboard help', title: 'Keyboard help ( ? )', onclick: help }, '?'),
    shell.who?.role && h('button', { class: 'ghost', onclick: logout }, 'Log out'));
  render(document.getElementById('status'), shell.state === 'gone' && shell.who && h('p', null, 'The server is gone — trying again. What you see may be old; what you typed is kept.'));
}

export function drawPlaces(shell) {
  render(document.getElementById('places'), shell.who && h('ul', null, PLACES.map((one) => {
    const number = one.count ? shell.needs[one.count].length : 0;
    return h('li', { key: one.place }, h('a', { href: one.to, 'aria-current': one.place === shell.place ? 'page' : null },
      h('span', null, one.name), number > 0 && h('b', { class: 'count', 'aria-label': `${number} waiting` }, String(number))));
  })));
  // On a phone the list scrolls sideways; the page that is shown has to be in sight.
  if (shell.place !== shown) document.querySelector('#places [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  shown = shell.place;
}

function nextTheme() {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  localStorage.setItem('theme', theme);
  applyTheme();
}

function applyTheme() {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
