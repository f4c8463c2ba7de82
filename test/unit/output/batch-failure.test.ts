import { describe, expect, it } from 'vitest';
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

describe('batchFailure', () => {
  it.each([
    ['agents[0].template_id: is unknown', 'agents[0].template_id: is unknown'],
    ['name: is taken', 'name: is taken'],
    ['the connection was reset', 'The connection was reset'],
  ])('starts a reason as a sentence, but keeps the name of a field: %s', (why, shown) => {
    const error = new LocalError('The service refused the call.', { why });
    const failure = batchFailure([DONE, { label: 'b.yaml:1', outcome: 'failed', error }], MESSAGES, undefined);
    expect(failure?.info.why).toBe(`b.yaml:1: The service refused the call. ${shown}`);
  });

  it('says how to continue after an interruption, even of a single item', () => {
    const error = new InterruptedError('Interrupted.', 130);
    const failure = batchFailure([{ label: 'a.yaml:1', outcome: 'failed', error }], MESSAGES, error);
    expect(failure).toMatchObject({ exitCode: 130, info: { hint: 'Run it again to continue.' } });
  });
});
