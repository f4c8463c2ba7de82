import { describe, expect, it } from 'vitest';
import { Hold } from '../../../src/upload/hold.ts';

function holdAfter(...failedAfter: readonly number[]): Hold {
  const hold = new Hold();
  for (const ms of failedAfter) hold.failedAfter(ms);
  return hold;
}

describe('the last bytes of a body are kept back', () => {
  it('for a moment, however near the service is', () => {
    expect(holdAfter().ms(0)).toBe(25);
  });

  it('longer than the way there and back', () => {
    expect(holdAfter().ms(100)).toBe(150);
  });

  it('longer than the slowest refusal so far took', () => {
    expect(holdAfter(10, 30, 20).ms(0)).toBe(120);
  });

  it('never so long that people notice it', () => {
    expect(holdAfter(10_000).ms(10_000)).toBe(300);
  });
});
