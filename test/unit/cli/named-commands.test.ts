import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { commandsBelow, findCommand, lineageOf } from '../../../src/cli/command.ts';
import { createCommandTree } from '../../../src/cli/program.ts';
import { allCommands } from '../../../src/commands/all.ts';

const COMMANDS = allCommands();
createCommandTree(COMMANDS, '0.0.0', 80, () => undefined);
const PROGRAM = COMMANDS[0]?.parent ?? expect.unreachable();

/** What follows the name of the program in sentences. */
const PROSE = ['sets', 'crashed', 'talks', 'in'];

/** Says what is wrong with words that follow `partnerctl`: no such command, or no such option of it. */
function problemOf(words: readonly string[]): string | undefined {
  const end = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word));
  const names = end === -1 ? words : words.slice(0, end);
  const known = names.findLastIndex((_, index) => findCommand(names.slice(0, index + 1), PROGRAM)) + 1;
  const command = findCommand(names.slice(0, known), PROGRAM) ?? PROGRAM;
  const next = names[known];
  if (next !== undefined && command.commands.length > 0) return `no command ${next}`;
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  const options = lineageOf(command).flatMap((each) => each.options.flatMap(({ long, short }) => [long, short]));
  const wrong = own.find((word) => /^--?[a-z]/.test(word) && ![...options, '--help'].includes(word));
  return wrong && `no option ${wrong} of ${command.name()}`;
}

/** The groups of commands, in a pattern. */
const GROUPS = PROGRAM.commands.flatMap((each) => (each.commands.length > 0 ? [each.name()] : [])).join('|');

/** The words after `partnerctl` in a text or a program, up to the end of the code, the sentence, or the line. */
function named(text: string): string[][] {
  const written = [...text.matchAll(/(?<![\w/.-])partnerctl ([a-z-][^`\n;|&)]*)/g)].map(([, line = '']) => {
    const [words = ''] = line.split(/\.(?: |$)|, |'[,.]? |'$| # /);
    return words.split(/ +/).map((word) => word.replace(/[',.:"]+$/, ''));
  });
  const called = [...text.matchAll(/(?:[cC]ommand\(|[wW]ords = )\[('[^\]]*)\]/g)].map(([, list = '']) =>
    list.split(/, */).map((item) => item.trim().replace(/^'(.*)'$/, '$1')),
  );
  const quoted = [...text.matchAll(new RegExp(`\`((?:${GROUPS}) [a-z][^\`$\\n]*)\``, 'g'))].map(([, line = '']) =>
    line.split(/ +/),
  );
  return [...written, ...called, ...quoted].filter(([first = '']) => !PROSE.includes(first));
}

it('Every command that a message, an example, or a topic names is one that there is, with its options', () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const sources = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' }).map((name) => `src/${name}`);
  const files = [...sources.filter((name) => /\.(?:ts|md)$/.test(name)), 'README.md', 'CONTRIBUTING.md'];
  const all = files.flatMap((file) => named(readFileSync(root + file, 'utf8')).map((words) => ({ file, words })));
  expect(all.length).toBeGreaterThan(5 * commandsBelow(PROGRAM).length);
  const wrong = all.flatMap(({ file, words }) => {
    const problem = problemOf(words);
    return problem ? [`${file}: partnerctl ${words.join(' ')}: ${problem}`] : [];
  });
  expect(wrong).toEqual([]);
});
