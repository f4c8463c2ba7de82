import { test } from 'vitest';
import { SHAPES } from '../../src/sandbox/shapes/shapes.ts';
import { createDocumentValidator, useEveryOperation } from '../sandbox/shape-operations.ts';

const validator = createDocumentValidator();
const shapes = SHAPES.filter(({ name }) => name !== 'plain').map((shape) => [shape.name, shape] as const);

test.each(shapes)('%s has a valid document, and every operation follows it', async (_, shape) => {
  await useEveryOperation(shape, validator);
});
