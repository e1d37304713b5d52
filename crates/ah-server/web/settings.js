// Settings: tokens, what retention would remove, how the server is.

import { h } from './dom.js';
import { all, get, post, remove, path, request } from './api.js';
import { act, badge, code, confirmTyped, dialog, empty, facts, heading, section, time, toast } from './ui.js';
import { bytes, count, when } from './format.js';

const DAY_MS = 86400000;
const ROLES = ['viewer', 'operator', 'admin', 'executor'];

export function open(context) {
  const { shell, redraw, reload } = context;
  const state = { tokens: [], plan: null, receipts: [], version: null, ready: null, days: null };
  async function plan() {
    // The server's own rules first; another number is an "if".
    state.days ||= daysOf(await get('retention/rules'));
    const { messages, changes, sessions } = state.days;
    state.plan = await post('retention/plan', { messagesMs: messages ? messages * DAY_MS : null, changesMs: changes ? changes * DAY_MS : null, sessionsMs: sessions ? sessions * DAY_MS : null });
  }
  return {
    title: 'Settings',
    wants: () => false,
    async load() {
      const ready = request('GET', 'readyz', undefined, { root: '/' }).then((answer) => answer.status, (error) => error.message);
      const [tokens, receipts, version, health] = await Promise.all([
        shell.may.admin ? all('tokens', {}, 500) : [], get('retention/receipts', { limit: 10 }), request('GET', 'version', undefined, { root: '/' }), ready, plan(),
      ]);
      Object.assign(state, { tokens, receipts: receipts.items, version, ready: health });
    },
    draw: () => [
      heading('Settings'),
      h('div', { class: 'columns', key: 'columns' }, health(state, shell), retention(state, (event) => {
        event.preventDefault();
        for (const name of Object.keys(state.days)) state.days[name] = Number(event.currentTarget[name].value) || 0;
        act({ currentTarget: event.currentTarget.querySelector('button') }, async () => { await plan(); redraw(); });
      })),
      shell.may.admin && tokenList(state, reload),
    ],
  };
}

function daysOf(rules) {
  const days = (ms) => (ms === null || ms === undefined ? 0 : Math.max(1, Math.round(ms / DAY_MS)));
  return { messages: days(rules.messagesMs), changes: days(rules.changesMs), sessions: days(rules.sessionsMs) };
}

function health(state, shell) {
  return section('Server', {}, facts([
    ['ready', badge(state.ready, state.ready === 'ready' ? 'good' : 'bad')], ['program', `${state.version.name} ${state.version.version}`], ['interface', state.version.api],
    ['you are', `${shell.who.party}, ${shell.who.role || 'without a login'}`],
  ]), h('p', { class: 'quiet' }, 'Settings are in files: ', code('ah config show'), '. Numbers for Prometheus are at ', code('/metrics'), '.'));
}

function retention(state, submit) {
  const field = (name, label) => h('label', { key: name }, label, h('input', { name, type: 'number', min: '0', class: 'tiny', value: String(state.days[name]) }));
  const rows = Object.entries(state.plan || {});
  const all = rows.reduce((sum, [, amount]) => ({ rows: sum.rows + amount.rows, bytes: sum.bytes + amount.bytes }), { rows: 0, bytes: 0 });
  const line = (name, amount) => h('tr', { key: name }, h('th', { scope: 'row' }, name), h('td', null, count(amount.rows)), h('td', null, bytes(amount.bytes)));
  return section('Retention', {},
    h('p', { class: 'quiet' }, 'The server keeps things so long, and removes the rest by itself. Other numbers show what they would remove; 0 keeps for ever.'),
    h('form', { class: 'row', onsubmit: submit }, field('messages', 'Messages, days'), field('changes', 'Changes, days'), field('sessions', 'Ended sessions, days'), h('button', null, 'Plan')),
    rows.length ? h('table', null, h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'What'), h('th', { scope: 'col' }, 'Rows'), h('th', { scope: 'col' }, 'Size'))),
      h('tbody', null, rows.map(([name, amount]) => line(name, amount)), rows.length > 1 && line('together', all))) : empty('Nothing would be removed.', 'ah retention plan'),
    state.receipts.length > 0 && h('details', null, h('summary', null, 'Receipts'), h('ul', { class: 'list' }, state.receipts.map((receipt) => h('li', { key: receipt.id },
      badge(receipt.kind, 'plain'), h('span', { class: 'grow' }, receipt.subject || '', ' ', Object.entries(receipt.removed).map(([name, amount]) => `${count(amount.rows)} ${name}`).join(', ')), time(receipt.startedAt))))));
}

function tokenList(state, reload) {
  const live = state.tokens.filter((token) => !token.revokedAt);
  return section('Tokens', { class: 'card flush' },
    h('div', { class: 'row pad' }, h('button', { class: 'primary', onclick: (event) => act(event, async () => { if (await create()) await reload(); }) }, 'New token')),
    !live.length && empty('There is no token.', 'ah token create --role operator'),
    h('ul', { class: 'list' }, live.map((token) => h('li', { key: token.id },
      badge(token.role, 'plain'), h('span', { class: 'grow ellipsis' }, token.name || token.id, token.agent && ` for ${token.agent}`),
      h('span', { class: 'quiet wide-only' }, token.expiresAt ? `until ${when(token.expiresAt)}` : 'for ever'), h('span', { class: 'quiet' }, token.lastUsedAt ? 'used ' : 'never used'), token.lastUsedAt && time(token.lastUsedAt),
      h('button', { class: 'danger', 'aria-label': `Revoke ${token.name || token.id}`, onclick: (event) => act(event, async () => {
        const word = (token.name || token.id).slice(0, 40);
        if (!await confirmTyped({ title: 'Revoke a token', word, action: 'Revoke', text: 'Who holds it is refused at once.' })) return;
        await remove(path('tokens', token.id));
        toast('The token is revoked.');
        await reload();
      }) }, 'Revoke')))));
}

/// The secret is made here: only its hash travels, as with `ah token create`.
async function create() {
  if (!crypto.subtle) throw new Error('A secret needs a secure page: open this one over https or on the server\'s machine, or use ah token create.');
  const given = { name: '', role: 'viewer', days: 30 };
  const yes = await dialog('New token', (done) => h('form', { onsubmit: (event) => { event.preventDefault(); done(true); } },
    h('label', null, 'Name', h('input', { name: 'name', required: true, oninput: (event) => { given.name = event.target.value; } })),
    h('label', null, 'Role', h('select', { name: 'role', onchange: (event) => { given.role = event.target.value; } }, ROLES.map((role) => h('option', { key: role, value: role }, role)))),
    h('label', null, 'Days it holds (0: for ever)', h('input', { name: 'days', type: 'number', min: '0', value: '30', oninput: (event) => { given.days = Number(event.target.value); } })),
    h('div', { class: 'row end' }, h('button', { type: 'button', onclick: () => done(false) }, 'Cancel'), h('button', { class: 'primary' }, 'Make'))));
  if (!yes) return false;
  const hex = (data) => Array.from(new Uint8Array(data), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const id = crypto.randomUUID();
  const secret = `ah_${id}_${hex(crypto.getRandomValues(new Uint8Array(32)))}`;
  const hash = hex(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret)));
  const expiresAt = given.days ? new Date(Date.now() + given.days * DAY_MS).toISOString() : null;
  await post('tokens', { id, hash, role: given.role, name: given.name, expiresAt });
  await dialog('The token, shown once', (done) => h('div', null, h('p', null, 'Copy it now: only its hash is kept.'), h('pre', { class: 'secret', tabindex: '0' }, secret),
    h('div', { class: 'row end' }, h('button', { class: 'primary', onclick: () => done(true) }, 'I have it'))));
  return true;
}
