import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMPLETED_BY } from '../../src/cli/completion.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import { readHelp } from '../support/help.ts';
import { run, tempDirectory } from '../support/run.ts';

type Env = Record<string, string>;

/** What zsh gets for a line: the kind, and the words with their descriptions. */
async function offered(env: Env, ...words: string[]) {
  const ran = await run(['completion', 'zsh', '--', words.at(-1) ?? '', ...words.slice(0, -1)], { env });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  const [kind = '', ...lines] = ran.stdout.split('\n').slice(0, -1);
  return { kind, lines, values: lines.map((line) => line.split('\t')[0] ?? '') };
}

const values = async (...words: string[]) => (await offered({}, ...words)).values;

/** What bash gets for a line up to the cursor. */
async function inBash(env: Env, line: string): Promise<string[]> {
  const { stdout } = await run(['completion', 'bash', '--', line], { env });
  return stdout.split('\n').flatMap((each) => each.split('\t')[0] || []);
}

const NAME = '$(touch pwned) it\'s "A"';
const JOBS = [
  { cron_job_id: 'cron_1', agent_id: 'a1', name: 'daily' },
  { cron_job_id: 'cron_2', agent_id: 'a2', name: 'weekly' },
];
const SPACES = [
  { space_id: 's1', external_space_id: 'acme', name: 'Acme' },
  { space_id: 's2', external_space_id: null, name: NAME },
  { space_id: 's3', external_space_id: null, name: 'two\nlines' },
];

/** A service, and a home in which its spaces, the agents of one, and its jobs were listed. */
async function listed() {
  const fake = await startFakeService({
    'GET /automation/spaces/': json(SPACES),
    'GET /automation/spaces/{id}/agents/': json([{ agent_id: 'a1', name: 'Support' }]),
    'GET /automation/partner-cron-jobs/': json(JOBS),
  });
  const HOME = tempDirectory();
  const env = { HOME, PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'pat_0123456789abcdef' };
  const login = `login --profile acme --base-url ${fake.baseUrl}`;
  for (const line of [login, 'spaces list', 'agents list ext:acme', 'cron list']) {
    expect(await run(line.split(' '), { env })).toMatchObject({ code: 0 });
  }
  return { ...fake, env, HOME };
}

test('Completion offers what help lists: commands, options, and choices', async () => {
  const help = await readHelp();
  for (const { command, flags } of help.commands) {
    const path = command.split(' ');
    const all = [...flags, ...help.global_flags];
    expect(await values(...path, '--'), command).toEqual([...all.map(({ flag }) => flag), '--help']);
    for (const { flag, choices } of flags) {
      if (choices) expect(await values(...path, flag, ''), command).toEqual(choices);
    }
  }
});

test('Every value of the help says what completes it', async () => {
  const { commands, global_flags } = await readHelp();
  const names = [...commands, { arguments: [], flags: global_flags }].flatMap((each) => [
    ...each.arguments.flatMap(({ name, choices }) => (choices ? [] : name)),
    ...each.flags.flatMap(({ value, choices }) => (choices ? [] : (value ?? []))),
  ]);
  expect([...new Set(names)].sort()).toEqual(Object.keys(COMPLETED_BY).sort());
});

test('Completion offers what may stand at the cursor, and leaves files to the shell', async () => {
  for (const [line, expected] of [
    ['sp', 'spaces'],
    ['spaces ', 'list show'],
    ['-o json --quiet cron ad', 'adopt'],
    ['spaces list -- --qu', ''],
    ['--ver', '--version --verbose'],
    ['api PA', 'PATCH'],
    ['completion ', 'bash zsh fish powershell'],
    ['help webh', 'webhook webhooks'],
  ] as const) {
    expect([line, (await values(...line.split(' '))).join(' ')]).toEqual([line, expected]);
  }
  for (const line of ['plan ', 'cron create -f jo', 'sandbox run -- ls ']) {
    expect(await offered({}, ...line.split(' '))).toMatchObject({ kind: 'files', values: [] });
  }
  expect(await values('api', 'GET', '/automation/sp')).toEqual(['/automation/spaces/']);
  expect(await values('contract', 'unset', 'spaces.list.i')).toEqual(['spaces.list.items']);
  expect(await values('cron', 'create', '--timezone', 'Europe/Berl')).toEqual(['Europe/Berlin']);
  expect(await offered({}, 'chat', 'send', 'hi')).toMatchObject({ kind: 'words', values: [] });
});

describe('live ids', () => {
  test('are those that were listed at this service, with their names, in private files, and nothing is requested at a Tab', async () => {
    const { env, HOME, baseUrl, requests } = await listed();
    const count = requests.length;
    expect(await offered(env, 'agents', 'list', 's')).toMatchObject({
      lines: ['s1\tAcme', `s2\t${NAME}`, 's3\ttwo\\nlines'],
    });
    expect(await offered(env, 'agents', 'list', 'ext:')).toMatchObject({ lines: ['ext:acme\tAcme'] });
    // A name of several lines cannot be typed.
    expect(await offered(env, 'agents', 'list', 'name:')).toMatchObject({ values: ['name:Acme', `name:${NAME}`] });
    expect(await offered(env, 'chat', 'setup', 's1', '')).toMatchObject({ lines: ['a1\tSupport'] });
    expect(await offered(env, 'cron', 'create', '--agent', '')).toMatchObject({ lines: ['a1\tSupport'] });
    expect(await offered(env, 'cron', 'forget', '')).toMatchObject({ lines: ['cron_1\tdaily', 'cron_2\tweekly'] });
    expect(await offered(env, 'chat', 'test', '--only', '')).toMatchObject({ lines: ['acme\tAcme'] });
    expect(await offered(env, 'cron', 'adopt', '')).toMatchObject({ lines: ['cron_1\tdaily', 'cron_2\tweekly'] });
    expect(requests).toHaveLength(count);
    const elsewhere = { ...env, PARTNER_BASE_URL: 'https://api.example.com/v1' };
    expect((await offered(elsewhere, 'agents', 'list', '')).values).toEqual([]);
    expect((await offered(elsewhere, 'agents', 'list', '--base-url', baseUrl, '')).values).toContain('s1');
    // A list of one space, or of some jobs, is not all.
    expect((await run(['cron', 'list', '--space', 'ext:acme', '--query', '[].cron_job_id'], { env })).stdout).toBe(
      'cron_1\n',
    );
    expect((await offered(env, 'cron', 'forget', '')).values).toEqual(['cron_1', 'cron_2']);
    const directory = join(HOME, '.cache', 'partnerctl', 'words');
    for (const path of readdirSync(directory).map((name) => join(directory, name))) {
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(readFileSync(path, 'utf8')).not.toContain('pat_');
    }
    expect(await run(['spaces', 'list'], { env: { ...env, XDG_CACHE_HOME: '/dev/null' } })).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  test('are offered wherever help has a value of their kind: each kind is stored by a list', async () => {
    const { env } = await listed();
    const isOffered = (name: string) => !['files', 'nothing'].includes(COMPLETED_BY[name] ?? 'nothing');
    const tried = new Set<string>();
    for (const { command, arguments: given, flags } of (await readHelp()).commands) {
      const places = [
        ...given.map(({ name, choices }, index) => ({ name, choices, before: given.slice(0, index).map(() => 'x') })),
        ...flags.map(({ flag, value, choices }) => ({ name: value ?? '', choices, before: [flag] })),
      ];
      for (const { name, choices, before } of places) {
        const kind = `${name} ${before.length}`;
        if (choices || !isOffered(name) || tried.has(kind)) continue;
        tried.add(kind);
        const { values } = await offered(env, ...command.split(' '), ...before, '');
        expect(values.length, `${command} ${before.join(' ')} <${name}>`).toBeGreaterThan(0);
      }
    }
  });

  test('include the profiles, with their services', async () => {
    const HOME = tempDirectory();
    const login = ['login', '--profile', 'acme', '--base-url', 'https://api.example.com/v1', '--no-verify'];
    expect(await run(login, { env: { HOME, PARTNER_TOKEN: 'pat_0123456789abcdef' } })).toMatchObject({ code: 0 });
    expect((await offered({ HOME }, 'profile', 'use', '')).lines).toEqual(['acme\thttps://api.example.com/v1']);
  });
});

test('bash replaces only the end of the word, and an open quote is closed behind the only word', async () => {
  const { env } = await listed();
  for (const [line, lines] of [
    ['X=1 partnerctl sp', ['words', 'spaces']],
    ['partnerctl agents list ext:', ['words', 'acme']],
    ['partnerctl chat setup name:A\\ B a', ['words', 'a1']],
    ["partnerctl chat setup 'name:A B' a", ['words', 'a1']],
    ['partnerctl agents list "name:A', ['words', 'name:Acme"']],
    ['partnerctl agents list name:"A', ['words', 'Acme"']],
    ['partnerctl agents list name:\\$', ['words', '\\$\\(touch\\ pwned\\)\\ it\\\'s\\ \\"A\\"']],
    ['partnerctl agents list "name:\\$', ['words', 'name:\\$(touch pwned) it\'s \\"A\\""']],
    ["partnerctl agents list 'name:$", ['words', "name:$(touch pwned) it'\\''s \"A\"'"]],
  ] as const) {
    expect([line, await inBash(env, line)]).toEqual([line, lines]);
  }
});

test('PowerShell passes what is typed in base64', async () => {
  const { env } = await listed();
  const typed = Buffer.from(['name:', 'agents', 'list'].join('\0')).toString('base64');
  const ran = await run(['completion', 'powershell', '--', typed], { env });
  expect(ran.stdout).toBe(`words\nname:Acme\tAcme\nname:${NAME}\t${NAME}\n`);
});

test('completion <shell> prints the script in completions/', async () => {
  const files = { bash: 'partnerctl.bash', zsh: '_partnerctl', fish: 'partnerctl.fish', powershell: 'partnerctl.ps1' };
  for (const [shell, file] of Object.entries(files)) {
    const script = readFileSync(new URL(`../../completions/${file}`, import.meta.url), 'utf8');
    expect(await run(['completion', shell])).toMatchObject({ code: 0, stdout: script, stderr: '' });
  }
});
