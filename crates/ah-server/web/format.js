// Values as people read them. Pure: no DOM, no requests.

export function ago(time, now = Date.now()) {
  if (!time) return '–';
  const seconds = Math.round((now - Date.parse(time)) / 1000);
  if (seconds < 0) return 'soon';
  if (seconds < 5) return 'now';
  return seconds < 60 ? `${seconds} s ago` : `${span(seconds * 1000)} ago`;
}

/// A length of time in its largest unit, or two.
export function span(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h`;
  return `${Math.floor(hours / 24)} d`;
}

/// What is left until a deadline, to the second.
export function countdown(deadline, now = Date.now()) {
  const left = Math.ceil((Date.parse(deadline) - now) / 1000);
  if (left <= 0) return 'time is up';
  if (left >= 172800) return `${Math.floor(left / 86400)} d left`;
  const two = (number) => String(number).padStart(2, '0');
  const minutes = Math.floor(left / 60);
  return minutes >= 60 ? `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(left % 60)} left` : `${minutes}:${two(left % 60)} left`;
}

export function clock(time) {
  return new Date(time).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
}

export function when(time) {
  return time ? new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium', hour12: false }) : '–';
}

export function count(number) {
  if (number < 1000) return String(number);
  if (number < 1e6) return `${(number / 1e3).toFixed(number < 1e4 ? 1 : 0)}k`;
  if (number < 1e9) return `${(number / 1e6).toFixed(number < 1e7 ? 1 : 0)}M`;
  return `${(number / 1e9).toFixed(1)}G`;
}

export function bytes(number) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) { number /= 1024; unit += 1; }
  return `${unit && number < 10 ? number.toFixed(1) : Math.round(number)} ${units[unit]}`;
}

export function dollars(nano) {
  const value = nano / 1e9;
  return value && value < 0.01 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`;
}

export const tokens = (usage) => usage
  ? usage.inputTokens + usage.outputTokens + usage.reasoningTokens + usage.cacheReadTokens + usage.cacheWriteTokens : 0;

/// The cost of sums of spendings, as it was told or by the server's prices: a lower bound when some tokens have none.
export function cost(spendings) {
  let nano = 0;
  let unpriced = 0;
  for (const one of spendings) {
    if (one.pricedNanoUsd === undefined) unpriced += tokens(one.usage);
    else nano += one.pricedNanoUsd;
  }
  return { nano, unpriced, text: unpriced ? (nano ? `≥ ${dollars(nano)}` : '?') : dollars(nano) };
}

/// The end of an id: the beginning of a UUID of version 7 is its time, and the same for neighbours.
export const short = (id) => (id && id.length > 12 ? `…${id.slice(-8)}` : id || '–');

export const today = (now = new Date()) => now.toISOString().slice(0, 10);

export const one = (number, word) => `${number} ${word}${number === 1 ? '' : 's'}`;
