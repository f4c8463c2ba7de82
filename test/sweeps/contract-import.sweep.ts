import { test } from 'vitest';
import { SHAPES } from '../../src/sandbox/shapes/shapes.ts';
import { importAndRunEverything } from '../helpers/imported-service.ts';

test.each(SHAPES.map(({ name }) => name))(
  'After the import of its own document, every command works with the shape %s',
  importAndRunEverything,
);
