import { describe, expect, test } from 'vitest';
import { HELP_TOPICS } from '../../src/cli/help-topics.ts';
import { run } from '../support/run.ts';

interface Flag {
  readonly flag: string;
  readonly choices: readonly string[] | null;
  readonly default: unknown;
}

interface Help {
  readonly global_flags: readonly Flag[];
  readonly commands: readonly {
    readonly command: string;
    readonly flags: readonly Flag[];
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
    for (const { flag, choices, default: value } of flags) {
      if (value !== null && choices) expect(choices, flag).toContain(value);
    }
  });
});
