import { expect, test } from 'vitest';
import { json, startFakeService } from '../support/fake-service.ts';
import { run } from '../support/run.ts';
import { service } from '../support/service.ts';

const SECRET = 'pat_typed-on-the-command-line-0123456789';

const WRONG: readonly (readonly [line: string, says: string])[] = [
  ['spaces', 'A command is missing after spaces.\nhint: Use one of:\n  partnerctl spaces list: '],
  ['spaces lst', 'Unknown command "spaces lst".\nhint: Did you mean list? Run `partnerctl spaces --help`'],
  ['spaces list --outptu json', 'Did you mean --output?'],
  ['chat send --session s -x', 'Put -- before an argument that begins with a hyphen.'],
  ['cron create --ensure=true', '--ensure takes no value.\nhint: Run `partnerctl cron create --help`'],
  ['spaces list more', "Too many arguments for 'list'. Expected 0 arguments but got 1."],
  ['chat send hi there', "Quote the message: partnerctl chat send … 'hi there'"],
  ['agents list', "Missing required argument 'space'.\nhint: Run `partnerctl agents list --help`"],
  ['completion bsh', 'Allowed choices are bash, zsh, fish, powershell.'],
  ['spaces list -o xml', '--output takes one of table, json, ndjson, yaml, tsv, not "xml".'],
  ['spaces list --retries 21', '--retries takes a whole number from 0 to 20, not "21".'],
  ['spaces list --timeout 30', '--timeout takes a duration such as 500ms, 30s, 2m, or 1h, not "30".'],
  ['spaces list --profile', "Option '--profile <profile>' argument missing."],
  ['spaces list --profile=', '--profile is empty.'],
  ['chat send --source a --source b hi', '--source is given twice.'],
  ['chat wait --source s --session t', '--after is missing.'],
];

test('Wrong arguments exit with 2 and say what to type instead, and nothing is sent', async () => {
  const { baseUrl, requests } = await startFakeService(json([]));
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'pat_0123456789' };
  for (const [line, says] of WRONG) {
    const ran = await run(line.split(' '), { env });
    expect(ran, line).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(says) });
    expect(ran.stderr).toMatch(/^error: [A-Z-]/);
  }
  expect(requests).toEqual([]);
});

test('They are reported as one JSON object if the flags or PARTNER_OUTPUT, which must be valid itself, say so', async () => {
  for (const [args, env] of [
    [['spaces', 'list', '--timeout', 'soon', '-vqojson'], {}],
    [['spaces', 'lst'], { PARTNER_OUTPUT: 'json' }],
  ] as const) {
    const ran = await run(args, { env });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error()).toMatchObject({ type: 'usage', status: null, request_id: null, hint: expect.anything() });
  }
  const invalid = await run(['profile', 'list'], { env: { PARTNER_OUTPUT: 'xml' } });
  expect(invalid).toMatchObject({ code: 2, stderr: expect.stringContaining('table, json, ndjson, yaml, tsv') });
});

test('A token in a flag is rejected with the flag for its file, and not repeated; after -- it is of another program', async () => {
  for (const args of [
    ['spaces', 'list', `--token=${SECRET}`, '--debug', '-o', 'json'],
    ['login', `--tokne=${SECRET}`],
    ['spaces', 'list', `-t${SECRET}`],
  ]) {
    const ran = await run(args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).not.toContain(SECRET);
  }
  expect((await run(['--token', SECRET, 'spaces', 'list'])).stderr).toContain('use --token-file <path>');
  const wrapped = ['sandbox', 'run', '--', 'sh', '-c', 'exit 7', '--token', SECRET];
  expect((await run(wrapped, { env: { PATH: process.env.PATH } })).code).toBe(7);
});

test('Global flags may stand before, in, and after the words of a command', async () => {
  const { env } = await service();
  for (const line of ['-qo json spaces list', 'spaces --output=json list', 'spaces list -qojson']) {
    expect(await run(line.split(' '), { env })).toMatchObject({ code: 0, stdout: '[]\n' });
  }
});
