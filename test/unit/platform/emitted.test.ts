import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { emitted } from '../../../src/platform/emitted.ts';

test('A consumer that stops early waits until all is done.', async () => {
  let end = (): void => undefined;
  const values = emitted<number>(async (emit) => {
    emit(1);
    await new Promise<void>((resolve) => {
      end = resolve;
    });
  });
  expect((await values.next()).value).toBe(1);
  let isLeft = false;
  const left = values.return(undefined).then(() => {
    isLeft = true;
  });
  await pause();
  expect(isLeft).toBe(false);
  end();
  await left;
});

test('What was emitted before a failure comes before it, even to a consumer that was busy meanwhile.', async () => {
  const values = emitted<number>(async (emit) => {
    emit(1);
    await pause();
    emit(2);
    throw new Error('lost');
  });
  expect((await values.next()).value).toBe(1);
  await pause();
  await pause();
  expect((await values.next()).value).toBe(2);
  await expect(values.next()).rejects.toThrow('lost');
});

test('Who emits can wait until the consumer wants more, or has stopped.', async () => {
  const steps: string[] = [];
  const act = async (emit: (value: string) => Promise<void>): Promise<void> => {
    for (const value of ['a', 'b', 'c']) {
      await emit(value);
      steps.push(`${value} is taken`);
    }
  };
  for await (const value of emitted(act, () => steps.push('stop'))) {
    steps.push(`got ${value}`);
    if (value === 'b') break;
  }
  expect(steps).toEqual(['got a', 'a is taken', 'got b', 'stop', 'b is taken', 'c is taken']);
});
