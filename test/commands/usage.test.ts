import { expect, test } from 'vitest';
import { json, startFakeService } from '../support/fake-service.ts';
import { run } from '../support/run.ts';
import { service } from '../support/service.ts';

const SECRET = 'pat_typed-on-the-command-line-0123456789';

const WRONG: readonly (readonly [args: readonly string[], says: string])[] = [
  [['spaces', 'lst'], 'Unknown command "lst".\nhint: Did you mean list? Run `partnerctl spaces --help`'],
  [['prov', 'a.yaml'], 'Did you mean provision?'],
  [['spaces', 'list', '--outptu', 'json'], 'Did you mean --output?'],
  [['spaces', 'list', '--body', '{}'], 'Unknown option --body.\nhint: Put -- before an argument'],
  [['chat', 'send', '--session', 's', '-5 degrees'], 'Put -- before an argument that begins with a hyphen.'],
  [['cron', 'create', '--ensure=true'], '--ensure takes no value.\nhint: Run `partnerctl cron create --help`'],
  [['spaces', 'list', 'more'], "Too many arguments for 'list'. Expected 0 arguments but got 1."],
  [['chat', 'send', 'hi', 'there'], "Quote the message: partnerctl chat send … 'hi there'"],
  [['agents', 'list'], "Missing required argument 'space'.\nhint: Run `partnerctl agents list --help`"],
  [['completion', 'bsh'], 'Allowed choices are bash, zsh, fish, powershell.'],
  [['spaces', 'list', '-o', 'xml'], '--output takes table, json, ndjson, yaml, or tsv, not "xml".'],
  [['spaces', 'list', '--retries', '21'], '--retries takes a whole number from 0 to 20, not "21".'],
  [['spaces', 'list', '--timeout', '30'], '--timeout takes a duration such as 500ms, 30s, 2m, or 1h, not "30".'],
  [['spaces', 'list', '--timeout', '0s'], '--timeout takes a duration'],
  [['spaces', 'list', '--timeout', '1000h'], '--timeout takes at most 596h'],
  [['spaces', 'list', '--profile'], "Option '--profile <profile>' argument missing."],
  [['chat', 'send', '--source', 'a', '--source', 'b', 'hi'], '--source is given twice.'],
  [['chat', 'wait', '--source', 's', '--session', 't'], '--after is missing.'],
  [['provision'], 'No manifest is given.'],
  [['provision', 'a.yaml', '--check', '--dry-run'], '--check and --dry-run cannot be combined.'],
  [['sandbox', 'run', 'printenv', '--null'], 'Unknown option --null.\nhint: Put -- before'],
];

test('Wrong arguments exit with 2 and say what to type instead, and nothing is sent', async () => {
  const { baseUrl, requests } = await startFakeService(json([]));
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'pat_0123456789' };
  for (const [args, says] of WRONG) {
    const ran = await run(args, { env });
    expect(ran, args.join(' ')).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(says) });
    expect(ran.stderr).toMatch(/^error: [A-Z-]/);
  }
  expect(requests).toEqual([]);
});

test('They are reported as one JSON object if the flags or PARTNER_OUTPUT, which must be valid itself, say so', async () => {
  for (const [args, env] of [
    [['spaces', 'list', '--timeout', 'soon', '-vqojson'], {}],
    [['agents', 'list', '--output=ndjson'], {}],
    [['spaces', 'lst'], { PARTNER_OUTPUT: 'json' }],
  ] as const) {
    const ran = await run(args, { env });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error()).toMatchObject({ type: 'usage', status: null, request_id: null, hint: expect.anything() });
  }
  const invalid = await run(['profile', 'list'], { env: { PARTNER_OUTPUT: 'xml' } });
  expect(invalid).toMatchObject({ code: 2, stderr: expect.stringContaining('table, json, ndjson, yaml, tsv') });
});

test('A token in a flag is rejected with the ways to pass it, and not repeated; after -- it is of another program', async () => {
  for (const args of [
    ['--token', SECRET, 'spaces', 'list'],
    ['spaces', 'list', `--token=${SECRET}`, '--debug', '-o', 'json'],
    ['login', `--tokne=${SECRET}`],
    ['spaces', 'list', `-t${SECRET}`],
  ]) {
    const ran = await run(args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).not.toContain(SECRET);
    if (!args.join().includes('--token')) continue;
    for (const part of ['arguments of a running command', 'PARTNER_TOKEN', '--token-file', 'partnerctl login']) {
      expect(ran.stderr).toContain(part);
    }
  }
  const wrapped = ['sandbox', 'run', '--', 'sh', '-c', 'exit 7', '--token', SECRET];
  expect((await run(wrapped, { env: { PATH: process.env.PATH } })).code).toBe(7);
});

test('Global flags may stand before, in, and after the words of a command', async () => {
  const { env } = await service();
  for (const line of ['-qo json spaces list', 'spaces --output=json list', 'spaces list -qojson']) {
    expect(await run(line.split(' '), { env })).toMatchObject({ code: 0, stdout: '[]\n' });
  }
});

test('A group without a command exits with 2, and lists its commands in 80 columns', async () => {
  const { groups } = (await run(['help', '-o', 'json'])).json<{ groups: readonly { readonly group: string }[] }>();
  for (const { group } of groups) {
    const ran = await run([group, '--color', 'never'], { columns: 80 });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toMatch(new RegExp(`^error: A command is missing\\.\n {2}${group} `));
    expect(ran.stderr).toContain(`hint: Run \`partnerctl ${group} --help\``);
    for (const line of ran.stderr.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  }
});

test('The hint for an id that the service names as unknown is to check the id, not the path', async () => {
  const { env } = await service();
  const ran = await run(['chat', 'tail', '--source', 'src_1', '--session', 's', '--no-follow'], { env });
  expect(ran.code).toBe(4);
  expect(ran.stderr).toContain('error: The service does not know this resource (404).\n');
  expect(ran.stderr).toContain(`hint: Check the id and the base URL ${env.PARTNER_BASE_URL}.\n`);
  expect(ran.stderr).not.toContain('contract set');
});
