import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';

/** Runs a command in a sandbox that reports its environment. */
async function environmentInSandbox(args: readonly string[], given: Record<string, string>) {
  const out = join(tempDirectory(), 'environment.json');
  const script = `require('node:fs').writeFileSync(${JSON.stringify(out)}, JSON.stringify(process.env))`;
  const ran = await run(['sandbox', 'run', ...args, '--', process.execPath, '-e', script], { env: given });
  expect(ran.code).toBe(0);
  const env: Record<string, string | undefined> = JSON.parse(readFileSync(out, 'utf8'));
  return { env, stderr: ran.stderr };
}

/** A program that writes the script of its sandbox to a file. */
const SAVE_SCRIPT = `
  const { PARTNER_SANDBOX_URL: url, PARTNER_SANDBOX_KEY: key, OUT: out } = process.env;
  const response = await fetch(url + '/script', { headers: { authorization: 'Bearer ' + key } });
  (await import('node:fs')).writeFileSync(out, await response.text());
`;

describe('sandbox run', () => {
  test('hides the real state, profiles, and service from its command, and removes what it kept', async () => {
    const real = tempDirectory();
    const { env, stderr } = await environmentInSandbox([], {
      PARTNER_BASE_URL: 'https://api.example.com/v1',
      PARTNER_TOKEN: 'pat_of-the-real-service',
      PARTNER_PROFILE: 'production',
      PARTNER_STATE: join(real, 'real.jsonl'),
      PARTNER_CONFIG_DIR: real,
    });
    expect(stderr).toBe('');
    expect(env.PARTNER_PROFILE).toBeUndefined();
    expect(env.PARTNER_BASE_URL).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect(env.PARTNER_TOKEN).not.toBe('pat_of-the-real-service');
    for (const path of [env.PARTNER_STATE ?? '', env.PARTNER_CONFIG_DIR ?? '']) {
      expect(path).toMatch(/partnerctl-sandbox-/);
      expect(existsSync(path)).toBe(false);
    }
    expect(readdirSync(real)).toEqual([]);
  });

  test('passes the state in --state to its command, from any directory', async () => {
    const { env } = await environmentInSandbox(['--state', 'rehearsal.jsonl'], { PARTNER_STATE: '/real.jsonl' });
    expect(env.PARTNER_STATE).toBe(join(process.cwd(), 'rehearsal.jsonl'));
  });
});

describe('--script', () => {
  test('accepts a YAML file, and the agents follow it', async () => {
    const yaml = "- pattern: hello\n  replies:\n    - { text: 'Hi!', delay_ms: 5 } # quickly\n";
    const out = join(tempDirectory(), 'script.json');
    const child = [process.execPath, '--input-type=module', '-e', SAVE_SCRIPT];
    const args = ['sandbox', 'run', '--script', write('replies.yaml', yaml), '--', ...child];
    expect(await run(args, { env: { OUT: out } })).toMatchObject({ code: 0, stderr: '' });
    const rules = [{ pattern: 'hello', replies: [{ text: 'Hi!', delay_ms: 5 }] }];
    expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({ rules });
  });

  test.each([
    ['an invalid rule', '- { pattern: "(", replies: [{ text: x }] }', /\[0\]\.pattern: must be a regular expression/],
    ['no file', undefined, /there is no such file/],
  ])('with %s exits with 2, and nothing starts', async (_, text, why) => {
    const path = text === undefined ? '/nowhere/replies.yaml' : write('replies.yaml', text);
    const ran = await run(['sandbox', 'run', '--script', path, '-o', 'json', '--', 'false']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error()).toMatchObject({
      type: 'invalid_input',
      message: `Cannot use the script in ${path}.`,
      details: { why: expect.stringMatching(why) },
    });
  });
});
