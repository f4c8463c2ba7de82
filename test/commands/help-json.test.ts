import { describe, expect, test } from 'vitest';
import { HELP_TOPICS } from '../../src/cli/help-topics.ts';
import { duration } from '../../src/cli/options.ts';
import { run, tempDirectory } from '../support/run.ts';
import { service, write } from '../support/service.ts';

interface Flag {
  readonly flag: string;
  readonly type: string;
  readonly choices: readonly string[] | null;
  readonly default: unknown;
}

interface Help {
  readonly global_flags: readonly Flag[];
  readonly commands: readonly {
    readonly command: string;
    readonly flags: readonly Flag[];
    readonly inputs: readonly {
      readonly taken_by: string;
      readonly example: string;
      readonly schema_command: string | null;
    }[];
  }[];
}

async function readHelp(): Promise<Help> {
  return (await run(['help', '-o', 'json'])).json();
}

describe('help for programs', () => {
  test('is the same everywhere', async () => {
    const elsewhere = await run(['help', '-o', 'json'], { env: { PARTNER_PROFILE: 'acme', CI: '1' }, columns: 60 });
    expect(elsewhere.json()).toEqual(await readHelp());
    expect((await run(['help', 'upload', '--query', 'command'])).stdout).toBe('upload\n');
  });

  test('lists every command and topic, in the order of the human-readable help', async () => {
    const help = await readHelp();
    const { stdout } = await run(['help']);
    const listed = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
    expect([...new Set(help.commands.map(({ command }) => command.split(' ')[0]))]).toEqual(
      listed.slice(0, listed.indexOf('help')),
    );
    expect(help).toMatchObject({ topics: HELP_TOPICS.map(({ name, summary }) => ({ name, summary })) });
  });

  test('lists defaults that their flags accept', async () => {
    const { commands, global_flags } = await readHelp();
    const flags = [...commands.flatMap((command) => command.flags), ...global_flags];
    for (const { flag, type, choices, default: value } of flags) {
      if (value === null) continue;
      expect(typeof value, flag).toBe(type === 'integer' ? 'number' : 'string');
      if (choices) expect(choices, flag).toContain(value);
      if (type === 'duration') expect(duration(String(value)), flag).toBeGreaterThan(0);
    }
  });
});

describe('the examples of input files', () => {
  test('are manifests that provision accepts', async () => {
    const { commands } = await readHelp();
    const inputs = commands
      .filter(({ command }) => /^(plan|provision)$/.test(command))
      .flatMap(({ inputs: all }) => all);
    expect(inputs.map(({ taken_by }) => taken_by)).toEqual(['<file>', '<file>']);
    for (const { example } of inputs) {
      const file = write('acme.yaml', example);
      expect(await run(['provision', file, '--check', '-o', 'json'])).toMatchObject({ code: 0, stderr: '' });
    }
  });

  test('are jobs and rows that work once the ids in angle brackets are replaced', async () => {
    const { env } = await service();
    const directory = tempDirectory();
    const { commands } = await readHelp();
    const others = commands.filter(({ command }) => !/^(plan|provision)$/.test(command));
    const tried = others.flatMap(({ command, inputs }) => inputs.map((input) => ({ command, ...input })));
    expect(tried.map(({ command, taken_by }) => `${command} ${taken_by}`)).toEqual([
      'chat send --rows',
      'cron create --file',
    ]);
    for (const { command, taken_by, example } of tried) {
      const file = write('input', example.replaceAll(/<\w+>/g, 'id_1'), directory);
      const ran = await run([...command.split(' '), taken_by, file, '--dry-run', '-o', 'json'], { env });
      expect(ran, ran.stderr).toMatchObject({ code: 0 });
      expect(ran.json()).toMatchObject([{ status: 'planned' }]);
    }
  });

  test('name commands that print the schema of the file', async () => {
    const { commands } = await readHelp();
    const printers = commands.flatMap(({ inputs }) => inputs.flatMap(({ schema_command }) => schema_command ?? []));
    expect(printers.length).toBeGreaterThan(0);
    for (const line of printers) {
      const ran = await run(line.split(' ').slice(1));
      expect(ran.json()).toMatchObject({ $schema: expect.stringContaining('json-schema.org') });
    }
  });
});
