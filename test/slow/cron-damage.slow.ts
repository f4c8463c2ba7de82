import { expect, test } from 'vitest';
import { expectBlocked, onlyRecord } from '../support/only-record.ts';

test.each(['created', 'reserved'] as const)(
  'nothing is sent after any single bit was flipped in the only record (%s) of a job',
  async (kind) => {
    const record = await onlyRecord(kind);
    const bits = record.bytes.length * 8;
    for (let bit = 0; bit < bits; bit += 1) await expectBlocked(record, bit);
    process.stdout.write(`${bits} bits of a ${kind} record flipped, ${record.posts()} jobs created twice\n`);
    expect(record.posts()).toBe(0);
  },
);
