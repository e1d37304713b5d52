// The shell: who is here, which page is shown, what is live.
//
// A page is a module with `open(context)` that gives `{title, load, draw, wants}`: `load` reads what
// it shows, `draw` describes it, `wants` says which changes make it read again.

import { h, render } from './dom.js';
import { get, listen, request } from './api.js';
import { feed } from './live.js';
import { complain } from './ui.js';
import { ago, countdown } from './format.js';
import { needs } from './needs.js';
import { keyboard } from './keys.js';
import { drawBar, drawPlaces, PLACES } from './bar.js';
import * as home from './home.js';
import * as login from './login.js';

/// Changes that come in a burst cost one reading, begun at once.
const RELOAD_MS = 120;
const PAGES = {
  '': () => home,
  agents: (rest) => rest ? import('./agent.js') : import('./agents.js'),
  approvals: () => import('./approvals.js'),
  questions: () => import('./questions.js'),
  sessions: (rest) => rest ? import('./session.js') : import('./sessions.js'),
  executors: () => import('./executors.js'),
  stats: () => import('./stats.js'),
  settings: () => import('./settings.js'),
};

export const shell = { who: null, state: 'starting', may: { write: false, admin: false }, place: '', title: '', needs };
let view = null;
let opening = 0;
let lines = null;

async function start() {
  listen({ unauthorized: () => show(login, ''), reached, unreachable: () => setState('gone') });
  keyboard(go, PLACES);
  window.addEventListener('popstate', () => navigate(false));
  document.addEventListener('click', clicked);
  document.addEventListener('visibilitychange', () => { if (!document.hidden) lines?.again(); });
  window.addEventListener('online', () => lines?.again());
  setInterval(tick, 1000);
  if (location.pathname === '/login') return show(login, '');
  await enter();
}

/// Learns who is here, then shows the page of the address and follows the feed.
export async function enter() {
  try {
    shell.who = await get('whoami');
  } catch (error) {
    if (error.status === 401) return;
    setState('gone');
    setTimeout(enter, 1500);
    return;
  }
  const role = shell.who.role || 'admin';
  shell.may = { write: role === 'admin' || role === 'operator', admin: role === 'admin', hive: role !== 'executor' };
  if (location.pathname === '/login') history.replaceState(null, '', '/');
  drawShell();
  // The needs and the page are read at once; the page does not wait for the badges.
  if (shell.may.hive) needs.load().then(drawShell, () => {});
  navigate(false);
  lines?.stop();
  lines = await feed({ change: changed, state: setState, refused: (error) => { if (error.status === 401) show(login, ''); else complain(error); } });
}

function reached() {
  if (shell.state === 'gone' && !lines) setState('live');
}

function setState(state) {
  const back = state === 'live' && shell.state === 'gone';
  if (state === shell.state) return;
  shell.state = state;
  drawShell();
  // Changes since come through the feed; what is not in the feed (presence, sizes) is read anew.
  if (back) { reload(); needs.load().then(drawShell, () => {}); }
}

function changed(change) {
  if (needs.wants(change) && shell.may.hive) needs.load().then(drawShell, () => {});
  if (view?.wants?.(change) || change.kind === 'changes-trimmed') reload();
}

let loading = null;
let pending = false;
/// Reads the page's data again; a reading that is under way is followed by one more, not by many.
export function reload() {
  if (loading) { pending = true; return loading; }
  const mine = view;
  loading = (async () => {
    try {
      await mine?.load();
      if (mine === view) redraw();
    } catch (error) {
      if (mine === view && error.name !== 'AbortError' && error.status !== 401 && shell.state !== 'gone') complain(error);
    }
    await new Promise((done) => setTimeout(done, RELOAD_MS));
    loading = null;
    if (pending) { pending = false; reload(); }
  })();
  return loading;
}

export function redraw() {
  if (!view) return;
  render(document.getElementById('main'), h('div', { key: `page-${opening}`, class: `page ${view.wide ? 'wide' : ''}` }, view.draw()));
  view.drawn?.();
}

export function go(to) {
  if (to !== location.pathname + location.search) history.pushState(null, '', to);
  navigate(true);
}

async function navigate(byPerson) {
  const [place, rest] = location.pathname.slice(1).split('/').map(decodeURIComponent);
  const page = PAGES[place];
  shell.place = place;
  drawShell();
  if (!page) return show(nowhere, '');
  const mine = opening + 1;
  const module = await page(rest);
  if (mine > opening) await show(module, rest, byPerson);
}

async function show(module, name, byPerson) {
  const mine = ++opening;
  view?.close?.();
  view = null;
  if (module === login) { lines?.stop(); lines = null; shell.who = null; drawShell(); }
  const next = module.open({ name, query: new URLSearchParams(location.search), shell, go, redraw: () => { if (view === next) redraw(); }, reload: () => { if (view === next) return reload(); }, enter });
  try {
    await next.load();
  } catch (error) {
    if (error.status === 401 || mine !== opening) return;
    next.draw = () => h('div', { class: 'empty' }, h('h1', { tabindex: '-1' }, error.title || 'The server cannot be reached'), h('p', null, error.message),
      h('p', null, h('a', { href: '/' }, 'Home')));
  }
  if (mine !== opening) { next.close?.(); return; }
  view = next;
  document.title = `${next.title} · Agent Harbor`;
  redraw();
  next.opened?.();
  performance.mark('usable');
  if (byPerson) arrive();
}

/// Who uses a screen reader or the keyboard has to land in the new page.
function arrive() {
  window.scrollTo(0, 0);
  const title = document.querySelector('main h1');
  (title || document.getElementById('main')).focus({ preventScroll: true });
}

const nowhere = { open: () => ({ title: 'Not found', load() {}, draw: () => h('div', { class: 'empty' }, h('h1', { tabindex: '-1' }, 'There is no such page'), h('p', null, h('a', { href: '/' }, 'Home'))) }) };

function clicked(event) {
  const link = event.target.closest?.('a[href]');
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.target || link.hasAttribute('download') || link.getAttribute('href').startsWith('#')) return;
  event.preventDefault();
  go(link.pathname + link.search);
}

function drawShell() {
  drawBar(shell, { logout, go });
  drawPlaces(shell);
}

async function logout() {
  await request('POST', 'logout', {}, { root: '/', quiet: true }).catch(() => {});
  history.pushState(null, '', '/login');
  show(login, '');
}

/// Times and countdowns are the only things that change without a change: no page is drawn for them.
function tick() {
  const now = Date.now();
  for (const node of document.querySelectorAll('[data-ago]')) write(node, ago(node.dataset.ago, now));
  for (const node of document.querySelectorAll('[data-deadline]')) {
    write(node, countdown(node.dataset.deadline, now));
    node.classList.toggle('urgent', Date.parse(node.dataset.deadline) - now < 60000);
  }
}

function write(node, text) {
  if (node.textContent !== text) node.firstChild.data = text;
}

start();
