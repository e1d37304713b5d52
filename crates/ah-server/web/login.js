// Who is not logged in: the one-time link, or a token.

import { h } from './dom.js';
import { request } from './api.js';
import { code, complain } from './ui.js';

export function open({ enter, redraw }) {
  let problem = '';
  let busy = false;
  async function send(body) {
    busy = true;
    problem = '';
    redraw();
    try {
      await request('POST', 'login', body, { root: '/', quiet: true });
      await enter();
    } catch (error) {
      problem = error.message;
      if (error.status >= 500) complain(error);
    }
    busy = false;
    redraw();
  }
  return {
    title: 'Log in',
    load() {},
    opened() {
      const secret = location.hash.slice(1);
      if (location.pathname !== '/login' || !secret) return;
      // The code must not stay in the history of the browser.
      history.replaceState(null, '', '/login');
      send({ code: secret });
    },
    draw: () => h('section', { class: 'card login' },
      h('h1', { tabindex: '-1' }, 'Log in'),
      h('p', null, 'Run ', code('ah dashboard'), ' for a link that opens this page.'),
      problem && h('p', { class: 'problem', role: 'alert' }, problem),
      h('form', { onsubmit: (event) => { event.preventDefault(); send({ token: event.target.token.value.trim() }); } },
        h('label', null, 'Or a token', h('input', { name: 'token', type: 'password', autocomplete: 'off', required: true })),
        h('button', { class: 'primary', disabled: busy }, busy ? 'Logging in…' : 'Log in')),
      h('p', { class: 'quiet' }, 'A token is made with ', code('ah token create --role operator'), '.')),
  };
}
