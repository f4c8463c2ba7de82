import { expect, it } from 'vitest';
import { InterruptedError, LocalError } from '../../../src/errors.ts';
import { batchFailure } from '../../../src/output/batch-failure.ts';

const MESSAGES = {
  noun: 'documents',
  summary: '1 failed.',
  details: {},
  resumeHint: 'Run it again to continue.',
  fixHint: 'Fix the cause.',
};
const DONE = { label: 'a.yaml:1', outcome: 'done' as const };

it('The failure of a batch names each failed item and its reason, and what to do', () => {
  const error = new LocalError('The service refused the call.', { why: 'the connection was reset' });
  const failure = batchFailure([DONE, { label: 'b.yaml:1', outcome: 'failed', error }], MESSAGES, undefined);
  expect(failure).toMatchObject({
    exitCode: 10,
    message: '1 of 2 documents failed.',
    info: { why: 'b.yaml:1: The service refused the call. The connection was reset', hint: 'Fix the cause.' },
  });
});

it('An interruption says how to continue, even of a single item', () => {
  const error = new InterruptedError('Interrupted.', 130);
  const failure = batchFailure([{ label: 'a.yaml:1', outcome: 'failed', error }], MESSAGES, error);
  expect(failure).toMatchObject({ exitCode: 130, info: { hint: 'Run it again to continue.' } });
});
