// Whether everybody can use a page: names of controls, contrast, the order of Tab.

const NAMED = new Set(['button', 'link', 'textbox', 'searchbox', 'checkbox', 'radio', 'combobox', 'spinbutton', 'Date', 'tab', 'treeitem']);

/// Controls that a screen reader could not name.
export async function nameless(page) {
  const { nodes } = await page.send('Accessibility.getFullAXTree');
  return nodes.filter((node) => !node.ignored && NAMED.has(node.role?.value) && !node.name?.value?.trim()).map((node) => node.role.value);
}

/// Texts whose contrast to what is behind them is below 4.5, as the browser computed the colours.
export function pale(page) {
  return page.value(`(() => {
    const canvas = document.createElement('canvas'); canvas.width = canvas.height = 1;
    const context = canvas.getContext('2d', { willReadFrequently: true });
    const rgba = (colour) => { context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1); const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
    const over = (top, bottom) => [0, 1, 2].map((at) => top[at] * top[3] + bottom[at] * (1 - top[3])).concat(1);
    const light = ([r, g, b]) => { const part = (value) => { value /= 255; return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; }; return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
    const ground = (node) => { const layers = []; for (let at = node; at; at = at.parentElement) layers.unshift(rgba(getComputedStyle(at).backgroundColor)); return layers.reduce((below, layer) => over(layer, below), [255, 255, 255, 1]); };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || !node.offsetParent || node.closest('noscript, :disabled, svg') || getComputedStyle(node).opacity === '0' || node.closest('.skip')) continue;
      const below = ground(node);
      const text = over(rgba(getComputedStyle(node).color), below);
      const [one, two] = [light(text), light(below)].sort((left, right) => right - left);
      const contrast = (one + 0.05) / (two + 0.05);
      if (contrast < 4.5) found.push(walker.currentNode.data.trim().slice(0, 30) + ' ' + contrast.toFixed(2));
    }
    return [...new Set(found)];
  })()`);
}

/// Presses Tab through the page; gives what was reached out of order or could not be seen.
export async function lostByTab(page, presses) {
  await page.value('(document.activeElement?.blur(), window.scrollTo(0, 0), window.tabbed = null)');
  const lost = [];
  for (let at = 0; at < presses; at += 1) {
    await page.press('Tab');
    const got = await page.value(`(() => {
      const node = document.activeElement;
      if (!node || node === document.body) return 'end';
      const before = window.tabbed; window.tabbed = node;
      const box = node.getBoundingClientRect();
      // A field for a date takes several presses.
      if (before === node) return '';
      if (before && !(before.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING)) return node === document.querySelector('.skip') ? 'end' : 'out of order: ' + node.outerHTML.slice(0, 80);
      return box.width && box.height ? '' : 'not visible: ' + node.outerHTML.slice(0, 80);
    })()`);
    if (got === 'end') break;
    if (got) lost.push(got);
  }
  return lost;
}

/// Whether the page is wider than the window.
export const tooWide = (page) => page.value('document.documentElement.scrollWidth > innerWidth ? document.documentElement.scrollWidth : 0');
