import { describe, test } from 'vitest';
import { HELP_TOPICS } from '../../src/cli/help-topics.ts';
import { hasCommands, runDocument } from '../support/run-document.ts';

const TOPICS = [...HELP_TOPICS.map(({ name }) => `src/help/${name}.md`), 'dist/skills/partnerctl/SKILL.md'].filter(
  hasCommands,
);

// At the same time, because the commands also wait: for replies, retries, and time limits.
describe.concurrent.each(TOPICS)('%s', (path) => {
  test('has commands that work as written, in order, and show the documented output', () => runDocument(path));
});
