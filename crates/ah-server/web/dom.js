// The one way this dashboard makes DOM: `h` describes, `render` patches what is there.
//
// Text is only ever set as text and tags only ever come from our code, so nothing that an agent
// wrote can become markup. Children with a `key` keep their element when they move; what a person
// did to an element (typed, opened, scrolled, focused) is never set again after it was made.

const SVG = 'http://www.w3.org/2000/svg';
const SVG_TAGS = new Set(['svg', 'g', 'rect', 'path', 'line', 'text', 'title-svg', 'circle', 'polyline']);
/// These belong to the person once the element stands on the page.
const ONCE = new Set(['value', 'open', 'checked', 'selected']);

export function h(tag, props, ...children) {
  return { tag, props: props || {}, key: props?.key, children: flat(children) };
}

/// Brings the children of `parent` to what `children` describe.
export function render(parent, ...children) {
  // What the page came with ("Loading…") is not ours to patch.
  if (!parent.drawn) parent.replaceChildren();
  patchChildren(parent, parent.drawn || [], flat(children));
}

function flat(children) {
  const out = [];
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === '') continue;
    out.push(typeof child === 'object' ? child : { tag: null, text: upright(String(child)), key: undefined });
  }
  return out;
}

/// Characters that turn the direction of text are named instead of obeyed: with them `gnp.exe` reads
/// as a picture, and who decides on an approval would decide on something else.
function upright(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (sign) => `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase()}⟩`);
}

function make(what) {
  if (what.tag === null) return (what.node = document.createTextNode(what.text));
  const name = what.tag === 'title-svg' ? 'title' : what.tag;
  const node = SVG_TAGS.has(what.tag) ? document.createElementNS(SVG, name) : document.createElement(name);
  what.node = node;
  patchChildren(node, [], what.children);
  for (const [name, value] of Object.entries(what.props)) set(node, name, value, undefined);
  what.props.made?.(node);
  return node;
}

function patch(old, next) {
  const node = (next.node = old.node);
  if (next.tag === null) {
    if (old.text !== next.text) node.data = next.text;
    return;
  }
  for (const name of Object.keys(old.props)) {
    if (!(name in next.props)) set(node, name, undefined, old.props[name]);
  }
  for (const [name, value] of Object.entries(next.props)) {
    if (value !== old.props[name] && !ONCE.has(name)) set(node, name, value, old.props[name]);
  }
  if (!next.props.own) patchChildren(node, old.children, next.children);
}

function patchChildren(parent, old, next) {
  const byKey = new Map();
  const plain = [];
  for (const child of old) {
    if (child.key !== undefined) byKey.set(child.key, child);
    else plain.push(child);
  }
  let used = 0;
  const kept = new Set();
  for (const child of next) {
    let before;
    if (child.key !== undefined) before = byKey.get(child.key);
    else before = plain[used++];
    if (before && before.tag === child.tag && !kept.has(before)) {
      kept.add(before);
      patch(before, child);
    } else make(child);
  }
  for (const child of old) if (!kept.has(child)) child.node.remove();
  // Only what stands at the wrong place is moved: moving an element would cost it focus and scroll.
  let place = parent.firstChild;
  for (const child of next) {
    if (child.node === place) place = place.nextSibling;
    else parent.insertBefore(child.node, place);
  }
  parent.drawn = next;
}

function set(node, name, value, before) {
  if (name === 'key' || name === 'made' || name === 'own') return;
  if (name.startsWith('on')) {
    node[name] = value || null;
  } else if (name === 'style') {
    for (const [property, to] of Object.entries(value || {})) node.style.setProperty(property, to);
  } else if (name === 'value' || name === 'checked' || name === 'disabled' || name === 'selected') {
    node[name] = value ?? (name === 'value' ? '' : false);
  } else if (name === 'href' && !safe(value)) {
    node.removeAttribute('href');
  } else if (value === undefined || value === null || value === false) {
    node.removeAttribute(name);
  } else if (value !== before) {
    node.setAttribute(name, value === true ? '' : String(value));
  }
}

/// Whether an address may stand in a link: a page of ours, or the web.
function safe(address) {
  return typeof address === 'string' && (/^\/(?![/\\])/.test(address) || /^https?:\/\//i.test(address) || /^#[\w-]*$/.test(address));
}
