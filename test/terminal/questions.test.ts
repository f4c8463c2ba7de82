import { describe, expect, test } from 'vitest';
import { tempDirectory } from '../support/run.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';

describe.skipIf(!hasTmux)('a question in a real terminal (needs tmux)', () => {
  test('is still open after Ctrl-Z and fg, and Ctrl-D still leaves it', async () => {
    const args = ['login', '--base-url', 'https://api.example.com/v1'];
    const { keys, screen } = await inTmux(args, { HOME: tempDirectory() });
    await screen(/Partner token for \S+$/);
    await keys('C-z');
    await screen(/ended with \d+$/);
    await keys('fg', 'Enter');
    await screen(/\nfg\n/);
    await keys('abc');
    expect(await screen(/\*\*\*$|Interrupted/)).toMatch(/\*\*\*$/);
    await keys('C-u', 'C-d');
    await screen(/error: Interrupted\.$/);
  });
});
