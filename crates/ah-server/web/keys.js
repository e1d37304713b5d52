// The keyboard: everything a mouse can do here has a key.

import { h } from './dom.js';
import { dialog } from './ui.js';

const AFTER_G_MS = 1500;
let places = [];
let helping = false;

export function keyboard(go, given) {
  places = given;
  let waiting = 0;
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && typing(event.target)) { event.target.blur(); return; }
    if (typing(event.target) || document.querySelector('dialog[open]')) return;
    if (Date.now() - waiting < AFTER_G_MS) {
      waiting = 0;
      const place = places.find((one) => one.key === event.key);
      if (place) { event.preventDefault(); go(place.to); return; }
    }
    const deeds = {
      g: () => { waiting = Date.now(); },
      '?': help,
      '/': () => (document.querySelector('main [data-search]') || document.getElementById('search'))?.focus(),
      j: () => move(1),
      k: () => move(-1),
      ArrowDown: () => onRow() && move(1),
      ArrowUp: () => onRow() && move(-1),
      L: () => document.querySelector('[data-live]')?.click(),
    };
    if (Object.hasOwn(deeds, event.key) && deeds[event.key]() !== false && !event.key.startsWith('Arrow')) event.preventDefault();
    else if (event.key.startsWith('Arrow') && onRow()) event.preventDefault();
  });
}

const typing = (node) => node.matches?.('input:not([type=checkbox]):not([type=radio]):not([type=button]), textarea, select');
const onRow = () => document.activeElement?.closest('[data-row]');

/// The next or the last row of a list, from where the focus is.
function move(step) {
  const rows = [...document.querySelectorAll('main [data-row]')];
  if (!rows.length) return;
  const at = rows.indexOf(onRow());
  const to = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))];
  to.focus();
  to.scrollIntoView({ block: 'nearest' });
}

export async function help() {
  if (helping) return;
  helping = true;
  const line = (key, text) => h('div', { key }, h('dt', null, h('kbd', null, key)), h('dd', null, text));
  await dialog('Keyboard', (done) => h('div', null,
    h('dl', { class: 'keys' },
      places.map((one) => line(`g ${one.key}`, one.name)),
      line('/', 'Search'), line('j k', 'Next and last row of a list'), line('Enter', 'Open the row'),
      line('L', 'Jump to live in a session'), line('Esc', 'Leave a field or a dialog'), line('?', 'This help')),
    h('div', { class: 'row end' }, h('button', { onclick: () => done(true) }, 'Close'))));
  helping = false;
}
