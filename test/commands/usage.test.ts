import { describe, expect, onTestFinished, test } from 'vitest';
import { manualSignals, run, tempDirectory } from '../support/run.ts';
import { service } from '../support/service.ts';

interface Help {
  readonly commands: readonly {
    readonly command: string;
    readonly usage: string;
    readonly flags: readonly { readonly flag: string }[];
    readonly examples: readonly { readonly command: string }[];
  }[];
  readonly groups: readonly { readonly group: string }[];
}

const { commands, groups } = (await run(['help', '-o', 'json'], { env: { HOME: '/nowhere' } })).json<Help>();

const SECRET = 'pat_typed-on-the-command-line-0123456789';

describe('wrong arguments', () => {
  test.each([
    [['spaces', 'lst'], 'Unknown command "lst".\nhint: Did you mean list? Run `partnerctl spaces --help`'],
    [['prov', 'a.yaml'], 'Did you mean provision?'],
    [['cron', 'crate', '--help'], 'Did you mean create?'],
    [['spaces', 'list', '--timeout', '1000h'], '--timeout takes at most 596h'],
    [['cron', 'ls'], 'Did you mean list?'],
    [['provision', 'a.yaml', '--conc', '2'], 'Did you mean --concurrency?'],
    [['spaces', 'list', '--outptu', 'json'], 'Did you mean --output?'],
    [['spaces', 'list', '--body', '{}'], 'Unknown option --body.\nhint: Run `partnerctl spaces list --help`'],
    [['chat', 'send', '--session', 's', '-5 degrees'], 'Put -- before an argument that begins with a hyphen.'],
    [['chat', 'send', '-z', 'hi'], 'Unknown option -z.\nhint: Run `partnerctl chat send --help`'],
    [['cron', 'create', '--ensure=true'], '--ensure takes no value.\nhint: Run `partnerctl cron create --help`'],
    [['spaces', 'list', 'more'], 'Too many arguments: spaces list takes none, not 1.'],
    [['chat', 'send', 'hi', 'there'], "Quote the message: partnerctl chat send … 'hi there'"],
    [['agents', 'list'], 'Missing argument <space>.\n  Usage: partnerctl agents list [options] <space>'],
    [['agents', 'list'], 'hint: For example: partnerctl agents list'],
    [['completion', 'bsh'], 'Allowed choices are bash, zsh, fish, powershell.'],
    [['spaces', 'list', '-o', 'xml'], '--output takes table, json, ndjson, yaml, or tsv, not "xml".'],
    [['spaces', 'list', '--retries', '21'], '--retries takes a whole number from 0 to 20, not "21".'],
    [['spaces', 'list', '--retries', '1.5'], '--retries takes a whole number'],
    [['spaces', 'list', '--timeout', '30'], '--timeout takes a duration such as 500ms, 30s, 2m, or 1h, not "30".'],
    [['spaces', 'list', '--timeout', '0s'], '--timeout takes a duration'],
    [['spaces', 'list', '--profile'], "Option '--profile <name>' argument missing."],
    [['state', 'show', '--key', ''], '--key is empty.'],
    [['chat', 'send', '--source', 'a', '--source', 'b', 'hi'], '--source is given twice.'],
    [['--timeout', '1s', 'spaces', 'list', '--timeout', '2s'], '--timeout is given twice.'],
    [['chat', 'wait', '--source', 's', '--session', 't'], '--after is missing.'],
    [['provision'], 'No manifest is given.'],
    [['provision', 'a.yaml', '--var', 'REGION'], '--var takes NAME=value, not "REGION".'],
    [['provision', 'a.yaml', '--check', '--dry-run'], '--check and --dry-run cannot be combined.'],
    [['sandbox', 'run', 'printenv', '--null'], 'Unknown option --null.\nhint: Put -- before the command.'],
    [['sandbox', 'run', '--dat', '/x', '--', 'ls'], 'Did you mean --data?'],
  ])('%j exit with 2, and nothing is sent', async (args, message) => {
    const { env, received } = await service();
    const ran = await run(args, { env });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).toMatch(/^error: [A-Z-]/);
    expect(await received()).toEqual([]);
  });

  test.each([
    [['spaces', 'lst', '-o', 'json']],
    [['spaces', 'list', '--timeout', 'soon', '-vqojson']],
    [['agents', 'list', '--output=ndjson']],
  ])('%j are reported as one JSON object on stderr', async (args) => {
    const ran = await run(args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error()).toMatchObject({ type: 'usage', status: null, request_id: null, hint: expect.anything() });
  });

  test('include an invalid PARTNER_OUTPUT; a valid one also decides how they are reported', async () => {
    const ran = await run(['profile', 'list'], { env: { PARTNER_OUTPUT: 'xml' } });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('table, json, ndjson, yaml, tsv') });
    const json = await run(['spaces', 'lst'], { env: { PARTNER_OUTPUT: 'json' } });
    expect(json.error()).toMatchObject({ type: 'usage' });
  });

  test.each([
    [['--token', SECRET, 'spaces', 'list']],
    [['spaces', 'list', `--token=${SECRET}`]],
    [['spaces', 'list', '--token', SECRET, '--debug', '-o', 'json']],
    [['login', `--tokne=${SECRET}`]],
    [['spaces', 'list', `-t${SECRET}`]],
  ])('include a token in a flag, which is rejected and not repeated (case %#)', async (args) => {
    const ran = await run(args);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).not.toContain(SECRET);
    if (!args.join().includes('--token')) return;
    for (const part of ['arguments of a running command', 'PARTNER_TOKEN', '--token-file', 'partnerctl login']) {
      expect(ran.stderr).toContain(part);
    }
  });

  test('do not include arguments after --, which belong to the wrapped command', async () => {
    const args = ['sandbox', 'run', '--', 'sh', '-c', 'exit 7', '--token', SECRET];
    expect((await run(args, { env: { PATH: process.env.PATH } })).code).toBe(7);
  });

  test.each([
    [['-qo', 'json', 'spaces', 'list']],
    [['spaces', '--output=json', 'list']],
    [['spaces', 'list', '-qojson']],
  ])('do not include global flags, which can be anywhere: %j', async (args) => {
    const { env } = await service();
    expect(await run(args, { env })).toMatchObject({ code: 0, stdout: '[]\n' });
  });

  test('include a group without a command, which lists its commands in 80 columns', async () => {
    for (const { group } of groups) {
      const ran = await run([group, '--color', 'never'], { columns: 80 });
      expect(ran).toMatchObject({ code: 2, stdout: '' });
      expect(ran.stderr).toMatch(new RegExp(`^error: A command is missing\\.\n {2}${group} `));
      expect(ran.stderr).toContain(`hint: Run \`partnerctl ${group} --help\``);
      for (const line of ran.stderr.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    }
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

  test('of a command shows its flags and examples in the width of the terminal, and where the global flags are', async () => {
    const { usage, flags, examples } = commands.find(({ command }) => command === 'provision') ?? {};
    const help = await run(['provision', '--help'], { columns: 60 });
    expect(help.stdout).toContain(`Usage: ${usage}`);
    for (const { flag } of flags ?? []) expect(help.stdout).toContain(flag);
    for (const { command } of examples ?? []) expect(help.stdout).toContain(`$ ${command}\n`);
    expect(help.stdout).toContain('partnerctl help output\n');
    expect(help.stdout).not.toContain('--no-input');
    const [options = ''] = help.stdout.split('\nExamples:');
    for (const line of options.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
    expect((await run(['help', 'provision'], { columns: 60 })).stdout).toBe(help.stdout);
  });
});

/** Splits an example like a shell: removes quotes and redirections. */
function splitExample(line: string): string[] {
  const words = [...line.replace(/ [<>] \S+/g, '').matchAll(/'([^']*)'|(\S+)/g)];
  return words.map(([, quoted, bare]) => quoted ?? bare ?? '').slice(1);
}

test('Every example of every command has valid arguments.', async () => {
  const signals = manualSignals();
  signals.abort(new Error('It ends once the arguments are checked.'));
  const here = process.cwd();
  process.chdir(tempDirectory());
  onTestFinished(() => process.chdir(here));
  const env = {
    PARTNER_OUTPUT: 'json',
    PARTNER_BASE_URL: 'http://127.0.0.1:9/v1',
    PARTNER_WEBHOOK_SECRET: 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=',
    PARTNER_SANDBOX_URL: 'http://127.0.0.1:9/_sandbox',
    PARTNER_SANDBOX_KEY: 'sbadm_0123456789',
  };
  for (const { command, examples } of commands) {
    expect(examples.length, command).toBeGreaterThan(0);
    for (const { command: line } of examples) {
      expect(line).toContain(`partnerctl ${command}`);
      const { stderr } = await run(splitExample(line), { signals, env });
      // What a machine can lack although the arguments are valid.
      const isValid = !stderr.includes('"type":"usage"') || /There is no profile |needs a terminal\./.test(stderr);
      expect(isValid, `${line}\n${stderr}`).toBe(true);
    }
  }
});
