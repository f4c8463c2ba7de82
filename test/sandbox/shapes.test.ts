import { expect, test } from 'vitest';
import { SHAPES } from '../../src/sandbox/shapes/shapes.ts';
import { createDocumentValidator, useEveryOperation } from './shape-operations.ts';

// The sweep uses all of them.
const SOME = [
  'camel',
  'json-api',
  'relay',
  'content-range',
  'spring',
  'history-by-post',
  'drop-slash-307',
  'camel-requests',
];
const validator = createDocumentValidator();

test.each(SOME)('%s has a valid document, and every operation follows it', async (name) => {
  const shape = SHAPES.find((each) => each.name === name);
  if (!shape) throw new Error(`There is no shape ${name}.`);
  await useEveryOperation(shape, validator);
});

test('there are two dozen shapes or more, each with a unique name', () => {
  const names = SHAPES.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(26);
});
