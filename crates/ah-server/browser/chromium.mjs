// A browser on a leash: the DevTools protocol over a pipe, with nothing but node.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Long, because a machine that runs the whole suite beside it is slow: it is waited for only what is missing.
const WAIT_MS = 30000;

/// Starts the browser. Each of its pages has cookies of its own, as if it were another person's.
export async function launch(program) {
  const profile = mkdtempSync(join(tmpdir(), 'dashboard-browser-'));
  const child = spawn(program, ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--hide-scrollbars',
    '--enable-precise-memory-info', '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const pipe = connect(child.stdio[3], child.stdio[4]);
  const close = async () => {
    await pipe.send('Browser.close').catch(() => {});
    await new Promise((done) => { child.once('exit', done); setTimeout(() => { child.kill('SIGKILL'); done(); }, 3000); });
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  /// Processes of that kind, by their numbers.
  const processes = async (kind) => (await pipe.send('SystemInfo.getProcessInfo')).processInfo.filter(({ type }) => type === kind).map(({ id }) => id);
  return { newPage: () => openPage(pipe), processes, close };
}

function connect(input, output) {
  let number = 0;
  let rest = '';
  const waiting = new Map();
  const listeners = [];
  output.setEncoding('utf8');
  output.on('data', (chunk) => {
    const parts = (rest + chunk).split('\0');
    rest = parts.pop();
    for (const part of parts) {
      const message = JSON.parse(part);
      if (message.id === undefined) { for (const each of listeners) each(message); continue; }
      const { resolve, reject } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) reject(new Error(message.error.message));
      else resolve(message.result);
    }
  });
  const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
    number += 1;
    waiting.set(number, { resolve, reject });
    input.write(`${JSON.stringify({ id: number, method, params, sessionId })}\0`);
  });
  return { send, on: (each) => listeners.push(each) };
}

async function openPage(pipe) {
  const { browserContextId } = await pipe.send('Target.createBrowserContext');
  const { targetId } = await pipe.send('Target.createTarget', { url: 'about:blank', browserContextId });
  const { sessionId } = await pipe.send('Target.attachToTarget', { targetId, flatten: true });
  const send = (method, params) => pipe.send(method, params, sessionId);
  const complaints = [];
  const held = [];
  pipe.on(({ method, params, sessionId: of }) => {
    if (of !== sessionId) return;
    if (method === 'Runtime.exceptionThrown') complaints.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
    if (method === 'Log.entryAdded' && params.entry.level === 'error' && params.entry.source !== 'network') complaints.push(params.entry.text);
    if (method === 'Fetch.requestPaused') held.push(params.requestId);
    if (method === 'Page.javascriptDialogOpening') { complaints.push(`a dialog said ${params.message}`); send('Page.handleJavaScriptDialog', { accept: false }); }
  });
  for (const domain of ['Page', 'Runtime', 'Log']) await send(`${domain}.enable`);
  const page = { send, complaints, held, leave: () => pipe.send('Target.disposeBrowserContext', { browserContextId }) };
  Object.assign(page, looking(page), acting(page));
  await page.size(1280, 800);
  return page;
}

function looking(page) {
  /// The value of an expression in the page; promises are waited for.
  const value = async (expression) => {
    const { result, exceptionDetails } = await page.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(`${exceptionDetails.exception?.description || exceptionDetails.text} in ${expression}`);
    return result.value;
  };
  /// Waits until an expression is true; what it was waiting for is the error.
  const until = async (expression, what = expression, ms = WAIT_MS) => {
    const end = Date.now() + ms;
    for (;;) {
      const got = await value(expression);
      if (got) return got;
      if (Date.now() > end) throw new Error(`never came true: ${what}; the page says: ${(await value('document.body.innerText')).slice(0, 600)}`);
      await new Promise((done) => setTimeout(done, 25));
    }
  };
  const shows = (text, ms) => until(`document.body.innerText.includes(${JSON.stringify(text)})`, `the page shows ${text}`, ms);
  const lacks = (text, ms) => until(`!document.body.innerText.includes(${JSON.stringify(text)})`, `the page does not show ${text}`, ms);
  const shot = async (file) => {
    const { data } = await page.send('Page.captureScreenshot', { format: 'png' });
    writeFileSync(file, Buffer.from(data, 'base64'));
  };
  return { value, until, shows, lacks, shot };
}

function acting(page) {
  const size = (width, height) => page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 });
  const colours = (scheme) => page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
  const go = async (address) => {
    await page.send('Page.navigate', { url: address });
    await page.until('document.readyState === "complete" && performance.getEntriesByName("usable").length > 0', `${address} is usable`);
  };
  const pick = (selector, text) => `[...document.querySelectorAll(${JSON.stringify(selector)})].find((node) => node.offsetParent !== null && (${JSON.stringify(text ?? null)} === null || node.innerText.trim() === ${JSON.stringify(text ?? '')} || node.getAttribute('aria-label') === ${JSON.stringify(text ?? '')}))`;
  /// A real click of the mouse, in the middle of what is meant.
  const click = async (selector, text) => {
    await page.until(`!!${pick(selector, text)}`, `${selector} ${text ?? ''} is there`);
    const at = await page.value(`(() => { const node = ${pick(selector, text)}; node.scrollIntoView({ block: 'center' }); const box = node.getBoundingClientRect(); return { x: box.x + box.width / 2, y: box.y + box.height / 2 }; })()`);
    for (const type of ['mousePressed', 'mouseReleased']) await page.send('Input.dispatchMouseEvent', { type, ...at, button: 'left', clickCount: 1 });
  };
  const type = async (selector, text) => {
    await page.until(`!!${pick(selector)}`, `${selector} is there`);
    await page.value(`(() => { const node = ${pick(selector)}; node.focus(); node.select?.(); })()`);
    await page.send('Input.insertText', { text });
  };
  const press = async (key) => {
    const named = { Enter: { code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' }, Tab: { code: 'Tab', windowsVirtualKeyCode: 9 }, Escape: { code: 'Escape', windowsVirtualKeyCode: 27 } }[key];
    const given = named ? { key, ...named } : { key, text: key };
    await page.send('Input.dispatchKeyEvent', { type: 'keyDown', ...given });
    await page.send('Input.dispatchKeyEvent', { type: 'keyUp', key, code: named?.code });
  };
  /// Keeps requests to such addresses back until they are let go.
  const hold = (pattern) => page.send('Fetch.enable', { patterns: [{ urlPattern: pattern }] });
  const letGo = async () => {
    for (const requestId of page.held.splice(0)) await page.send('Fetch.continueRequest', { requestId });
    await page.send('Fetch.disable');
  };
  return { size, colours, go, click, type, press, hold, letGo };
}
