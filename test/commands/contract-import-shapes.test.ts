import { test } from 'vitest';
import { importAndRunEverything } from '../helpers/imported-service.ts';

const SHAPES = ['metadata', 'relay', 'spring', 'history-by-post', 'json-api-requests', 'renamed-requests'];

test.each(SHAPES)(
  'After the import of its own document, every command works with the shape %s',
  importAndRunEverything,
);
