import { join } from 'node:path';
import * as v from 'valibot';
import { expect, onTestFinished, test } from 'vitest';
import { OutcomeUnknownError } from '../../../src/errors.ts';
import { ensureOnce } from '../../../src/state/ensure-once.ts';
import { fileLog } from '../../../src/state/file-log.ts';
import { PATIENCE_MS, REQUEST_MS } from '../../../src/state/lease.ts';
import { Log } from '../../../src/state/log.ts';
import { tempDirectory } from '../../support/run.ts';

test('A service that swallows requests gets only as many as are sent at a time, however many a batch has', async () => {
  let now = 0;
  const clock = { now: () => now, monotonic: () => now, sleep: async () => undefined };
  const author = { user: null, host: 'here', pid: 1, run: undefined, commit: undefined };
  const driver = { ...fileLog(join(tempDirectory(), 'state.jsonl')), batch: 50 };
  const log = new Log({ driver, author, clock, redact: (text) => text });
  onTestFinished(() => log.close());
  const kind = { type: 'thing', schema: v.object({ origin: v.string(), name: v.string() }), keyOf: nameOf };
  let posts = 0;
  const post = async (): Promise<string> => {
    posts += 1;
    // All that are sent at once time out together, and too late for the others of the batch.
    await new Promise((resolve) => setImmediate(resolve));
    now = Math.max(now, Math.ceil(posts / 4) * (REQUEST_MS + PATIENCE_MS));
    throw new OutcomeUnknownError('No response.');
  };
  const ended: string[] = [];
  await ensureOnce(
    { log, clock, signal: new AbortController().signal, onWait: () => undefined },
    {
      kind,
      post,
      judge: async (wanted) => ({
        settled: [],
        wait: [],
        create: wanted.map((name) => ({ wanted: name, data: { origin: 'here', name } })),
      }),
      toOutcome: (_, { kind: ending }) => ending,
    },
    Array.from({ length: 100 }, (_, index) => `job${index}`),
    (_, outcome) => ended.push(outcome),
  );
  expect(posts).toBe(4);
  expect(ended.filter((each) => each === 'unknown')).toHaveLength(4);
  expect(ended.filter((each) => each === 'unsent')).toHaveLength(96);
});

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
