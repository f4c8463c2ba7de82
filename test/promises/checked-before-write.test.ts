import { join } from 'node:path';
import { expect, it } from 'vitest';
import { argumentsOf, COMMAND_LINES } from '../support/command-lines.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';
import { readState } from '../support/state-file.ts';

interface Problem {
  source: string;
  line: number;
  column: number;
  message: string;
  excerpt: string;
}

const GOOD = (id: string): string => `external_space_id: ${id}
space: { name: Acme, description: Support for Acme, is_org_wide: false }
agents:
  - template_id: tmpl_support
    name: Support
    auto_create_api_chat: true
    api_chat_routing_mode: session_workflow
`;

/** Each makes one mistake in a valid document. */
const MISTAKES: Readonly<Record<string, (text: string) => string>> = {
  'an unknown key': (text) => `${text}color: red\n`,
  'a near miss of a key': (text) => text.replace('template_id', 'templateid'),
  'an unknown key in the space': (text) => text.replace('is_org_wide', 'org_wide'),
  'no external_space_id': (text) => text.replace(/^external_space_id.*\n/, ''),
  'an external_space_id that is a number': (text) => text.replace(/^external_space_id: .*/, 'external_space_id: 7'),
  'an empty external_space_id': (text) => text.replace(/^external_space_id: .*/, 'external_space_id: ""'),
  'no space': (text) => text.replace(/^space.*\n/m, ''),
  'a space that is a text': (text) => text.replace(/^space.*$/m, 'space: Acme'),
  'no name': (text) => text.replace('name: Acme, ', ''),
  'a flag that is a text': (text) => text.replace('is_org_wide: false', 'is_org_wide: "false"'),
  'a flag that is a boolean only in YAML 1.1': (text) => text.replace('is_org_wide: false', 'is_org_wide: no'),
  'an empty list of agents': (text) => text.replace(/^agents:.*/ms, 'agents: []\n'),
  'no list of agents': (text) => text.replace(/^agents:.*/ms, ''),
  'an agent that is a text': (text) => text.replace(/^agents:.*/ms, 'agents: [Support]\n'),
  'an unknown routing mode': (text) => text.replace('session_workflow', 'session_workflows'),
  'a duplicate key': (text) => text.replace('    name: Support', '    name: Support\n    name: Again'),
  'two equal agents': (text) => `${text}  - { template_id: tmpl_support, name: Support }\n`,
  'the external_space_id of another document': (text) =>
    text.replace(/^external_space_id: .*/, 'external_space_id: twin'),
  'a variable that is not set': (text) => text.replace('Support for Acme', '${NOWHERE}'),
  'a tab for indentation': (text) => text.replace('    name: Support', '\tname: Support'),
  'a bracket left open': (text) => text.replace('is_org_wide: false }', 'is_org_wide: false'),
  'a quote left open': (text) => text.replace('name: Acme', 'name: "Acme'),
  'an undefined alias': (text) => text.replace('name: Support', 'name: *nowhere'),
  'an unknown tag': (text) => text.replace('name: Support', 'name: !secret Support'),
  'a list instead of the document': () => '- just\n- a list\n',
  'a text instead of the document': () => 'just a text\n',
  'nesting that is too deep': (text) => text.replace('Support for Acme', '['.repeat(1000)),
  'a control character in an id': (text) => text.replace('tmpl_support', '"tmpl\\a"'),
};

const SPOILT = Object.entries(MISTAKES).flatMap(([mistake, spoil]) => [
  [mistake, 'first', 0, spoil] as const,
  [mistake, 'last', 6, spoil] as const,
]);

it.each(SPOILT)(
  'A manifest with %s in the %s document exits with 2, and sends nothing',
  async (_, __, position, spoil) => {
    const { env, received } = await service();
    const good = ['twin', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => GOOD(id));
    const other = position === 0 ? good.toReversed() : good;
    const documents = other.with(position, spoil(GOOD('spoilt')));
    const inOne = write('all.yaml', documents.join('---\n'));
    const ran = await run(['provision', inOne, '-o', 'json'], { env });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error().type).toBe('invalid_input');
    const { problems } = ran.error().details as { problems: Problem[] };
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) {
      expect(problem).toMatchObject({
        source: inOne,
        line: expect.any(Number),
        column: expect.any(Number),
        excerpt: expect.stringMatching(/\n *\| *\^/),
      });
      expect(problem.line).toBeGreaterThan(position * 8);
    }
    const files = documents.map((text, index) => write(`${index}.yaml`, text));
    expect(await run(['provision', ...files, '--dry-run'], { env })).toMatchObject({ code: 2, stdout: '' });
    expect(await run(['provision', ...files], { env })).toMatchObject({ code: 2, stdout: '' });
    expect(await received()).toEqual([]);
  },
);

it.each([1, 50, 100])(
  'One mistake in document %i of a hundred is named with its line and column, and nothing is sent',
  async (number) => {
    const { env, received } = await service();
    const documents = Array.from({ length: 100 }, (_, index) => GOOD(`space-${index + 1}`));
    const spoilt = documents.with(number - 1, GOOD('spoilt').replace('session_workflow', 'sessions'));
    const path = write('hundred.yaml', spoilt.join('---\n'));
    const ran = await run(['provision', path], { env });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(`${path}:${number * 8 - 1}:28: "agents[0].api_chat_routing_mode" must be`);
    expect(await received()).toEqual([]);
  },
);

it.each([
  ['a missing file', () => ['/nowhere/acme.yaml']],
  ['a directory without YAML', () => [write('x.txt', '').slice(0, -6)]],
  ['bytes that are not UTF-8', () => [write('latin.yaml', Buffer.from([0x61, 0x3a, 0xff, 0xfe]))]],
  ['a file beyond the limit', () => [write('big.yaml', `# ${'x'.repeat(13 * 1024 * 1024)}\n`)]],
])('`provision` exits with 2 for %s among valid files, names it, and sends nothing', async (_, createBad) => {
  const { env, received } = await service();
  const [bad = ''] = createBad();
  const ran = await run(['provision', write('a.yaml', manifest('a')), bad], { env });
  expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(bad) });
  expect(await received()).toEqual([]);
});

it('The mistake of a file in another encoding, such as the UTF-16 of PowerShell, says how to save it', async () => {
  const path = write('acme.yaml', Buffer.from(`\ufeff${manifest('acme')}`, 'utf16le'));
  const ran = await run(['provision', path, '--check']);
  expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('it is not UTF-8 text; save it as UTF-8') });
});

it('`provision --check` reports the same mistakes as `provision`', async () => {
  const path = write('a.yaml', GOOD('a').replace('session_workflow', 'sessions'));
  const check = await run(['provision', path, '--check']);
  expect(check).toMatchObject({ code: 2, stdout: '' });
  expect((await run(['provision', path])).stderr).toBe(check.stderr);
});

it('Many mistakes are counted again at the end', async () => {
  const text = Array.from({ length: 6 }, (_, index) => manifest(`s${index}`).replace('name:', 'nam:')).join('---\n');
  const ran = await run(['provision', write('many.yaml', text), '--check']);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toMatch(/\nhint: Correct all of the \d+ mistakes above\.\n$/);
});

it('All mistakes in all files are reported at once', async () => {
  const { env } = await service();
  const first = write('first.yaml', `${GOOD('a').replace('name: Acme, ', '')}color: red\n`);
  const second = write('second.yaml', GOOD('b').replace('session_workflow', 'sessions'));
  const { stderr } = await run(['provision', first, second], { env });
  expect(stderr).toContain('The input has 3 mistakes; nothing was sent.');
  expect(stderr).toContain(`${first}:8:1: `);
  expect(stderr).toContain(`${second}:7:28: `);
  expect(stderr).toMatch(/\n +7 \| +api_chat_routing_mode: sessions\n +\| +\^{8}\n/);
});

it('A file that is given twice has every space twice, and nothing is sent', async () => {
  const { env, received } = await service();
  const path = write('a.yaml', manifest('a'));
  expect(await run(['provision', path, path], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('twice'),
  });
  expect(await received()).toEqual([]);
});

it('Standard input cannot be both the manifest and the token, or two manifests, and nothing is sent', async () => {
  const { env, received } = await service();
  const both = await run(['provision', '-', '--token-file', '-'], { env, stdin: manifest('a') });
  expect(both.code).toBe(2);
  expect(both.stderr).toContain('both the manifest and the token');
  const twice = await run(['provision', '-', '-'], { env, stdin: manifest('a') });
  expect(twice).toMatchObject({ code: 2, stdout: '' });
  expect(twice.stderr).not.toContain('This is a bug');
  expect(await received()).toEqual([]);
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

it.each(COMMAND_LINES.map(({ words }) => words))(
  '`partnerctl %s` with any wrong global flag exits with 2, and sends nothing',
  async (words) => {
    const { env, things, requests } = await startUnreached();
    const line = argumentsOf(words, things);
    const end = line.includes('--') ? line.indexOf('--') : line.length;
    for (const [index, [name, flags]] of Object.entries(WRONG_FLAGS).entries()) {
      // Before and after the command, in turn.
      const { code, stdout } = await run(line.toSpliced(index % 2 === 0 ? 0 : end, 0, ...flags), { env });
      expect({ name, code, stdout }).toEqual({ name, code: 2, stdout: '' });
    }
    expect(requests).toEqual([]);
  },
);

it.each([
  ['a base URL that is none', [], { PARTNER_BASE_URL: 'nonsense' }, 2],
  ['a base URL of another scheme', ['--base-url', 'ftp://api.example.com/v1'], {}, 2],
  ['a base URL without TLS elsewhere', ['--base-url', 'http://api.example.com/v1'], {}, 2],
  ['an unknown profile', ['--profile', 'nobody'], { PARTNER_BASE_URL: undefined }, 2],
  ['an unknown output format in PARTNER_OUTPUT', [], { PARTNER_OUTPUT: 'xml' }, 2],
  ['a missing token file', ['--token-file', '/nowhere/token'], {}, 3],
  ['an empty token file', ['--token-file', '/dev/null'], {}, 3],
  ['a token of two lines', [], { PARTNER_TOKEN: 'pat_01234\n56789' }, 3],
  ['no token', [], { PARTNER_TOKEN: undefined }, 3],
] as const)('No command sends anything with %s', async (_, flags, settings, expected) => {
  const { env, things, requests } = await startUnreached();
  for (const { words } of COMMAND_LINES.filter(({ sends, runs }) => sends !== 'nothing' && runs === undefined)) {
    const { code } = await run([...argumentsOf(words, things), ...flags], { env: { ...env, ...settings } });
    expect({ words, code }).toEqual({ words, code: expected });
  }
  expect(requests).toEqual([]);
});

/** Those that record in the state what they create. */
const RECORDING = COMMAND_LINES.filter(
  ({ words, sends, runs }) => sends === 'writes' && !runs && !words.startsWith('api '),
);

it.each(RECORDING.map(({ words }) => words))(
  '`partnerctl %s` with an address of the state that is none exits with 2, and sends nothing',
  async (words) => {
    const { env, things, requests } = await startUnreached();
    for (const address of ['', 'ftp://host/state']) {
      const { code } = await run([...argumentsOf(words, things), '--state', address], { env });
      expect({ address, code }).toEqual({ address, code: 2 });
    }
    expect(requests).toEqual([]);
  },
);

const HUNDRED_JOBS = Array.from(
  { length: 100 },
  (_, index) => `- { agent: agt_1, name: job-${index + 1}, instructions: Look., schedule: '0 9 * * *' }\n`,
);
const ROWS = Array.from({ length: 400 }, (_, index) => `{"session_id":"s-${index % 7}","text":"Row ${index + 1}"}\n`);
const SCHEDULED = GOOD('b').replace(
  '    name: Support\n',
  "    name: Support\n    cron: [{ name: daily, instructions: Look., schedule: '0 24 * * *' }]\n",
);

/** Inputs of which only the last part is wrong: the command, the file, and what the error says. */
const LAST_IS_WRONG: Readonly<
  Record<string, readonly [words: string, files: Readonly<Record<string, string>>, says: string]>
> = {
  'a job of a hundred has a schedule out of range': [
    'cron create -f {jobs.yaml}',
    { 'jobs.yaml': HUNDRED_JOBS.with(99, HUNDRED_JOBS[99]?.replace('0 9', '0 24') ?? '').join('') },
    '{jobs.yaml}:100:68: ',
  ],
  'a job of a hundred has an unknown time zone': [
    'cron create -f {jobs.yaml}',
    {
      'jobs.yaml': HUNDRED_JOBS.with(99, HUNDRED_JOBS[99]?.replace(' }', ', timezone: Europe/Berln }') ?? '').join(''),
    },
    '{jobs.yaml}:100:88: ',
  ],
  'a second file of jobs has a mistake': [
    'cron create -f {jobs.yaml} -f {more.yaml}',
    { 'jobs.yaml': HUNDRED_JOBS.join(''), 'more.yaml': '- { agent: agt_1, name: x }\n' },
    '{more.yaml}:1:',
  ],
  'a job of a manifest has a schedule out of range': [
    'provision {two.yaml}',
    { 'two.yaml': `${GOOD('a')}---\n${SCHEDULED}` },
    '{two.yaml}:14:61: ',
  ],
  'row 400 of 400 has no text': [
    'chat send --source src_1 --rows {rows.ndjson}',
    { 'rows.ndjson': ROWS.with(399, '{"session_id":"s-1"}\n').join('') },
    '{rows.ndjson}:400:1: ',
  ],
  'the second file of an upload is missing': ['upload {a.txt} {nowhere.txt}', { 'a.txt': 'a' }, '{nowhere.txt}'],
  'the second document of an upload is a directory': [
    'upload --as document {a.txt} {directory}',
    { 'a.txt': 'a' },
    '{directory}',
  ],
  'a variable has no value': [
    'provision {a.yaml} --var REGION',
    { 'a.yaml': GOOD('a') },
    '--var takes NAME=value, not "REGION".',
  ],
  'a variable is given twice': [
    'provision {a.yaml} --var A=1 --var A=2',
    { 'a.yaml': GOOD('a') },
    '--var A is given twice.',
  ],
  'a variable of the file is not set': [
    'provision {a.yaml} --var REGIO=eu',
    { 'a.yaml': GOOD('a').replace('Support for Acme', '${REGION}') },
    '{a.yaml}:2:',
  ],
  'the file of instructions is missing': [
    'cron create --agent agt_1 --name x --schedule @daily --instructions @{nowhere.md}',
    {},
    '{nowhere.md}',
  ],
  'the file of a message is missing': [
    'chat send --source src_1 --session s --file {nowhere.txt}',
    {},
    '{nowhere.txt}',
  ],
  'the body of a call is missing': ['api POST /automation/spaces/ --data @{nowhere.json}', {}, '{nowhere.json}'],
  'a file of a form is missing': [
    'api POST /automation/documents/ --form a=1 --form file=@{nowhere.txt}',
    {},
    '{nowhere.txt}',
  ],
  'the document of a contract is missing': ['contract import {nowhere.json} --yes', {}, '{nowhere.json}'],
};

it.each(Object.entries(LAST_IS_WRONG))('If %s, nothing is sent', async (_, [words, files, says]) => {
  const { env, things, requests } = await startUnreached();
  for (const [name, text] of Object.entries(files)) write(name, text, things.directory);
  const fill = (text: string): string =>
    text
      .replaceAll('{directory}', things.directory)
      .replaceAll(/\{([\w.]+)\}/g, (_name, name) => join(things.directory, name));
  const ran = await run(words.split(' ').map(fill), { env });
  expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(fill(says)) });
  expect(requests).toEqual([]);
  expect((await readState(join(env.HOME, '.local/state/partnerctl/state.jsonl'), env)).records).toEqual([]);
});

it.each([
  'chat send --source s --session s --wait --settle soon Hi',
  'chat wait --source s --session s --after m --settle 5',
  'chat tail --source s --session s --interval 0',
  'chat tail --source s --session s --max-outage -1s',
  'chat watch --interval often',
  'cron reconcile --grace 1day',
])('`partnerctl %s` has a wrong duration: it exits with 2, and sends nothing', async (words) => {
  const { env, requests } = await startUnreached();
  const ran = await run(words.split(' '), { env });
  expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/takes a (duration|time)/) });
  expect(requests).toEqual([]);
});
