import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { InterruptedError } from '../../src/errors.ts';
import { handSignals } from '../helpers/run.ts';
import { partnerctl } from './client.ts';
import { oddService } from './odd-service.ts';

const AGENT = '{ template_id: tmpl_support, name: Support }';
const documents = ['a', 'b', 'c', 'd'].map(
  (id) => `external_space_id: ${id}\nspace: { name: ${id} }\nagents: [${AGENT}]\n`,
);

describe('provisioning that is interrupted', () => {
  it('finishes what was sent, starts nothing more, says what is done, and the next run does the rest', async () => {
    const signals = handSignals();
    const service = await oddService({
      trouble: ({ method }, count) => {
        // Pressed while the second space is being created.
        if (method === 'POST' && count === 2) signals.abort(new InterruptedError('Interrupted.'));
        return undefined;
      },
    });
    const argv = ['provision', '-', '-o', 'json', '--concurrency', '1'];
    const stdin = documents.join('---\n');
    const ran = await partnerctl(service.baseUrl, argv, { stdin, signals, clock: systemClock });
    expect(ran.code).toBe(130);
    expect(ran.json()).toMatchObject({ summary: { created: 2, skipped: 2, failed: 0 } });
    expect([...service.spaces.keys()]).toEqual(['a', 'b']);

    const again = await partnerctl(service.baseUrl, argv, { stdin });
    expect(again.code).toBe(0);
    expect(again.json()).toMatchObject({ summary: { created: 2, unchanged: 2 } });
    for (const id of ['a', 'b', 'c', 'd']) expect(service.agentNames(id)).toEqual(['Support']);
  });
});
