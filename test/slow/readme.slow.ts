import { test } from 'vitest';
import { runReadme } from '../support/documents.ts';

test('The README has commands that work as written, in order, and show the documented output', runReadme);
