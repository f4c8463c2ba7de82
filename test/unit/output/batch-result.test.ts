import { expect, it } from 'vitest';
import { DuplicateError, InterruptedError, LocalError } from '../../../src/errors.ts';
import { failureOfBatch } from '../../../src/output/batch-result.ts';

const BATCH = {
  item: (error: unknown) => ({ name: 'b.yaml:1', status: 'done', error }),
  json: () => null,
  noun: 'documents',
  again: 'Run it again.',
  counts: () => ({ failed: 1 }),
};

it('The failure of a batch names each failed item and its reason, and what to do', () => {
  const error = new LocalError('The service refused the call.', { why: 'the connection was reset' });
  expect(failureOfBatch([undefined, error], BATCH, new AbortController().signal)).toMatchObject({
    exitCode: 10,
    message: '1 of 2 documents failed.',
    info: { why: 'b.yaml:1: The service refused the call. The connection was reset', hint: 'Run it again.' },
  });
});

it('An interruption says how to continue, even of a single item', () => {
  const error = new InterruptedError('Interrupted.', 130);
  const failure = failureOfBatch([error], BATCH, AbortSignal.abort(error));
  expect(failure).toMatchObject({ exitCode: 130, info: { hint: 'Run it again.' } });
});

it('Failures of different kinds, of which none is mended by a repeat, keep their hints, and there is no empty one', () => {
  const blocked = (hint?: string) => new DuplicateError('It exists.', { hint });
  const hintOf = (...errors: readonly unknown[]) =>
    failureOfBatch(errors, BATCH, new AbortController().signal)?.info.hint;
  expect(hintOf(blocked('Use the present name.'), blocked('Give another name.'))).toBe(
    'Use the present name.\nGive another name.',
  );
  expect(hintOf(blocked(), blocked())).toBeUndefined();
});
