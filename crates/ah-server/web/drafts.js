// What somebody typed and has not sent: kept over updates, other pages and a reload of this tab.

const KEY = 'draft/';

export const draft = {
  of: (name, otherwise = '') => sessionStorage.getItem(KEY + name) ?? otherwise,
  keep(name, value) {
    try {
      if (value) sessionStorage.setItem(KEY + name, value);
      else sessionStorage.removeItem(KEY + name);
    } catch {
      // A full or forbidden store costs the draft, not the page.
    }
  },
  drop: (name) => sessionStorage.removeItem(KEY + name),
};
