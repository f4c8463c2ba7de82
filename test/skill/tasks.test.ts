import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { run, tempDirectory, tinyRandom } from '../support/run.ts';
import { service } from '../support/service.ts';

interface Tasks {
  readonly files: Readonly<Record<string, string>>;
  readonly before: readonly string[];
  readonly tasks: readonly { readonly task: string; readonly commands: readonly string[]; readonly exit?: number }[];
}

const { files, before, tasks }: Tasks = parse(readFileSync(new URL('tasks.yaml', import.meta.url), 'utf8'));

/** The arguments of a command line without expansions. What looks like a file or a directory is one of `directory`. */
function argumentsOf(command: string, directory: string): string[] {
  const [, ...words] = [...command.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);
  return words.map((word) => (/^\w+(\.(yaml|csv|md|json)|\/)$/.test(word) ? join(directory, word) : word));
}

test.each(tasks)('The commands of a task run in a sandbox: $task', async ({ commands, exit = 0 }) => {
  const { env } = await service();
  const directory = tempDirectory();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const codes: number[] = [];
  for (const command of [...before, ...commands]) {
    expect(command).toMatch(/^partnerctl /);
    const { code } = await run(argumentsOf(command, directory), { env, random: tinyRandom });
    codes.push(code);
  }
  expect(codes).toEqual([...codes.slice(1).fill(0), exit]);
});

test('There are twenty tasks, each one once', () => {
  expect(new Set(tasks.map(({ task }) => task)).size).toBe(20);
});
