import { test } from 'vitest';
import { SHAPES } from '../../src/sandbox/shapes/shapes.ts';
import { importAndRunEverything } from '../support/imported-service.ts';

test.each(SHAPES.map(({ name }) => name))(
  'every command works with the shape %s after the import of its document',
  importAndRunEverything,
);
