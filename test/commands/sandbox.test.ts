import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { manualSignals, run, tempDirectory } from '../support/run.ts';
import { call, write } from '../support/service.ts';

/* `terminal/sandbox.test.ts` has what takes processes. */

test('sandbox start reads faults and a script, which may be YAML, from files, and stops at Ctrl-C and at --timeout', async () => {
  const faults = write('faults.json', '{"rules":[{"kind":"status","status":503}]}');
  const script = write('replies.yaml', "- pattern: hello\n  replies:\n    - { text: 'Hi!', delay_ms: 5 } # quickly\n");
  const got: unknown[] = [];
  const files = ['--faults', faults, '--script', script];
  const signals = manualSignals();
  const stopped = await run(['sandbox', 'start', ...files, '-o', 'json'], {
    signals,
    async onStdout(text) {
      const { base_url, token, admin_url, admin_key } = JSON.parse(text);
      got.push((await call('GET', `${base_url}/automation/spaces/`, { token })).status);
      got.push((await call('GET', `${admin_url}/script`, { token: admin_key })).json);
      signals.ctrlC();
    },
  });
  expect(got).toMatchObject([503, { rules: [{ pattern: 'hello', replies: [{ text: 'Hi!', delay_ms: 5 }] }] }]);
  expect(stopped.code).toBe(0);
  const late = await run(['sandbox', 'start', '--timeout', '1s']);
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('--timeout') });
});

test('A sandbox does not start with input that is not valid', async () => {
  for (const [args, message] of [
    [['--faults', write('faults.json', '{"rules":[{"kind":"nonsense"}]}')], 'rules[0]'],
    [['--script', write('a.yaml', '- { pattern: "(", replies: [{ text: x }] }')], '[0].pattern: must be a regular'],
    [['--script', '/nowhere/replies.yaml'], 'Cannot use the script in /nowhere/replies.yaml.\n  there is no such file'],
    [['--webhook', 'http://192.0.2.1/'], 'The webhook is not valid: url: must be on this machine'],
  ] as const) {
    for (const command of [
      ['start', ...args],
      ['run', ...args, '--', 'false'],
    ])
      expect(await run(['sandbox', ...command])).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(message),
      });
  }
  const inFile = await run(['sandbox', 'run', '--data', '/dev/null/data', '--', 'true']);
  expect(inFile).toMatchObject({ code: 1, stderr: expect.stringContaining('another directory with --data') });
});

test('sandbox run passes its command the state in --state, from any directory, and the secret of --webhook', async () => {
  const out = join(tempDirectory(), 'out');
  const child = ['--', 'sh', '-c', `echo "$PARTNER_STATE $PARTNER_WEBHOOK_SECRET" > ${out}`];
  const env = { PATH: process.env.PATH, PARTNER_STATE: '/real.jsonl' };
  const options = ['--state', 'rehearsal.jsonl', '--webhook', 'http://127.0.0.1:9/'];
  expect(await run(['sandbox', 'run', ...options, ...child], { env })).toMatchObject({ code: 0, stderr: '' });
  const [state, secret] = readFileSync(out, 'utf8').split(' ');
  expect(state).toBe(join(process.cwd(), 'rehearsal.jsonl'));
  expect(secret).toMatch(/^whsec_/);
});

test('sandbox run ends its command at --timeout, and exits with 128 plus the signal that ended it', async () => {
  const env = { PATH: process.env.PATH };
  const late = await run(['sandbox', 'run', '--timeout', '1s', '--', 'sh', '-c', 'exec sleep 600'], { env });
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('--timeout') });
  expect((await run(['sandbox', 'run', '--', 'sh', '-c', 'kill -9 $$'], { env })).code).toBe(137);
  const missing = await run(['sandbox', 'run', '--', 'no-such-command'], { env });
  expect(missing).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('"no-such-command"') });
});
