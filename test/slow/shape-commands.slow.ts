import { test } from 'vitest';
import { SHAPES } from '../../src/sandbox/shapes/shapes.ts';
import { expectRightOrRefused, type Performance, performEveryOperation } from '../support/every-operation.ts';

/**
 * Known mistakes: if all times have the same second, and the service does not support the assumed name of the message to read
 * after, nothing proves that the messages come newest first.
 */
const WRONG = ['newest-pages'];
const shapes = SHAPES.map(({ name }) => name).filter((name) => !WRONG.includes(name));

let plain: Promise<Performance> | undefined;

test.each(shapes)(
  'a client that knows nothing of the shape %s does every operation correctly, or rejects it with a command that settles it',
  async (shape) => {
    plain ??= performEveryOperation('plain');
    expectRightOrRefused(await performEveryOperation(shape), await plain);
  },
);
