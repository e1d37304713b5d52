// What waits for the operator: pending approvals and open questions. Read by the shell for its
// numbers, by the pages, and told as notifications.

import { all } from './api.js';
import { notify } from './notify.js';

const KINDS = new Set(['approval-updated', 'question-updated', 'changes-trimmed']);
let known = null;
let reading = null;
let again = false;

export const needs = {
  approvals: [],
  questions: [],
  wants: (change) => KINDS.has(change.kind),

  /// For pages: the reading that is under way is as good as one of their own.
  join: () => reading || needs.load(),

  /// Reads both lists; who asks during a reading waits for one that began afterwards.
  async load() {
    if (reading) { again = true; return reading; }
    reading = (async () => {
      do {
        again = false;
        const [approvals, questions] = await Promise.all([
          all('approvals', { status: 'pending' }, 500),
          all('questions', { status: 'open', to: 'operator' }, 500),
        ]);
        needs.approvals = approvals;
        needs.questions = questions;
        tell();
      } while (again);
    })().finally(() => { reading = null; });
    return reading;
  },
};

function tell() {
  const now = new Map();
  for (const one of needs.approvals) now.set(one.id, () => notify.show(`approval-${one.id}`, `${one.agent} asks for ${one.kind}`, one.reason, '/approvals'));
  for (const one of needs.questions) now.set(one.id, () => notify.show(`question-${one.id}`, `${one.from} asks`, one.text, '/questions'));
  if (known) for (const [id, show] of now) if (!known.has(id)) show();
  known = new Set(now.keys());
}
