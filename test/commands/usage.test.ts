import { expect, test } from 'vitest';
import { json, startFakeService } from '../support/fake-service.ts';
import { run } from '../support/run.ts';
import { service } from '../support/service.ts';

const SECRET = 'pat_typed-on-the-command-line-0123456789';

const WRONG: readonly (readonly [line: string, says: string])[] = [
  ['spaces', 'A command is missing after spaces.\nhint: Use one of:\n  partnerctl spaces list: '],
  ['spaces lst', 'Unknown command "spaces lst".\nhint: Did you mean list? Run `partnerctl spaces --help`'],
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

const CANNOT_DELETE =
  'The API cannot delete anything. Use `partnerctl profile remove <profile>` or `partnerctl cron forget`.';
const CANNOT_CHANGE = 'The API cannot change what exists: it only creates and lists.';

/** What people type who know other tools, and the hint that they get. */
const WORDS: readonly (readonly [line: string, hint: string])[] = [
  [
    'get spaces',
    'Use `partnerctl spaces list`, `partnerctl agents list <space>`, `partnerctl cron list`, `partnerctl profile list`, or `partnerctl state show`.',
  ],
  ['spaces ls', 'Use `partnerctl spaces list`.'],
  [
    'describe acme',
    'Use `partnerctl spaces show <space>`, `partnerctl profile show`, `partnerctl contract show`, or `partnerctl state show`.',
  ],
  ['spaces describe acme', 'Use `partnerctl spaces show <space>`.'],
  ['diff acme.yaml', 'Use `partnerctl plan <file>`.'],
  ['validate acme.yaml', 'Use `partnerctl provision <file> --check`.'],
  ['config list', 'Use `partnerctl login`, `partnerctl profile list`, or `partnerctl whoami`.'],
  ['auth login', 'Use `partnerctl login`, `partnerctl logout`, or `partnerctl whoami`.'],
  ['logs -f', 'Use `partnerctl chat tail` or `partnerctl chat watch`.'],
  ['tail anna', 'Use `partnerctl chat tail`.'],
  ['agents tail', 'Use `partnerctl chat tail`.'],
  ['send hello', 'Use `partnerctl chat send`.'],
  ['agents show a1', 'Use `partnerctl spaces show <space>`.'],
  [
    'spaces create',
    'Use `partnerctl provision <file>`, `partnerctl cron create`, or `partnerctl chat setup <space> <agent>`.',
  ],
  ['webhook test', 'Run `partnerctl webhook --help` for the list of commands.'],
  ['listen', 'Use `partnerctl webhook listen`.'],
  ['trigger', 'Use `partnerctl webhook trigger`.'],
  [
    'import acme',
    'Use `partnerctl export`, `partnerctl cron adopt <cron_job_id>`, or `partnerctl contract import <file|url>`.',
  ],
  ['status', 'Use `partnerctl doctor`, `partnerctl spaces show <space>`, or `partnerctl state show`.'],
  ['up', 'Use `partnerctl provision <file>`.'],
  ['destroy acme', CANNOT_DELETE],
  ['delete acme', CANNOT_DELETE],
  ['spaces delete acme', 'The API cannot delete anything.'],
  ['cron delete job_1', 'The API cannot delete anything. Use `partnerctl cron forget`.'],
  ['profile delete old', 'Use `partnerctl profile remove <profile>`.'],
  ['agents update a1', CANNOT_CHANGE],
  ['cron pause job_1', 'The API cannot pause or stop a job or an agent.'],
  ['cron run job_1', 'The API cannot run a job before its time.'],
  ['chat history anna', 'Use `partnerctl chat tail` or `partnerctl chat watch`.'],
  ['state list', 'Use `partnerctl state show`.'],
  ['files', 'Use `partnerctl upload <file>`.'],
  ['sandbox stop', 'Run `partnerctl sandbox --help` for the list of commands.'],
];

test('A word of another tool is answered with the command to use, or with what the API cannot do', async () => {
  for (const [line, hint] of WORDS) {
    const ran = await run([...line.split(' '), '-o', 'json']);
    expect(ran, line).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error(), line).toMatchObject({ message: expect.stringMatching(/^Unknown command "/), hint });
    for (const [, command = ''] of hint.matchAll(/`partnerctl ([a-z ]+)/g))
      expect((await run([...command.trim().split(' '), '--help'])).code, command).toBe(0);
  }
  for (const line of ['version', '-q version', '--version']) {
    expect(await run(line.split(' '))).toMatchObject({ code: 0, stdout: '0.0.0-test\n', stderr: '' });
  }
});

test('An unknown option is answered with the right one, and with -- only where the word may be an argument', async () => {
  const file = 'The file is an argument, without a flag.';
  for (const [line, hint] of [
    ['provision -f acme.yaml', file],
    ['plan --file=acme.yaml', file],
    ['spaces list --token pat_1', 'Set PARTNER_TOKEN, or use --token-file <path>: a flag is no place for a token.'],
    ['spaces list --json', 'Use -o json.'],
    ['spaces list --limit 5', "Use --query '<JMESPath>'."],
    ['agents list acme --all', 'A list is always read to its end: leave the option out.'],
    ['api GET /automation/spaces/ -X POST', 'The method is the first argument.'],
    ['webhook trigger --url http://127.0.0.1/', 'Use --to <url>.'],
    ['--no-color spaces list', 'Use --color never, or set NO_COLOR.'],
    ['apply plan.json --target acme-001', "Use --only '<glob>'."],
    ['apply plan.json --fail-fast', 'Use --max-failures 1.'],
    ['provision acme.yaml --dry-run', 'Use `partnerctl plan <file>`.'],
    ['plan acme.yaml --dry-run', '`partnerctl plan` changes nothing: leave the option out.'],
    ["cron create --cron '0 8 * * *'", "Use --schedule '<cron fields>'."],
    ['agents list --space acme', 'The space is an argument, without a flag.'],
    ['chat tail -f', 'It follows, unless --no-follow is given.'],
    ['upload a.txt --parallel 4', 'Use --concurrency <n>.'],
    ['--url http://127.0.0.1/v1 spaces list', 'Use --base-url <url>.'],
    ['plan acme.yaml --bogus', 'Run `partnerctl plan --help` for its arguments and flags.'],
    ['agents list acme --bogus', 'Run `partnerctl agents list --help` for its arguments and flags.'],
    ['cron create --namee', 'Did you mean --name? Run `partnerctl cron create --help` for its arguments and flags.'],
    [
      'chat send --session s -hello',
      'Put -- before an argument that begins with a hyphen. Run `partnerctl chat send --help` for its arguments and flags.',
    ],
  ] as const) {
    const ran = await run([...line.split(' '), '-o', 'json']);
    expect(ran, line).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error(), line).toMatchObject({ message: expect.stringMatching(/^Unknown option -/), hint });
    expect(ran.stderr).not.toContain('pat_1');
  }
});

test('An empty word and an empty argument are called empty, and an option is given once, whatever its value', async () => {
  for (const [args, message] of [
    [[''], 'The command is empty. Check the shell variable it comes from.'],
    [
      ['chat', 'tail', '--source', '--session', 'anna'],
      '--source has no value before --session. Check the shell variable it comes from.',
    ],
    [['spaces', 'show', ''], 'The argument <space> is empty. Check the shell variable it comes from.'],
    [['plan', 'acme.yaml', ''], 'The argument <file> is empty. Check the shell variable it comes from.'],
    [['chat', 'setup', 'acme', 'name:'], 'The argument <agent> is empty. Check the shell variable it comes from.'],
    [['cron', 'list', '--space', 'ext:'], '--space is empty. Check the shell variable it comes from.'],
    [['spaces', 'list', '--color', 'auto', '--color', 'auto'], '--color is given twice.'],
  ] as const) {
    const ran = await run([...args, '-o', 'json']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error()).toMatchObject({ message });
  }
});
