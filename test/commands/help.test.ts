import { readdirSync, readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { HELP_TOPICS } from '../../src/cli/help.ts';
import { ERROR_TYPES, EXIT } from '../../src/errors.ts';
import { OUTPUT_FORMATS } from '../../src/output/command-result.ts';
import { readDocument } from '../support/documents.ts';
import { readHelp } from '../support/help.ts';
import { run } from '../support/run.ts';

const HELP = await readHelp();
const TOPICS = new URL('../../src/help/', import.meta.url);

function widest(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length));
}

it('`help` lists every command and topic on one screen, as do no arguments and --help, and in this order in JSON', async () => {
  const { stdout } = await run(['help'], { columns: 80 });
  expect((await run([], { columns: 80 })).stdout).toBe(stdout);
  expect((await run(['--help'], { columns: 80 })).stdout).toBe(stdout);
  expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(52);
  expect(widest(stdout)).toBeLessThanOrEqual(80);
  for (const { name, summary } of HELP_TOPICS) expect(stdout).toMatch(new RegExp(`^ {2}${name} +${summary}$`, 'm'));
  const listed = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
  const commands = new Set(HELP.commands.map(({ command }) => command.split(' ')[0]));
  expect([...commands]).toEqual(listed.slice(0, listed.indexOf('help')));
  expect(HELP.topics).toMatchObject(HELP_TOPICS.map(({ name, summary }) => ({ name, summary })));
});

it('The help of a command shows its flags and examples in the width of the terminal, and where the global flags are', async () => {
  const { usage, flags, examples } = HELP.commands.find(({ command }) => command === 'provision') ?? {};
  const help = await run(['provision', '--help'], { columns: 60 });
  expect(help.stdout).toContain(`Usage: ${usage}`);
  for (const { flag } of flags ?? []) expect(help.stdout).toContain(flag);
  for (const { command } of examples ?? []) expect(help.stdout).toContain(`$ ${command}\n`);
  expect(help.stdout).toContain('partnerctl help output\n');
  expect(help.stdout).not.toContain('--no-input');
  expect(widest(help.stdout.split('\nExamples:')[0] ?? '')).toBeLessThanOrEqual(60);
  expect((await run(['help', 'provision'], { columns: 60 })).stdout).toBe(help.stdout);
});

it('The help of every command has at least three examples', () => {
  for (const { command, examples } of HELP.commands) {
    expect(examples.length, command).toBeGreaterThanOrEqual(3);
    expect(
      examples.some((example) => example.command.includes(`partnerctl ${command}`)),
      command,
    ).toBe(true);
  }
});

describe('help topics', () => {
  it('each have one Markdown file, and are named by the help of their commands', async () => {
    expect(readdirSync(TOPICS).sort()).toEqual(HELP_TOPICS.map(({ name }) => `${name}.md`).sort());
    for (const { name, commands } of HELP_TOPICS) {
      for (const first of commands) expect((await run([first, '--help'])).stdout).toContain(`partnerctl help ${name}`);
    }
  });

  it('are Markdown in a pipe, text that fits in a terminal, and the same in JSON', async () => {
    for (const { name } of HELP_TOPICS) {
      const { stdout } = await run(['help', name]);
      const [title = '', ...lines] = readFileSync(new URL(`${name}.md`, TOPICS), 'utf8').split('\n');
      const unchanged = lines.filter((line) => !line.includes('.md)') && !line.startsWith('```'));
      expect(stdout.split('\n')[0]).toBe(title);
      expect(stdout.split('\n')).toEqual(expect.arrayContaining(unchanged));
      expect(stdout).not.toMatch(/\.md\)|^```\w+ /m);
      const described = (await run(['help', name, '-o', 'json'])).json<{ text?: string; topic?: { text: string } }>();
      expect(described.topic?.text ?? described.text).toBe(stdout);
      const inTerminal = await run(['help', name], { columns: 60 });
      expect(inTerminal.stdout).not.toMatch(/^(#|```|\|)/m);
      expect(inTerminal.stdout).toContain('\x1b[1m');
      const shown = stripVTControlCharacters(inTerminal.stdout).split('\n');
      expect(widest(shown.filter((line) => !/^ {2}|http/.test(line)).join('\n'))).toBeLessThanOrEqual(60);
    }
  });

  it('about scripts become a SKILL.md with --file, in a terminal too; no other words do', async () => {
    const { stdout } = await run(['help', 'skill', '--file'], { columns: 80 });
    const [, head = '', text] = /^---\n(.*?)\n---\n\n(.*)$/s.exec(stdout) ?? [];
    expect(text).toBe((await run(['help', 'skill'])).stdout);
    const { name, description } = parse(head);
    expect([name, description]).toEqual(['partnerctl', expect.stringMatching(/^Create customer .* scripts\.$/)]);
    expect(description.length).toBeLessThan(1024);
    for (const words of [['cron'], []]) expect((await run(['help', ...words, '--file'])).code).toBe(2);
  });

  it('include every global option, in output', async () => {
    const output = await run(['help', 'output']);
    for (const { flag } of HELP.global_flags) expect(output.stdout).toMatch(new RegExp(`- \`.*${flag}`));
  });

  it('that do not exist exit with 2, and a similar name is suggested', async () => {
    const refused = await run(['help', 'sandbx', '-o', 'json']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    const hint = expect.stringContaining('Did you mean sandbox?');
    expect(refused.error()).toMatchObject({ message: 'There is no command or help topic "sandbx".', hint });
  });
});

/** The codes in the first column of the table of exit codes. */
function exitCodesIn(path: string): string[] {
  const [, table = ''] = /^\| Code \|.*\n\| --- .*\n((?:\|.*\n)+)/m.exec(readDocument(path)) ?? [];
  return table.split('\n').flatMap((row) => row.split('|')[1]?.trim().split(', ') ?? []);
}

it.each(['README.md', 'src/help/output.md'])('The table of exit codes in %s has all of them, and no other', (path) => {
  expect(
    exitCodesIn(path)
      .map(Number)
      .toSorted((a, b) => a - b),
  ).toEqual(Object.values(EXIT));
});

it('The exit codes in help skill exist', () => {
  const codes = exitCodesIn('src/help/skill.md').filter((code) => code !== 'other');
  expect(codes.length).toBeGreaterThan(8);
  expect(Object.values(EXIT)).toEqual(expect.arrayContaining(codes.map(Number)));
});

/** The numbers behind `exit`, `exits with`, and `exit code`, outside of blocks of code. */
function namedExits(text: string): number[] {
  const prose = text.replaceAll(/^```.*?^```/gms, '');
  const lists = [...prose.matchAll(/\bexit(?:s with|\scode)?\s(\d+(?:,? (?:or )?\d+)*)/g)].map(([, list = '']) => list);
  return lists.flatMap((list) => list.match(/\d+/g) ?? []).map(Number);
}

it('The help of a command, and a topic, name no exit code that the command, or one of the topic, does not have', () => {
  const codesOf = (names: readonly string[]) =>
    HELP.commands
      .filter(({ command }) => names.some((name) => `${command} `.startsWith(`${name} `)))
      .flatMap((command) => command.exit_codes.map(({ code }) => code));
  const pages = [
    ...HELP.commands.map(({ command, description, flags }) => ({
      of: [command],
      text: [description, ...flags.map((flag) => flag.description)].join('\n'),
    })),
    ...HELP_TOPICS.map(({ name, commands }) => ({ of: commands, text: readDocument(`src/help/${name}.md`) })),
  ];
  for (const { of, text } of pages) expect(codesOf(of), of[0]).toEqual(expect.arrayContaining(namedExits(text)));
});

it('`help -o json` is an index of less than 30 KB, and `help <command> -o json` has the rest', async () => {
  expect((await run(['help', '-o', 'json'])).stdout.length).toBeLessThan(30_000);
  const described = await run(['help', 'cron', 'create', '-o', 'json']);
  expect(described.json()).toMatchObject({ command: 'cron create', writes: true, flags: expect.any(Array) });
});

it('`help output` says what each format is', () => {
  for (const format of OUTPUT_FORMATS) expect(readDocument('src/help/output.md')).toContain(`\`${format}\``);
});

it('`help output` and the index have every error.type, and no other', () => {
  const [, list = ''] = /`type`\sis\sone\sof:([^.]*)\./.exec(readDocument('src/help/output.md')) ?? [];
  expect([...list.matchAll(/`(\w+)`/g)].map(([, type]) => type)).toEqual(ERROR_TYPES);
  expect(HELP.error_types).toEqual(ERROR_TYPES);
});
