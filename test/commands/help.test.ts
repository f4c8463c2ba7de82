import { readdirSync, readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { HELP_TOPICS } from '../../src/cli/help-topics.ts';
import { run } from '../support/run.ts';

const HELP = (await run(['help', '-o', 'json'], { env: { HOME: '/nowhere' } })).json<{
  readonly commands: readonly { readonly command: string; readonly summary: string }[];
  readonly global_flags: readonly { readonly flag: string }[];
}>();

const TOPICS = new URL('../../src/help/', import.meta.url);

function widest(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length));
}

it('`help` lists commands and topics on one screen', async () => {
  const { stdout } = await run(['help'], { columns: 80 });
  for (const { name, summary } of HELP_TOPICS) expect(stdout).toMatch(new RegExp(`^ {2}${name} +${summary}$`, 'm'));
  expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(50);
  expect(widest(stdout)).toBeLessThanOrEqual(80);
});

describe('help topics', () => {
  it('each have one Markdown file, and are named by the help of their commands', async () => {
    expect(readdirSync(TOPICS).sort()).toEqual(HELP_TOPICS.map(({ name }) => `${name}.md`).sort());
    for (const { name, commands } of HELP_TOPICS) {
      for (const first of commands) expect((await run([first, '--help'])).stdout).toContain(`partnerctl help ${name}`);
    }
  });

  it.each(HELP_TOPICS)(
    '$name is Markdown in a pipe, text that fits in a terminal, and the same in JSON',
    async ({ name }) => {
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
      const shown = stripVTControlCharacters(inTerminal.stdout).split('\n');
      expect(widest(shown.filter((line) => !/^ {2}|http/.test(line)).join('\n'))).toBeLessThanOrEqual(60);
    },
  );

  it('start with the commands of the group of the same name, and output ends with every global option', async () => {
    const { stdout } = await run(['help', 'cron']);
    const commands = HELP.commands.filter(({ command }) => command.startsWith('cron '));
    const lines = commands.map(({ command, summary }) => `- \`partnerctl ${command}\`: ${summary}`);
    expect(stdout.split('\n').slice(1, 5 + lines.length)).toEqual(['', '## Commands', '', ...lines, '']);
    const output = await run(['help', 'output']);
    for (const { flag } of HELP.global_flags) expect(output.stdout).toMatch(new RegExp(`- \`.*${flag}`));
  });

  it('are shown without color if NO_COLOR is set', async () => {
    const plain = await run(['help', 'output'], { columns: 80, env: { NO_COLOR: '1' } });
    expect(plain.stdout).toBe(stripVTControlCharacters(plain.stdout));
    expect((await run(['help', 'output'], { columns: 80 })).stdout).toContain('\x1b[1m');
  });

  it.each([
    ['sandbx', 'Did you mean sandbox?'],
    ['nope', 'Run `partnerctl help` to list commands and topics.'],
  ])('exclude %s, which exits with 2 and suggests a name', async (topic, hint) => {
    const refused = await run(['help', topic, '-o', 'json']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    const message = `There is no command or help topic "${topic}".`;
    expect(refused.error()).toMatchObject({ type: 'usage', message, hint: expect.stringContaining(hint) });
  });
});
