import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { argumentsOf, CALLS, COMMAND_LINES } from '../support/command-lines.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import { partnerctl, run, tempDirectory } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';
import { readState } from '../support/state-file.ts';

const GOOD = (id: string): string => `external_space_id: ${id}
space: { name: Acme, description: Support for Acme, is_org_wide: false }
agents:
  - template_id: tmpl_support
    name: Support
    auto_create_api_chat: true
    api_chat_routing_mode: session_workflow
`;

/** One mistake: what replaces what in a valid document, its line and column there, and what is said about it. */
type Mistake = readonly [name: string, from: string | RegExp, to: string, place: string, says: string];

const MISTAKES: readonly Mistake[] = [
  ['a key that is cut short', 'template_id', 'template', '4:5', 'unknown key "template"'],
  ['an unknown key', /$/, 'color: red\n', '8:1', 'unknown key "color"'],
  ['no external_space_id', /^external_space_id.*\n/, '', '1:1', 'the key "external_space_id" is missing'],
  ['an external_space_id that is a number', /(?<=_id: )spoilt/, '7', '1:20', 'must be text, not 7'],
  ['an empty external_space_id', /(?<=_id: )spoilt/, '""', '1:20', '"external_space_id" must not be empty'],
  ['a space that is a text', /^space.*$/m, 'space: Acme', '2:8', '"space" must be a mapping, not "Acme"'],
  ['a flag that is a text', 'wide: false', 'wide: "false"', '2:66', 'must be true or false, not "false"'],
  ['an empty list of agents', /^agents:.*/ms, 'agents: []\n', '3:9', '"agents" must list at least one agent'],
  ['an unknown routing mode', 'session_workflow', 'sessions', '7:28', 'must be agent_inbox or session_workflow'],
  ['a duplicate key', / {4}name: .*\n/, '$&$&', '6:5', 'Map keys must be unique'],
  [
    'two equal agents',
    /$/,
    '  - { template_id: tmpl_support, name: Support }\n',
    '8:40',
    'the same template and name as the one at',
  ],
  ['the id of another document', /(?<=_id: )spoilt/, 'twin', '1:20', 'the space "twin" is described twice, first at'],
  ['a variable that is not set', 'Support for Acme', '"${NOWHERE}"', '2:35', 'NOWHERE'],
  ['a variable without quotes', 'Support for Acme', '${NOWHERE}', '2:36', 'invalid YAML'],
  ['a tab for indentation', '    name:', '\tname:', '5:1', 'Tabs are not allowed as indentation'],
  ['a bracket left open', 'false }', 'false', '3:1', 'end with a }'],
  ['an undefined alias', 'name: Support', 'name: *nowhere', '5:11', 'the anchor "&nowhere" is not defined'],
  ['an unknown tag', 'name: Support', 'name: !secret Support', '5:19', 'tags are not supported'],
  ['a list instead of the document', /^.*$/s, '- just\n- a list\n', '1:1', 'must be a mapping, not a list'],
  ['a control character in an id', 'tmpl_support', '"tmpl\\a"', '4:18', 'must not contain control characters'],
];

/** Of a manifest; a document has seven lines and a separator. */
const SIX = ['twin', 'b', 'c', 'd', 'e', 'f'].map((id) => GOOD(id));

it('A manifest with a mistake in its last document exits with 2, names it with its line and column, and sends nothing', async () => {
  const { env, requests } = await startUnreached();
  for (const [name, from, to, place, says] of MISTAKES) {
    const [line = 0, column] = place.split(':').map(Number);
    const path = write('all.yaml', [...SIX, GOOD('spoilt').replace(from, to)].join('---\n'));
    const ran = await run(['provision', path, '-o', 'json'], { env });
    expect(ran, name).toMatchObject({ code: 2, stdout: '' });
    const position = { source: path, line: SIX.length * 8 + line, column };
    const text = { message: expect.stringContaining(says), excerpt: expect.stringMatching(/\n *\| *\^/) };
    expect(ran.error(), name).toMatchObject({
      type: 'invalid_input',
      details: { problems: [{ ...position, ...text }] },
    });
  }
  expect(requests).toEqual([]);
});

it('A manifest that is nested too deep exits with 2, names the line, and sends nothing', async () => {
  const { env, requests } = await startUnreached();
  const path = write('deep.yaml', GOOD('deep').replace('Support for Acme', '['.repeat(10_000)));
  const ran = await run(['provision', path], { env });
  expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/:2:\d+: nested too deep\n/) });
  expect(requests).toEqual([]);
});

it('Mistakes in the first and the last of seven files are named at once by `provision` and `plan`, and nothing is sent', async () => {
  const { env, requests } = await startUnreached();
  const [bad, worse] = ['bad', 'worse'].map((id) => GOOD(id).replace('session_workflow', 'sessions'));
  const texts = [bad, ...SIX.slice(1), worse?.replace('name: Acme, ', '')];
  const files = texts.map((text, index) => write(`${index}.yaml`, text ?? ''));
  for (const command of ['provision', 'provision --check', 'plan']) {
    const ran = await run([...command.split(' '), ...files], { env });
    expect(ran, command).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('Invalid input: 3 mistakes; nothing was sent.');
    for (const place of [`${files[0]}:7:28: `, `${files.at(-1)}:2:8: `, `${files.at(-1)}:7:28: `])
      expect(ran.stderr).toContain(place);
  }
  expect(requests).toEqual([]);
});

it('One mistake in a document of a hundred is named with its line and column, and nothing is sent', async () => {
  const { env, requests } = await startUnreached();
  const documents = Array.from({ length: 100 }, (_, index) => GOOD(`space-${index + 1}`));
  const spoilt = documents.with(49, GOOD('spoilt').replace('session_workflow', 'sessions'));
  const path = write('hundred.yaml', spoilt.join('---\n'));
  const stderr = expect.stringContaining(`${path}:399:28: "agents[0].api_chat_routing_mode" must be`);
  expect(await run(['provision', path], { env })).toMatchObject({ code: 2, stdout: '', stderr });
  expect(requests).toEqual([]);
});

it('A file that cannot be read among valid ones exits with 2 and is named, and nothing is sent', async () => {
  const { env, requests } = await startUnreached();
  for (const [bad, says] of [
    ['/nowhere/acme.yaml', ''],
    [write('x.txt', '').slice(0, -6), ''],
    [write('latin.yaml', Buffer.from([0x61, 0x3a, 0xff, 0xfe])), ''],
    [write('big.yaml', `# ${'x'.repeat(13 * 1024 * 1024)}\n`), ''],
    // As PowerShell writes.
    [write('acme.yaml', Buffer.from(`\ufeff${manifest('acme')}`, 'utf16le')), 'it is not UTF-8 text; save it as UTF-8'],
  ] as const) {
    const ran = await run(['provision', write('a.yaml', manifest('a')), bad], { env });
    expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(bad) });
    expect(ran.stderr).toContain(says);
  }
  expect(requests).toEqual([]);
});

const TYPOS = `external_space_id: acme
space: { nam: Acme, is_org_wide: "true", tier: gold }
agents:
  - template: tmpl_support
    Name: Support
    cron:
      - { name: a, instructions: x, schedule: 0 9 * *, timezone: Europe/Berln }
---
external_space_id: beta
space:
\tname: Beta
`;

it('Every mistake of a mapping is shown at once at 80 columns, with the way out of each', async () => {
  const ran = await run(['plan', '-'], { env: { NO_COLOR: '1' }, stdin: TYPOS, columns: 80 });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  await expect(ran.stderr).toMatchFileSnapshot('screens/mistakes.txt');
});

it('Standard input cannot be both the manifest and the token, or two manifests, and nothing is sent', async () => {
  const { env, requests } = await startUnreached();
  const both = await run(['provision', '-', '--token-file', '-'], { env, stdin: manifest('a') });
  expect(both.code).toBe(2);
  expect(both.stderr).toContain('both the token and the input of the command');
  const twice = await run(['provision', '-', '-'], { env, stdin: manifest('a') });
  expect(twice).toMatchObject({ code: 2, stdout: '' });
  expect(twice.stderr).not.toContain('This is a bug');
  expect(requests).toEqual([]);
});

/** What the words in braces of a command line stand for when nothing is sent. */
async function startUnreached() {
  const fake = await startFakeService(json([]));
  const env = {
    HOME: tempDirectory(),
    PATH: process.env.PATH ?? '',
    PARTNER_BASE_URL: fake.baseUrl,
    PARTNER_TOKEN: 'pat_0123456789',
  };
  const things = {
    ...{ space: 'spc_1', agent: 'agt_1', source: 'src_1', message: 'msg_1', job: 'cron_1' },
    receiver: fake.baseUrl,
    directory: tempDirectory(),
  };
  return { env, things, requests: fake.requests };
}

/** As `startUnreached`, with a protected profile for the service. */
async function startProtected() {
  const { env: unprotected, ...rest } = await startUnreached();
  const { PARTNER_BASE_URL: base_url, PARTNER_TOKEN: token, ...env } = unprotected;
  const profiles = join(env.HOME, '.config', 'partnerctl', 'profiles');
  mkdirSync(profiles, { recursive: true });
  writeFileSync(join(profiles, 'live.json'), JSON.stringify({ base_url, token, protected: true }), { mode: 0o600 });
  return { ...rest, env: { ...env, PARTNER_PROFILE: 'live' } };
}

const WRONG_FLAGS: Readonly<Record<string, readonly string[]>> = {
  'an unknown flag': ['--no-such-flag'],
  'an unknown output format': ['-o', 'xml'],
  'a duration without a unit': ['--timeout', '30'],
  'a number of retries that is none': ['--retries', 'many'],
  'an unknown value of --color': ['--color', 'sometimes'],
  'an empty profile name': ['--profile', ''],
  'an empty token file': ['--token-file', ''],
  'a global flag twice': ['--timeout', '1s', '--timeout', '2s'],
};

const FLAGS = Object.entries(WRONG_FLAGS);

// The flags take turns: each command gets one before it and one after it, and each flag is tried with many commands.
it('Every command with a wrong global flag exits with 2, and sends nothing', async () => {
  const { env, things, requests } = await startUnreached();
  for (const [index, { words }] of COMMAND_LINES.entries()) {
    const line = argumentsOf(words, things);
    const end = line.includes('--') ? line.indexOf('--') : line.length;
    for (const [at, turn] of [
      [0, index],
      [end, index + 3],
    ] as const) {
      const [name, flags] = FLAGS[turn % FLAGS.length] ?? [];
      const { code, stdout } = await run(line.toSpliced(at, 0, ...(flags ?? [])), { env });
      expect({ words, name, code, stdout }).toEqual({ words, name, code: 2, stdout: '' });
    }
  }
  expect(requests).toEqual([]);
});

const WRONG_SETTINGS = [
  ['a base URL that is none', [], { PARTNER_BASE_URL: 'nonsense' }, 2],
  ['a base URL of another scheme', ['--base-url', 'ftp://api.example.com/v1'], {}, 2],
  ['a base URL without TLS elsewhere', ['--base-url', 'http://api.example.com/v1'], {}, 2],
  ['an unknown profile', ['--profile', 'nobody'], { PARTNER_BASE_URL: undefined }, 4],
  ['an unknown output format in PARTNER_OUTPUT', [], { PARTNER_OUTPUT: 'xml' }, 2],
  ['a missing token file', ['--token-file', '/nowhere/token'], {}, 3],
  ['an empty token file', ['--token-file', '/dev/null'], {}, 3],
  ['a token of two lines', [], { PARTNER_TOKEN: 'pat_01234\n56789' }, 3],
  ['no token', [], { PARTNER_TOKEN: undefined }, 3],
] as const;

// Each is tried with a third of the commands.
it.each(WRONG_SETTINGS)('No command sends anything with %s', async (...setting) => {
  const [, flags, settings, expected] = setting;
  const { env, things, requests } = await startUnreached();
  // Without a token, a rehearsal is one of a service that has nothing.
  const needsNoToken = (words: string): boolean =>
    'PARTNER_TOKEN' in settings && settings.PARTNER_TOKEN === undefined && words.startsWith('sandbox rehearse ');
  const isOther = (words: string): boolean => !flags.some((flag) => words.includes(flag)) && !needsNoToken(words);
  const third = WRONG_SETTINGS.findIndex(([name]) => name === setting[0]) % 3;
  const some = CALLS.filter((_, index) => index % 3 === third);
  for (const { words } of some.filter((call) => isOther(call.words))) {
    const { code } = await run([...argumentsOf(words, things), ...flags], { env: { ...env, ...settings } });
    expect({ words, code }).toEqual({ words, code: expected });
  }
  expect(requests).toEqual([]);
});

/** Those that record in the state what they create. */
const RECORDING = COMMAND_LINES.filter(
  ({ words, sends, runs }) => sends === 'writes' && !runs && !/^(?:api|chat test) /.test(words),
);

it('Every command that records what it creates, with an address of the state that is none, exits with 2 and sends nothing', async () => {
  const { env, things, requests } = await startUnreached();
  for (const { words } of RECORDING) {
    for (const address of ['', 'ftp://host/state']) {
      const { code } = await run([...argumentsOf(words, things), '--state', address], { env });
      expect({ words, address, code }).toEqual({ words, address, code: 2 });
    }
  }
  expect(requests).toEqual([]);
});

const HUNDRED_JOBS = Array.from(
  { length: 100 },
  (_, index) => `- { agent: agt_1, name: job-${index + 1}, instructions: Look., schedule: '0 9 * * *' }\n`,
);
const ROWS = Array.from({ length: 400 }, (_, index) => `{"session_id":"s-${index % 7}","text":"Row ${index + 1}"}\n`);
const SCHEDULED = GOOD('b').replace(
  '    name: Support\n',
  "    name: Support\n    cron: [{ name: daily, instructions: Look., schedule: '0 24 * * *' }]\n",
);

const NAMED_JOB = '--agent agt_1 --name x --schedule @daily';
const LATE = HUNDRED_JOBS[99]?.replace('0 9', '0 24') ?? '';

it('A job that a file gives to one agent by its id and by its name exits with 2 at both lines, and is not created', async () => {
  const fake = await startFakeService({
    'GET /automation/spaces/': json([{ space_id: 'spc_1', external_space_id: 'acme', name: 'Acme' }]),
    'GET /automation/spaces/{id}/agents/': json([{ agent_id: 'agt_1', name: 'Support' }]),
    'POST *': json({ cron_job_id: 'cron_1' }, 201),
    '* *': json([]),
  });
  const job = "name: daily, instructions: Look., schedule: '@daily' }\n";
  const named = write('named.yaml', `# By name\n- { agent: name:Support, space: ext:acme, ${job}`);
  const jobs = `- { agent: agt_2, ${job}- { agent: agt_1, ${job}`;
  const ran = await partnerctl(fake.baseUrl, ['cron', 'create', '-f', named, '-f', '-', '-o', 'json'], { stdin: jobs });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.error()).toMatchObject({
    type: 'invalid_input',
    details: {
      problems: [
        {
          ...{ source: '<stdin>', line: 2, column: 25 },
          message: `this agent already has a job of this name at ${named}:2`,
          hint: 'the id of the agent is "agt_1" in both',
        },
      ],
    },
  });
  expect(fake.posts()).toEqual([]);
});

/** Inputs of which only the last part is wrong: the command, what the error says, and the files that exist. */
const LAST_IS_WRONG: readonly (readonly [name: string, words: string, says: string, files?: Record<string, string>])[] =
  [
    [
      'a job of a hundred has a schedule out of range',
      'cron create -f {jobs.yaml}',
      '{jobs.yaml}:100:65: ',
      { 'jobs.yaml': HUNDRED_JOBS.with(99, LATE).join('') },
    ],
    [
      'the last document of jobs has no name',
      'cron create -f {jobs.yaml}',
      '{jobs.yaml}:3:3: the key "name" is missing',
      { 'jobs.yaml': `${HUNDRED_JOBS[0]}---\n- { agent: agt_1, instructions: Look., schedule: '@daily' }\n` },
    ],
    [
      'the last file of two is wrong',
      'cron create -f {one.yaml} -f {two.yaml}',
      '{two.yaml}:1:65: ',
      { 'one.yaml': HUNDRED_JOBS[0] ?? '', 'two.yaml': LATE },
    ],
    [
      'a job of a manifest has a schedule out of range',
      'provision {two.yaml}',
      '{two.yaml}:14:58: ',
      { 'two.yaml': `${GOOD('a')}---\n${SCHEDULED}` },
    ],
    [
      'row 400 of 400 has no text',
      'chat send --source src_1 --rows {rows.ndjson}',
      '{rows.ndjson}:400:1: ',
      { 'rows.ndjson': ROWS.with(399, '{"session_id":"s-1"}\n').join('') },
    ],
    ['the second file of an upload is missing', 'upload {a.txt} {nowhere.txt}', '{nowhere.txt}', { 'a.txt': 'a' }],
    ['a variable has no value', 'provision {a.yaml} --var REGION', '--var takes NAME=value, not "REGION".'],
    [
      'a variable of the file is not set',
      'provision {a.yaml} --var REGIO=eu',
      '{a.yaml}:2:',
      { 'a.yaml': GOOD('a').replace('Support for Acme', '${REGION}') },
    ],
    ['the file of instructions is missing', `cron create --instructions @{nowhere.md} ${NAMED_JOB}`, '{nowhere.md}'],
    ['the file of a message is missing', 'chat send --source s --session s --text-file {nowhere.txt}', '{nowhere.txt}'],
    ['the body of a call is missing', 'api POST /automation/spaces/ --data @{nowhere.json}', '{nowhere.json}'],
    ['a reply settles soon', 'chat send --source s --session s --wait --settle soon Hi', 'takes a '],
    ['a reply settles later than the limit', 'chat send --source s --session s --settle 2m Hi', 'cannot pass within'],
    ['a reply settles in a number', 'chat wait --source s --session s --after m --settle 5', 'takes a '],
    ['a source is named twice', 'chat send --source s --agent agt_1 --session s Hi', 'with --source alone'],
    ['a name has no space', 'chat send --agent name:Support --session s Hi', '--agent name:<name> needs --space.'],
    ['an agent is named as a space', 'chat send --agent ext:a --session s Hi', '"ext:a" does not name an agent'],
    ['no source is named', 'chat send --session s Hi', '--source is missing.'],
    ['a tail starts twice', 'chat tail --source s --session s --after x --from-start', 'cannot be combined'],
    ['a tail resumes at a number', 'chat tail --source s --session s --tail 3 --resume', 'cannot be combined'],
    ['two tails start at one', 'chat tail --source s --session s --session t --after x', 'names a message of one'],
    ['the interval is 0', 'chat tail --source s --session s --interval 0', 'takes a '],
    ['an outage lasts less than nothing', 'chat tail --source s --session s --max-outage -1s', 'takes a '],
    ['the interval is a word', 'chat watch --interval often', 'takes a '],
    ['the plan is missing', 'apply {nowhere.json}', '{nowhere.json}'],
    ['the plan is none', 'apply {a.yaml}', 'The file {a.yaml} is not a plan'],
    ['a glob matches no manifest', 'provision {a.yaml} --only b*', '--only b* matches none of the 1 spaces.'],
    ['consent names no manifest', 'provision {a.yaml} --create-beside b', '--create-beside b: no manifest has'],
    [
      'a schedule is out of range',
      `cron create --instructions Look. ${NAMED_JOB}`.replace('@daily', '@dayly'),
      '@dayly',
    ],
    ['the document of a contract is missing', 'contract import {nowhere.json} --yes', '{nowhere.json}'],
  ];

it('If only the last part of an input is wrong, it exits with 2 and names the place before a person must confirm a write, and nothing is sent or recorded', async () => {
  for (const [name, words, says, files] of LAST_IS_WRONG) {
    const { env, things, requests } = await startProtected();
    const given = { 'a.yaml': GOOD('a'), ...files };
    for (const [file, text] of Object.entries(given)) write(file, text, things.directory);
    const fill = (text: string): string =>
      text
        .replaceAll('{directory}', things.directory)
        .replaceAll(/\{([\w.]+)\}/g, (_, file) => join(things.directory, file));
    const ran = await run(words.split(' ').map(fill), { env });
    expect(ran, name).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(fill(says)) });
    expect(requests).toEqual([]);
    expect((await readState(join(env.HOME, '.local/state/partnerctl/state.jsonl'), env)).records).toEqual([]);
  }
});
