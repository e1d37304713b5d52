// A line to the server that can be cut: for the page the server is gone then, and back when it is mended.

import net from 'node:net';

export async function relay(base) {
  const { hostname, port } = new URL(base);
  const open = new Set();
  const listener = net.createServer((near) => {
    const far = net.connect(Number(port), hostname);
    for (const [one, other] of [[near, far], [far, near]]) {
      open.add(one);
      one.pipe(other);
      one.on('error', () => {});
      one.on('close', () => { open.delete(one); other.destroy(); });
    }
  });
  const listen = (on) => new Promise((done) => { listener.listen(on, '127.0.0.1', done); });
  await listen(0);
  const mine = listener.address().port;
  return {
    base: `http://127.0.0.1:${mine}`,
    cut: () => new Promise((done) => { listener.close(done); for (const one of open) one.destroy(); }),
    mend: () => listen(mine),
    close: () => { listener.close(); for (const one of open) one.destroy(); },
  };
}
