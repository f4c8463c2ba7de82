import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeCompletion } from '../../../src/cli/completion-tree.ts';
import { HELP_TOPICS } from '../../../src/cli/help-topics.ts';
import { COMMANDS, GLOBAL_FLAGS, GROUPS } from '../../../src/cli/registry.ts';
import { complete } from '../../../src/completion/complete.ts';
import { LEAVES } from '../../../src/contract/leaves.ts';

const TREE = await describeCompletion();
const DECLARED = await Promise.all(
  COMMANDS.map(async ({ commandPath, load }) => ({ commandPath, ...(await load()).default })),
);

/** The completions of the last word; `|` marks the cursor. */
function completionFor(...words: string[]) {
  const cursor = words.indexOf('|');
  const before = cursor === -1 ? words : words.slice(0, cursor);
  const after = cursor === -1 ? [] : words.slice(cursor + 1);
  return complete(TREE, { before: before.slice(0, -1), current: before.at(-1) ?? '', after }).wanted;
}

/** The complete words that are offered. */
function offered(...words: string[]): string[] {
  const wanted = completionFor(...words);
  if (wanted.kind !== 'values') throw new Error(`The shell or the cache completes it: ${JSON.stringify(wanted)}`);
  return wanted.values.map(([value]) => wanted.prefix + value);
}

function flagName(usage: string): string {
  return /--[\w-]+/.exec(usage)?.[0] ?? '';
}

describe('command names', () => {
  it('are offered one word at a time, with their groups, and after help', () => {
    const first = COMMANDS.map(({ commandPath }) => commandPath.split(' ')[0] ?? '');
    expect(offered('')).toEqual([...new Set(first), 'help']);
    for (const group of Object.keys(GROUPS)) {
      const names = COMMANDS.filter(({ commandPath }) => commandPath.startsWith(`${group} `));
      expect(offered(group, '')).toEqual(names.map(({ commandPath }) => commandPath.split(' ')[1]));
    }
  });

  it('are filtered by the typed prefix', () => {
    expect(offered('pro')).toEqual(['profile', 'provision']);
    expect(offered('chat', 'w')).toEqual(['wait', 'watch']);
  });

  it.each([
    ['constructor', ''],
    ['nope', ''],
    ['chat', 'nope', '--'],
    ['spaces', 'toString', ''],
  ])('are not offered after %s %s', (...words) => {
    expect(offered(...words)).toEqual([]);
  });

  it('are found after global flags and their values', () => {
    expect(offered('--profile', 'acme', '-qo', 'json', 'chat', 'se')).toEqual(['setup', 'send']);
    expect(offered('-ojson', 'cron', 'l')).toEqual(['list']);
  });
});

describe.each(DECLARED)('$commandPath', ({ commandPath, flags }) => {
  const path = commandPath.split(' ');

  it('offers each of its flags and the global ones, with a description', () => {
    const wanted = completionFor(...path, '--');
    const values = wanted.kind === 'values' ? wanted.values : [];
    const names = [...flags, ...GLOBAL_FLAGS].map(({ usage }) => flagName(usage));
    expect(values.map(([name]) => name)).toEqual([...names, '--help']);
    for (const [, description] of values) expect(description).not.toBe('');
  });

  it('does not offer a flag again, unless it is repeatable', () => {
    for (const { usage, repeatable = false } of [...flags, ...GLOBAL_FLAGS]) {
      const typed = usage.includes('<') ? [flagName(usage), 'value'] : [flagName(usage)];
      expect(offered(...path, ...typed, '--').includes(flagName(usage)), usage).toBe(repeatable);
      expect(offered(...path, '--', '|', ...typed).includes(flagName(usage)), usage).toBe(repeatable);
    }
  });

  it('offers each choice of a flag, in one word and in two', () => {
    for (const { usage, choices = [] } of [...flags, ...GLOBAL_FLAGS]) {
      if (choices.length === 0) continue;
      const name = flagName(usage);
      expect(offered(...path, name, '')).toEqual(choices);
      expect(offered(...path, `${name}=`)).toEqual(choices.map((choice) => `${name}=${choice}`));
    }
  });
});

describe('values', () => {
  it.each([
    { words: ['plan', ''], wanted: { kind: 'files', prefix: '' } },
    { words: ['plan', 'a.yaml', 'b'], wanted: { kind: 'files' } },
    { words: ['cron', 'create', '-f', ''], wanted: { kind: 'files' } },
    { words: ['cron', 'create', '--file=jo'], wanted: { kind: 'files', prefix: '--file=' } },
    { words: ['cron', 'create', '-fjo'], wanted: { kind: 'files', prefix: '-f' } },
    { words: ['--state', ''], wanted: { kind: 'files' } },
    { words: ['sandbox', 'start', '--data', ''], wanted: { kind: 'directories' } },
    { words: ['api', 'POST', '/x', '-F', 'file=@no'], wanted: { kind: 'files', prefix: 'file=@' } },
    { words: ['webhook', 'replay', ''], wanted: { kind: 'files' } },
    { words: ['profile', 'use', ''], wanted: { kind: 'profiles' } },
    { words: ['--profile', ''], wanted: { kind: 'profiles' } },
    { words: ['provision', 'a.yaml', '--confirm', ''], wanted: { kind: 'profiles' } },
    { words: ['agents', 'list', ''], wanted: { kind: 'cached', resource: 'space' } },
    { words: ['chat', 'setup', 'ext:acme', ''], wanted: { kind: 'cached', resource: 'agent', space: 'ext:acme' } },
    {
      words: ['cron', 'create', '--agent=', '|', '--space', 's1'],
      wanted: { resource: 'agent', prefix: '--agent=', space: 's1' },
    },
    { words: ['chat', 'send', '--source', ''], wanted: { kind: 'cached', resource: 'source' } },
    { words: ['chat', 'tail', '--source', 'src_1', '--session', ''], wanted: { resource: 'session', source: 'src_1' } },
    { words: ['cron', 'adopt', ''], wanted: { kind: 'cached', resource: 'job' } },
    { words: ['cron', 'forget', ''], wanted: { kind: 'cached', resource: 'key' } },
    { words: ['sandbox', 'run', '--', ''], wanted: { kind: 'commands' } },
    { words: ['sandbox', 'run', '--', 'ls', ''], wanted: { kind: 'files' } },
  ])('$words complete as $wanted', ({ words, wanted }) => {
    expect(completionFor(...words)).toMatchObject(wanted);
  });

  it('are help topics and commands after help', () => {
    const names = offered('help', '');
    expect(names).toEqual(expect.arrayContaining([...HELP_TOPICS.map(({ name }) => name), 'upload', 'profile']));
    expect(new Set(names).size).toBe(names.length);
    expect(offered('help', 'chat', 'se')).toEqual(['setup', 'send']);
  });

  it('are the leaves of the contract at every other argument of contract set', () => {
    const leaves = Object.keys(LEAVES);
    expect(offered('contract', 'set', '')).toEqual(leaves);
    expect(offered('contract', 'set', 'cron_jobs.list', 'n')).toEqual([]);
    expect(offered('contract', 'set', 'cron_jobs.list', 'none', 'spaces.')).toEqual(
      leaves.filter((name) => name.startsWith('spaces.')),
    );
    expect(offered('contract', 'unset', 'cron_jobs.l')).toContain('cron_jobs.list');
  });

  it('are time zones and methods', () => {
    expect(offered('cron', 'create', '--timezone', 'Europe/Ber')).toEqual(['Europe/Berlin']);
    expect(offered('api', 'PA')).toEqual(['PATCH']);
  });

  it('are the commands of a nested partnerctl, but nothing of the outer service', () => {
    expect(offered('sandbox', 'run', '--', 'partnerctl', 'spaces', '')).toEqual(['list']);
    expect(offered('sandbox', 'run', '--', 'partnerctl', 'agents', 'list', '')).toEqual([]);
  });

  it('are the flags of the command if nothing else fits, but not after --', () => {
    expect(offered('spaces', 'list', '')).toEqual([]);
    expect(offered('cron', 'list', '')).toEqual(['--agent', '--space', '--local']);
    expect(offered('cron', 'list', '--', '')).toEqual([]);
    expect(offered('cron', 'list', '--', '--')).toEqual([]);
  });
});

it('completion never fails, whatever was typed', () => {
  const known = [
    ...COMMANDS.flatMap(({ commandPath }) => commandPath.split(' ')),
    '--',
    '-',
    '-o',
    '--output',
    '--space',
  ];
  const word = fc.oneof(fc.constantFrom(...known), fc.string(), fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(fc.array(word), word, fc.array(word), (before, current, after) => {
      const { wanted } = complete(TREE, { before, current, after });
      expect(current.startsWith(wanted.prefix)).toBe(true);
      if (wanted.kind !== 'values') return;
      for (const [value] of wanted.values) expect((wanted.prefix + value).startsWith(current)).toBe(true);
    }),
  );
});
