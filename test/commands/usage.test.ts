import { describe, expect, onTestFinished, test } from 'vitest';
import { manualSignals, run, tempDirectory } from '../support/run.ts';
import { service } from '../support/service.ts';

interface Flag {
  readonly flag: string;
  readonly value: string | null;
  readonly type: string;
  readonly choices: readonly string[] | null;
  readonly repeatable: boolean;
}

interface Command {
  readonly command: string;
  readonly usage: string;
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[];
  readonly flags: readonly Flag[];
  readonly examples: readonly { readonly command: string }[];
}

interface Help {
  readonly commands: readonly Command[];
  readonly global_flags: readonly Flag[];
  readonly groups: readonly { readonly group: string }[];
}

const { commands, global_flags, groups } = (
  await run(['help', '-o', 'json'], { env: { HOME: '/nowhere' } })
).json<Help>();

/** The environment that the examples expect. */
const EVERYTHING = {
  PARTNER_OUTPUT: 'json',
  PARTNER_BASE_URL: 'http://127.0.0.1:9/v1',
  PARTNER_WEBHOOK_SECRET: 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=',
  PARTNER_SANDBOX_URL: 'http://127.0.0.1:9/_sandbox',
  PARTNER_SANDBOX_KEY: 'sbadm_0123456789',
};
/** What a machine can lack although the arguments are valid. */
const NOT_HERE = /^There is no profile |needs a terminal\.$/;

const SECRET = 'pat_typed-on-the-command-line-0123456789';

describe('wrong arguments', () => {
  test.each([
    [['spaces', 'lst'], 'Did you mean list?'],
    [['provison', 'a.yaml'], 'Did you mean provision?'],
    [['prov', 'a.yaml'], 'Did you mean provision?'],
    [['cron', 'reconcil'], 'Did you mean reconcile?'],
    [['provision', 'a.yaml', '--conc', '2'], 'Did you mean --concurrency?'],
    [['provision', 'a.yaml', '--dryrun'], 'Did you mean --dry-run?'],
    [['spaces', 'list', '--outptu', 'json'], 'Did you mean --output?'],
    [['spaces', 'list', '--body', '{}'], 'Unknown option --body.\nhint: Run `partnerctl spaces list --help`'],
    [['chat', 'send', '--session', 's', '-5 degrees'], 'Put -- before an argument that begins with a hyphen.'],
    [['chat', 'send', '--session', 's', '-zero'], 'Unknown option -z….\nhint: Put -- before an argument'],
    [['chat', 'send', '-z', 'hi'], 'Unknown option -z.\nhint: Run `partnerctl chat send --help`'],
    [['cron', 'create', '--ensure=true'], '--ensure takes no value.\nhint: Run `partnerctl cron create --help`'],
    [['--quiet=1', 'spaces', 'list'], '--quiet takes no value.'],
    [['spaces', 'list', '--help=no'], '--help takes no value.'],
    [['spaces', 'list', 'more'], 'oo many arguments'],
    [['chat', 'send', 'hi', 'there'], "Quote the message: partnerctl chat send … 'hi there'"],
    [['agents', 'list'], 'Missing argument <space>.'],
    [['spaces', 'list', '-o', 'xml'], '--output takes table, json, ndjson, yaml, or tsv, not "xml".'],
    [['spaces', 'list', '--color', 'sometimes'], '--color takes auto, always, or never, not "sometimes".'],
    [['spaces', 'list', '--retries', 'many'], '--retries takes a whole number from 0 to 20, not "many".'],
    [['spaces', 'list', '--retries', '-1'], '--retries'],
    [['spaces', 'list', '--retries', '21'], '--retries'],
    [['spaces', 'list', '--retries', '1.5'], '--retries'],
    [['spaces', 'list', '--timeout', '30'], '--timeout takes a duration such as 500ms, 30s, 2m, or 1h, not "30".'],
    [['spaces', 'list', '--timeout', 'soon'], '--timeout'],
    [['spaces', 'list', '--timeout', '-5s'], '--timeout'],
    [['spaces', 'list', '--profile'], 'argument missing'],
    [['spaces', 'list', '--profile', ''], '--profile is empty.'],
    [['spaces', 'list', '--base-url', ''], '--base-url is empty.'],
    [['spaces', 'list', '--token-file', ''], '--token-file is empty.'],
    [['spaces', 'list', '--query', ''], '--query is empty.'],
    [['state', 'show', '--key', ''], '--key is empty.'],
    [['cron', 'reconcile', '--key', ''], '--key is empty.'],
    [['chat', 'send', '--source', 's', '--session', 's', '--text-file', ''], '--text-file is empty.'],
    [['sandbox', 'start', '--data', ''], '--data is empty.'],
    [['sandbox', 'start', '--faults', ''], '--faults is empty.'],
    [['sandbox', 'run', '--script', '', '--', 'true'], '--script is empty.'],
    [['provision', ''], '"": it is not a file name'],
    [['cron', 'create', '-f', ''], '--file is empty.'],
    [['chat', 'send', '--source', 'a', '--source', 'b', 'hi'], '--source is given twice.'],
    [['upload', 'a', '--as', 'document', '--as', 'attachment'], '--as is given twice.'],
    [['--timeout', '1s', 'spaces', 'list', '--timeout', '2s'], '--timeout is given twice.'],
    [['provision'], 'No manifest is given.'],
    [['provision', 'a.yaml', '--concurrency', '0'], '--concurrency takes a whole number from 1 to 64, not "0".'],
    [['provision', 'a.yaml', '--concurrency', '1e1'], '--concurrency'],
    [['provision', 'a.yaml', '--var', 'REGION'], '--var takes NAME=value, not "REGION".'],
    [['provision', 'a.yaml', '--var', 'REGION=eu', '--var', 'REGION=us'], '--var REGION is given twice.'],
    [['provision', 'a.yaml', '--check', '--dry-run'], '--check and --dry-run cannot be combined.'],
    [['sandbox', 'run'], 'Missing argument <command>.'],
    [['sandbox', 'run', 'sh', '-c', 'true'], 'Put -- before the command.'],
    [['sandbox', 'run', 'printenv', '--null'], 'Put -- before the command.'],
    [
      ['-q', 'sandbox', 'run', 'docker', 'ps', '--format', 'json'],
      'Unknown option --format.\nhint: Put -- before the command.',
    ],
    [['sandbox', 'run', '--tz', 'UTC', '--', 'ls'], 'Unknown option --tz.\nhint: Run `partnerctl sandbox run --help`'],
    [['sandbox', 'run', '--dat', '/x', '--', 'ls'], 'Did you mean --data?'],
    [['cron', 'ls'], 'Did you mean list?'],
    [['sandbox', 'start', '--port', '70000'], '--port takes a whole number from 0 to 65535, not "70000".'],
    [['sandbox'], 'A command is missing.'],
  ])('%j exit with 2, and nothing is sent', async (args, message) => {
    const { env, received } = await service();
    const ran = await run(args, { env });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr.toLowerCase()).toContain(message.toLowerCase());
    expect(ran.stderr).toMatch(/^error: [A-Z-]/);
    expect(await received()).toEqual([]);
  });

  test('with -o json are reported as one JSON object on stderr', async () => {
    for (const args of [
      ['spaces', 'lst'],
      ['spaces', 'list', '--timeout', 'soon'],
      ['provision'],
      ['agents', 'list'],
    ]) {
      for (const json of [
        ['-o', 'json'],
        ['--output=json'],
        ['-ojson'],
        ['-qo', 'json'],
        ['-vqojson'],
        ['-o', 'ndjson'],
      ]) {
        const ran = await run([...args, ...json]);
        expect(ran).toMatchObject({ code: 2, stdout: '' });
        expect(ran.error()).toMatchObject({ type: 'usage', status: null, request_id: null });
      }
    }
    const environment = await run(['spaces', 'lst'], { env: { PARTNER_OUTPUT: 'json' } });
    expect(environment.error()).toMatchObject({ type: 'usage' });
  });

  test('have the same hint in text and with -o json', async () => {
    for (const [args, hint] of [
      [['upload', 'x', '--timeout', 'soon'], 'Run `partnerctl upload --help` for its arguments and flags.'],
      [['spaces', 'lst'], 'Did you mean list?'],
    ] as const) {
      expect((await run(args)).stderr).toContain(`hint: ${hint}`);
      expect((await run([...args, '-o', 'json'])).error()).toMatchObject({ hint: expect.stringContaining(hint) });
    }
  });

  test('include an invalid PARTNER_OUTPUT, like --output', async () => {
    const ran = await run(['profile', 'list'], { env: { PARTNER_OUTPUT: 'xml' } });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('table, json, ndjson, yaml, tsv') });
    const near = await run(['profile', 'list'], { env: { PARTNER_OUTPUT: 'jsno' } });
    expect(near.stderr).toContain('hint: Did you mean json? Set it to one of: table,');
  });

  test.each([
    [['spaces', 'list', '-o', 'jsno'], 'json'],
    [['spaces', 'list', '--output=ymal'], 'yaml'],
    [['spaces', 'list', '--color', 'alway'], 'always'],
    [['upload', 'a', '--as', 'documents'], 'document'],
    [['contract', 'show', '--source', 'overide'], 'override'],
  ])('%j suggest the intended value', async (args, meant) => {
    const ran = await run(args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(`hint: Did you mean ${meant}?`);
  });

  test('show the usage and an example of the command if a required argument is missing', async () => {
    const needy = commands.filter((each) => each.arguments.some(({ required }) => required));
    expect(needy.length).toBeGreaterThan(10);
    for (const { command, usage } of needy) {
      const ran = await run(command.split(' '));
      expect(ran).toMatchObject({ code: 2, stdout: '' });
      expect(ran.stderr).toContain(`Usage: ${usage}\n`);
      expect(ran.stderr).toMatch(/hint: For example: partnerctl .*\n {2}Run `partnerctl [\w ]+ --help` for/);
    }
  });

  test.each([
    [['--token', SECRET, 'spaces', 'list']],
    [['spaces', 'list', `--token=${SECRET}`]],
    [['spaces', 'list', '--token', SECRET, '--debug', '-o', 'json']],
    [['spaces', 'list', `--partner-token=${SECRET}`]],
    [['login', `--tokne=${SECRET}`]],
  ])('include a token in a flag, which is rejected and not repeated (case %#)', async (args) => {
    const ran = await run(args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).not.toContain(SECRET);
  });

  test('include --token, which is rejected with the reason and the alternatives', async () => {
    const { stderr } = await run(['spaces', 'list', '--token', SECRET]);
    for (const part of ['arguments of a running command', 'PARTNER_TOKEN', '--token-file', 'partnerctl login']) {
      expect(stderr).toContain(part);
    }
  });

  test('do not include arguments after --, which belong to the wrapped command', async () => {
    const args = ['sandbox', 'run', '--', 'sh', '-c', 'exit 7', '--token', SECRET];
    const ran = await run(args, { env: { PATH: process.env.PATH } });
    expect(ran.code).toBe(7);
  });

  test.each([
    [['-o', 'json', 'spaces', 'list']],
    [['spaces', '-o', 'json', 'list']],
    [['-qo', 'json', 'spaces', 'list']],
    [['-vqo', 'json', 'spaces', 'list']],
    [['--output=json', '-q', 'spaces', 'list']],
    [['spaces', 'list', '-qojson']],
  ])('do not include global flags, which can be anywhere: %j', async (args) => {
    const { env } = await service();
    expect(await run(args, { env })).toMatchObject({ code: 0, stdout: '[]\n' });
  });
});

describe('help', () => {
  test('without arguments, or with --help, lists every command', async () => {
    const help = await run(['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    for (const first of new Set(commands.map(({ command }) => command.split(' ')[0] ?? ''))) {
      expect(help.stdout).toMatch(new RegExp(`^  ${first}\\b`, 'm'));
    }
    expect((await run([])).stdout).toBe(help.stdout);
    expect((await run(['help'])).stdout).toBe(help.stdout);
    expect((await run(['--version'])).stdout).toBe('0.0.0-test\n');
  });

  describe.each(commands)('$command', ({ command, flags, usage, examples, arguments: positionals }) => {
    test('help shows the flags and examples, and where the global flags are explained', async () => {
      const help = await run([...command.split(' '), '--help']);
      expect(help).toMatchObject({ code: 0, stderr: '' });
      expect(help.stdout).toContain(`Usage: ${usage}`);
      for (const { flag, value } of flags) {
        expect(help.stdout).toContain(value === null ? flag : `${flag} <${value}>`);
      }
      expect(help.stdout).toContain('partnerctl help output\n');
      expect(help.stdout).not.toContain('--no-input');
      expect(examples.length).toBeGreaterThan(0);
      for (const { command: line } of examples) expect(help.stdout).toContain(`$ ${line}\n`);
      expect((await run(['help', ...command.split(' ')])).stdout).toBe(help.stdout);
    });

    test('help for programs matches the parser', async () => {
      const required = positionals.filter((each) => each.required).map(() => 'x');
      /** What the parser says about arguments; a flag that it does not know is the last thing that it refuses. */
      const refusalOf = async (...args: readonly string[]): Promise<string> =>
        (await run([...command.split(' '), ...args])).stderr;
      const takes = async (...args: readonly string[]): Promise<void> =>
        expect(await refusalOf(...args, '--no-such-flag', '--', ...required), `${args}`).toContain(
          'Unknown option --no-such-flag.',
        );
      for (const { flag, value, type, choices, repeatable } of [...flags, ...global_flags]) {
        const valid = choices?.[0] ?? (type === 'duration' ? '1s' : '1');
        const given = value === null ? [flag] : [flag, valid];
        await takes(...given);
        if (value === null) continue;
        // A repeated flag, a missing value, and an invalid choice behave as the JSON says.
        if (repeatable) await takes(...given, ...given);
        else expect(await refusalOf(...given, ...given, '--', ...required)).toContain(`${flag} is given twice.`);
        expect(await refusalOf(flag), flag).toContain('argument missing');
        for (const choice of choices ?? []) expect(await refusalOf(flag, 'no-such-choice')).toContain(choice);
      }
    });

    test('every example calls the command with valid arguments', async () => {
      const signals = manualSignals();
      signals.abort(new Error('It ends once the arguments are checked.'));
      const here = process.cwd();
      process.chdir(tempDirectory());
      onTestFinished(() => process.chdir(here));
      for (const { command: line } of examples) {
        const args = splitExample(line);
        expect(args.join(' ')).toContain(command);
        const ran = await run(args, { signals, env: EVERYTHING });
        const isValid = ran.stderr.includes('"type":"usage"') ? NOT_HERE.test(ran.error().message) : true;
        expect(isValid, `${line}\n${ran.stderr}`).toBe(true);
      }
    });
  });
});

/** Splits an example like a shell: removes quotes and redirections. */
function splitExample(line: string): string[] {
  const [first, ...args] = [...line.replace(/ [<>] \S+/g, '').matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  );
  expect(first).toBe('partnerctl');
  return args;
}

describe('unknown names', () => {
  test.each([
    [['bogus', '--help'], 'Unknown command "bogus".', 'partnerctl --help'],
    [['completion', 'bsh'], '<shell> takes bash, zsh, fish, or powershell, not "bsh".', 'Did you mean bash?'],
    [['spaces', 'lst'], 'Unknown command "lst".', 'partnerctl spaces --help'],
  ])('%j are reported with a hint', async (argv, message, help) => {
    const ran = await run([...argv, '-o', 'json']);
    expect(ran.code).toBe(2);
    expect(ran.error()).toMatchObject({ type: 'usage', message, hint: expect.stringContaining(help) });
  });

  test('a group without a command lists its commands', async () => {
    const ran = await run(['cron']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toMatch(/^error: A command is missing\.\n {2}cron create +Create scheduled jobs/);
    expect(ran.stderr).toMatch(/\n {2}cron forget +Remove .*\nhint: Run `partnerctl cron --help`/);
  });

  test.each(groups)('a group without a command lists its commands in 80 columns: $group', async ({ group }) => {
    const ran = await run([group], { columns: 80 });
    expect(ran.stderr).toContain(`\n  ${group} `);
    for (const line of ran.stderr.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  test('an unknown short flag is reported without its value', async () => {
    const ran = await run(['spaces', 'list', '-tSECRET0123456789']);
    expect(ran.code).toBe(2);
    expect(ran.stderr).not.toContain('SECRET');
  });

  test('help fits the width of the terminal', async () => {
    const ran = await run(['provision', '--help'], { columns: 60 });
    const [flags = ''] = ran.stdout.split('\nExamples:');
    const widest = Math.max(...flags.split('\n').map((line) => line.length));
    expect(widest).toBeLessThanOrEqual(60);
  });
});
