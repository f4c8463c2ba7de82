import { expect, it } from 'vitest';
import { merge } from '../../../src/chat/merge.ts';

async function* counting(name: string, count: number): AsyncGenerator<string, void, void> {
  for (let index = 0; index < count; index += 1) yield `${name}${index}`;
}

/** Waits for a signal, and records that it ended. */
async function* waiting(signal: AbortSignal, ended: string[]): AsyncGenerator<string, void, void> {
  try {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  } finally {
    ended.push('ended');
  }
}

it('yields the values of each generator in order, including those of one that is added meanwhile', async () => {
  const sources = [counting('a', 3), counting('b', 2)];
  const values: string[] = [];
  for await (const value of merge(sources, () => undefined)) {
    values.push(value);
    if (value === 'a1') sources.push(counting('c', 2));
  }
  expect(values.toSorted()).toEqual(['a0', 'a1', 'a2', 'b0', 'b1', 'c0', 'c1']);
  for (const name of ['a', 'b', 'c']) {
    const own = values.filter((value) => value.startsWith(name));
    expect(own).toEqual(own.toSorted());
  }
});

it('ends the generators that wait when the consumer stops', async () => {
  const control = new AbortController();
  const ended: string[] = [];
  const merged = merge([counting('a', 3), waiting(control.signal, ended)], () => control.abort());
  for await (const _ of merged) break;
  expect(ended).toEqual(['ended']);
});

it('throws the error of a generator, and ends the others', async () => {
  const control = new AbortController();
  const ended: string[] = [];
  async function* failing(): AsyncGenerator<string, void, void> {
    yield 'a';
    throw new Error('broken');
  }
  const merged = merge([failing(), waiting(control.signal, ended)], () => control.abort());
  await expect(merged.next()).resolves.toMatchObject({ value: 'a' });
  await expect(merged.next()).rejects.toThrow('broken');
  expect(ended).toEqual(['ended']);
});
