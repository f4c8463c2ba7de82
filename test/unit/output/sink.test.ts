import { expect, it } from 'vitest';
import { outputSink } from '../../../src/output/sink.ts';
import { memorySink } from '../../support/sinks.ts';

it('Output that cannot be written is an OutputError, unless it is a notice', async () => {
  const full = memorySink({ onWrite: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })) });
  await expect(outputSink(full).write('x')).rejects.toThrow('The output cannot be written.');
  await expect(outputSink(full, { isOptional: true }).write('x')).resolves.toBeUndefined();
});
