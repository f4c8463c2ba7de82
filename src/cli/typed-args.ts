import { UsageError } from '../errors.ts';
import { COMMANDS, type CommandEntry, GLOBAL_FLAGS } from './registry.ts';

/** The global flags that take a value, in every spelling. */
const FLAGS_WITH_VALUE = new Set(
  GLOBAL_FLAGS.filter(({ usage }) => usage.includes('<')).flatMap(({ usage }) => usage.match(/--?[\w-]+/g) ?? []),
);

/** Whether the word after this one is its value: `--output`, `-o`, and `-qo`, but not `-ojson`. */
function takesNextWord(word: string): boolean {
  if (!/^-\w/.test(word)) return FLAGS_WITH_VALUE.has(word);
  const letters = [...word.slice(1)];
  return letters.findIndex((letter) => FLAGS_WITH_VALUE.has(`-${letter}`)) === letters.length - 1;
}

/** The words of argv that could be a command's, global flags and their values left out. */
export function commandArgs(argv: readonly string[]): string[] {
  const words: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (word === '--') break;
    if (takesNextWord(word)) index += 1;
    else if (!word.startsWith('-')) words.push(word);
  }
  return words;
}

/** Whether the words could be the beginning of a command. */
export function isKnown(argv: readonly string[]): boolean {
  const words = commandArgs(argv);
  return COMMANDS.some((entry) => entry.commandPath.split(' ').every((word, index) => (words[index] ?? word) === word));
}

/** The command that is called, where the words begin with all of its own. */
export function findEntry(argv: readonly string[]): CommandEntry | undefined {
  const words = commandArgs(argv);
  return COMMANDS.find((entry) => entry.commandPath.split(' ').every((word, index) => words[index] === word));
}

/** Refuses a token on the command line by the flag's name, before anything can repeat its value. @throws UsageError */
export function refuseTokenFlag(argv: readonly string[]): void {
  const end = argv.indexOf('--');
  const own = end === -1 ? argv : argv.slice(0, end);
  if (own.some((word) => word === '--token' || word.startsWith('--token='))) {
    throw new UsageError('There is no --token flag.', {
      why: 'Every user of this machine can read the arguments of a running command, and shells keep them in their history.',
      hint: 'Set PARTNER_TOKEN, give --token-file <path> (or - for standard input), or store it with `partnerctl login`.',
    });
  }
}
