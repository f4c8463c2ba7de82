import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';

/** A program that writes the script of its sandbox to a file. */
const SAVE_SCRIPT = `
  const { PARTNER_SANDBOX_URL: url, PARTNER_SANDBOX_KEY: key, OUT: out } = process.env;
  const response = await fetch(url + '/script', { headers: { authorization: 'Bearer ' + key } });
  (await import('node:fs')).writeFileSync(out, await response.text());
`;

const RULES = [{ pattern: 'hello', replies: [{ text: 'Hi!', delay_ms: 5 }] }];

test.each([
  ['YAML', "- pattern: hello\n  replies:\n    - { text: 'Hi!', delay_ms: 5 } # quickly\n"],
  ['JSON', JSON.stringify(RULES)],
])('--script accepts a %s file, and the agents follow it', async (_, text) => {
  const out = join(tempDirectory(), 'script.json');
  const child = [process.execPath, '--input-type=module', '-e', SAVE_SCRIPT];
  const ran = await run(['sandbox', 'run', '--script', write('replies.yaml', text), '--', ...child], {
    env: { OUT: out },
  });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({ rules: RULES });
});

test.each([
  ['an invalid rule', '- { pattern: "(", replies: [{ text: x }] }', /\[0\]\.pattern must be a regular expression/],
  ['invalid YAML', '- pattern: [', /line 1/],
  ['an object instead of a list', 'pattern: x', /must be a list, not an object/],
])('a script file with %s exits with 2, and nothing starts', async (_, text, why) => {
  const path = write('replies.yaml', text);
  const ran = await run(['sandbox', 'run', '--script', path, '-o', 'json', '--', 'false']);
  expect(ran.code).toBe(2);
  expect(ran.error()).toMatchObject({
    type: 'invalid_input',
    message: `Cannot use the script in ${path}.`,
    details: { why: expect.stringMatching(why) },
  });
});

test('a missing script file exits with 2', async () => {
  const ran = await run(['sandbox', 'start', '--script', join(tempDirectory(), 'none.yaml'), '-o', 'json']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.error().details).toMatchObject({ why: 'there is no such file or directory' });
});
