import { test } from 'vitest';
import { SHAPES } from '../../src/sandbox/shapes/shapes.ts';
import { expectRightOrRefused, type Performance, performEveryOperation } from '../helpers/every-operation.ts';

/**
 * Known mistakes: where all times are of one second, and the service does not know the message to read after by the assumed
 * name, nothing proves that the messages come newest first.
 */
const WRONG = ['newest-pages'];
const shapes = SHAPES.map(({ name }) => name).filter((name) => !WRONG.includes(name));

let plain: Promise<Performance> | undefined;

test.each(shapes)(
  'A client that knows nothing of the shape %s does every operation right, or refuses it with a command that settles it',
  async (shape) => {
    plain ??= performEveryOperation('plain');
    expectRightOrRefused(await performEveryOperation(shape), await plain);
  },
);
