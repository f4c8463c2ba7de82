import { readdirSync, readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { HELP_TOPICS } from '../../src/cli/help-topics.ts';
import { run } from '../support/run.ts';

const HELP = (await run(['help', '-o', 'json'], { env: { HOME: '/nowhere' } })).json<{
  readonly commands: readonly { readonly command: string; readonly summary: string }[];
  readonly global_flags: readonly { readonly flag: string }[];
  readonly groups: readonly { readonly group: string }[];
}>();

const TOPICS = new URL('../../src/help/', import.meta.url);

function widest(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length));
}

describe('help topics', () => {
  it('each have one Markdown file, and no file lacks a topic', () => {
    expect(readdirSync(TOPICS).sort()).toEqual(HELP_TOPICS.map(({ name }) => `${name}.md`).sort());
  });

  it('refer only to commands that exist', () => {
    const firstWords = HELP.commands.map(({ command }) => command.split(' ')[0]);
    expect(firstWords).toEqual(expect.arrayContaining(HELP_TOPICS.flatMap(({ commands }) => commands)));
  });

  it('are listed by `help`, after the commands', async () => {
    const { stdout } = await run(['help']);
    for (const { name, summary } of HELP_TOPICS) expect(stdout).toMatch(new RegExp(`^ {2}${name} +${summary}$`, 'm'));
  });

  it('leave the list of commands and topics on one screen', async () => {
    const { stdout } = await run(['help'], { columns: 80 });
    expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(50);
    expect(widest(stdout)).toBeLessThanOrEqual(80);
  });

  it.each(HELP_TOPICS)('$name is plain Markdown if stdout is not a terminal', async ({ name }) => {
    const shown = await run(['help', name]);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    const [title = '', ...lines] = readFileSync(new URL(`${name}.md`, TOPICS), 'utf8').split('\n');
    expect(shown.stdout.split('\n')[0]).toBe(title);
    const unchanged = lines.filter((line) => !line.includes('.md)') && !line.startsWith('```'));
    expect(shown.stdout.split('\n')).toEqual(expect.arrayContaining(unchanged));
    expect(shown.stdout).not.toContain('.md)');
  });

  it.each(HELP_TOPICS)('$name does not show the info strings of its code blocks', async ({ name }) => {
    const { stdout } = await run(['help', name]);
    expect(stdout).not.toMatch(/^```\w+ /m);
    const json = await run(['help', name, '-o', 'json', '--query', 'text || topic.text']);
    expect(json.stdout).not.toMatch(/```\w+ /);
  });

  it.each(HELP_TOPICS)('$name wraps its text at the width of a terminal', async ({ name }) => {
    const { stdout } = await run(['help', name], { columns: 60 });
    const prose = stripVTControlCharacters(stdout)
      .split('\n')
      .filter((line) => !line.startsWith('  ') && !line.includes('http'));
    expect(widest(prose.join('\n'))).toBeLessThanOrEqual(60);
    expect(stdout).not.toMatch(/^(#|```|\|)/m);
  });

  it.each(['provision', 'doctor', 'cron create'])('with commands of %s fit into 80 columns', async (commandPath) => {
    const { stdout } = await run([...commandPath.split(' '), '--help'], { columns: 80 });
    const section = stdout.slice(stdout.indexOf('Learn more:'));
    expect(section).toContain('partnerctl help ');
    expect(widest(section)).toBeLessThanOrEqual(80);
  });

  it('are shown without color if NO_COLOR is set', async () => {
    const plain = await run(['help', 'output'], { columns: 80, env: { NO_COLOR: '1' } });
    expect(plain.stdout).toBe(stripVTControlCharacters(plain.stdout));
    expect((await run(['help', 'output'], { columns: 80 })).stdout).toContain('\x1b[1m');
  });

  it.each(HELP_TOPICS.filter(({ name }) => HELP.groups.some(({ group }) => group === name)))(
    '$name starts with the commands of the group of the same name',
    async ({ name }) => {
      const { stdout } = await run(['help', name]);
      const commands = HELP.commands.filter(({ command }) => command.startsWith(`${name} `));
      const lines = commands.map(({ command, summary }) => `- \`partnerctl ${command}\`: ${summary}`);
      expect(stdout.split('\n').slice(1, 5 + lines.length)).toEqual(['', '## Commands', '', ...lines, '']);
    },
  );

  it('output ends with every global option', async () => {
    const { stdout } = await run(['help', 'output']);
    for (const { flag } of HELP.global_flags) expect(stdout).toMatch(new RegExp(`- \`.*${flag}`));
  });

  it('for programs is the document that a query selects from', async () => {
    const { stdout } = await run(['help', 'upload', '--query', 'command']);
    expect(stdout).toBe('upload\n');
  });

  it('are named by the help of their commands', async () => {
    for (const { name, commands } of HELP_TOPICS) {
      for (const first of commands) expect((await run([first, '--help'])).stdout).toContain(`partnerctl help ${name}`);
    }
  });

  it.each([
    ['sandbx', 'Did you mean sandbox?'],
    ['provison', 'Did you mean provision?'],
    ['nope', 'Run `partnerctl help` to list commands and topics.'],
  ])('exclude %s, which exits with 2 and suggests a name', async (topic, hint) => {
    const refused = await run(['help', topic, '-o', 'json']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.error()).toMatchObject({
      type: 'usage',
      message: `There is no command or help topic "${topic}".`,
      hint: expect.stringContaining(hint),
    });
  });
});
