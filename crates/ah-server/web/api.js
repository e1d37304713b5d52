// Requests to the server's public API, and its problems as errors.

/// An answer that is not a success, with the server's own words (RFC 9457).
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `the server answered ${status}`);
    this.status = status;
    this.title = body.title || `the server answered ${status}`;
    this.body = body;
  }
}

/// The server could not be asked at all.
export class Unreachable extends Error {}

const listeners = { unauthorized: () => {}, reached: () => {}, unreachable: () => {} };

/// Tells the shell about logins that ended and servers that are gone.
export function listen(given) {
  Object.assign(listeners, given);
}

export const get = (path, query, options) => request('GET', path + queryOf(query), undefined, options);
export const post = (path, body = {}) => request('POST', path, body);
export const put = (path, body = {}) => request('PUT', path, body);
export const patch = (path, body = {}) => request('PATCH', path, body);
export const remove = (path) => request('DELETE', path);

/// All items of a listing, page after page, at most `most`.
export async function all(path, query = {}, most = 1000) {
  const items = [];
  let cursor;
  do {
    const page = await get(path, { limit: Math.min(most, 500), ...query, cursor });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && items.length < most);
  return items;
}

export async function request(method, path, body, { signal, root = '/api/v1/', quiet = false } = {}) {
  const headers = { Accept: 'application/json' };
  if (method !== 'GET') headers['X-Ah-Dashboard'] = '1';
  if (method === 'POST') headers['Idempotency-Key'] = key();
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const given = { method, headers, signal, credentials: 'same-origin', body: body === undefined ? undefined : JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(root + path, given);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    listeners.unreachable();
    throw new Unreachable('the server cannot be reached');
  }
  if (answer.status !== 502 && answer.status !== 504) listeners.reached();
  return read(answer, quiet);
}

async function read(answer, quiet) {
  if (answer.status === 204) return null;
  const text = await answer.text();
  let body = {};
  try {
    body = text ? JSON.parse(text) : {};
  } catch {
    body = { title: `the server answered ${answer.status} with something that is no JSON` };
  }
  if (answer.ok) return body;
  if (answer.status === 401 && !quiet) listeners.unauthorized();
  throw new Problem(answer.status, body);
}

/// A list in a query is the same name several times.
export function queryOf(query = {}) {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') out.append(name, one);
    }
  }
  const text = out.toString();
  return text ? `?${text}` : '';
}

export const path = (...parts) => parts.map(encodeURIComponent).join('/');

/// `randomUUID` is missing on plain http from another machine; random bytes are not.
function key() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
