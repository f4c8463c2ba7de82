import { describe, test } from 'vitest';
import { commandBlocks, runTopic, TOPICS } from '../support/documents.ts';

const DOCUMENTS = TOPICS.filter((path) => commandBlocks(path).some(({ notRun }) => notRun === undefined));

// At the same time, because the commands also wait: for replies, retries, and time limits.
describe.concurrent.each(DOCUMENTS)('%s', (path) => {
  test('has commands that work as written, in order, and show the documented output', () => runTopic(path));
});
