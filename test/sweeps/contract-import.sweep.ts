import { test } from 'vitest';
import { SHAPES } from '../../src/sandbox/shapes/shapes.ts';
import { importAndRunEverything } from '../helpers/imported-service.ts';

/** Their documents have no parameter for what the tool must send: the session, and the cursor of the history. */
const UNDOCUMENTED = ['every-session', 'newest-pages'];
const shapes = SHAPES.map(({ name }) => name).filter((name) => !UNDOCUMENTED.includes(name));

test.each(shapes)(
  'After the import of its own document, every command works with the shape %s',
  importAndRunEverything,
);
