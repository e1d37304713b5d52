// Browser notifications: one per thing that needs somebody, under its own tag.

export const notify = {
  offered: () => 'Notification' in window && Notification.permission === 'default',
  ask: () => Notification.requestPermission(),

  /// A tag shows a thing once in all tabs; who looks at the page already sees it.
  show(tag, title, body, to) {
    if (!('Notification' in window) || Notification.permission !== 'granted' || !document.hidden) return;
    const one = new Notification(title, { tag, body: String(body || '').slice(0, 200) });
    one.onclick = () => {
      window.focus();
      document.querySelector(`#places a[href="${to}"]`)?.click();
      one.close();
    };
  },
};
