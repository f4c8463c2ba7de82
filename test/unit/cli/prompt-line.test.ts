import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { openPromptLine } from '../../../src/cli/prompt-line.ts';

test('prints above itself in a terminal without a size, such as that of ssh -tt in a script', () => {
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 0, rows: 0 });
  const prompt = openPromptLine({
    input: new PassThrough(),
    output,
    label: '> ',
    redact: (text) => text,
  });
  prompt.printAbove('hello');
  prompt.close();
  expect(String(output.read())).toContain('hello\n');
});
