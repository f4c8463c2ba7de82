import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, tempDirectory } from '../helpers/run.ts';
import { write } from '../helpers/service.ts';

/** Asks the sandbox that it runs in how its agents answer, and writes that to a file. */
const ASK = `
  const { PARTNER_SANDBOX_URL: url, PARTNER_SANDBOX_KEY: key, OUT: out } = process.env;
  const answer = await fetch(url + '/script', { headers: { authorization: 'Bearer ' + key } });
  (await import('node:fs')).writeFileSync(out, await answer.text());
`;

const RULES = [{ pattern: 'hello', replies: [{ text: 'Hi!', delay_ms: 5 }] }];

test.each([
  ['YAML', "- pattern: hello\n  replies:\n    - { text: 'Hi!', delay_ms: 5 } # at once\n"],
  ['JSON', JSON.stringify(RULES)],
])('--script takes %s, and the agents answer as it says', async (_, text) => {
  const out = join(tempDirectory(), 'script.json');
  const child = [process.execPath, '--input-type=module', '-e', ASK];
  const ran = await run(['sandbox', 'run', '--script', write('answers.yaml', text), '--', ...child], {
    env: { OUT: out },
  });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({ rules: RULES });
});

test.each([
  ['a rule that is none', '- { pattern: "(", replies: [{ text: x }] }', /\[0\]\.pattern must be a regular expression/],
  ['no YAML', '- pattern: [', /line 1/],
  ['no list', 'pattern: x', /must be Array/],
])('a script file with %s is exit 2, and nothing is started', async (_, text, why) => {
  const path = write('answers.yaml', text);
  const ran = await run(['sandbox', 'run', '--script', path, '-o', 'json', '--', 'false']);
  expect(ran.code).toBe(2);
  expect(ran.error()).toMatchObject({
    type: 'invalid_input',
    message: `The script in ${path} cannot be used.`,
    details: { why: expect.stringMatching(why) },
  });
});

test('a script file that is not there is exit 2', async () => {
  const ran = await run(['sandbox', 'start', '--script', join(tempDirectory(), 'none.yaml'), '-o', 'json']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.error().details).toMatchObject({ why: 'there is no such file or directory' });
});
