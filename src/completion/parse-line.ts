import type { CompletionTree, TreeCommand, TreeFlag } from './tree.ts';

/** The words of a command line, without the program and without quotes. */
export interface CommandLine {
  readonly before: readonly string[];
  /** The part of the current word before the cursor. */
  readonly current: string;
  readonly after: readonly string[];
}

/** The parsed words before the cursor. */
export interface ParsedLine {
  /** The group and the command, as typed. */
  readonly path: readonly string[];
  /** Undefined until the words name a command. */
  readonly command: TreeCommand | undefined;
  /** Whether the words name neither a command nor a group. */
  readonly isUnknown: boolean;
  readonly positionals: readonly string[];
  /** The values of each flag, also after the cursor; empty for a flag without a value. */
  readonly typed: ReadonlyMap<string, readonly string[]>;
  /** The flag whose value the current word is. */
  readonly awaiting: TreeFlag | undefined;
  /** Whether `--` was typed. */
  readonly isPastDashes: boolean;
}

export const HELP: TreeFlag = { name: '--help', short: '-h', description: 'show this help' };
const VERSION: TreeFlag = { name: '--version', description: 'show the version' };

/** Returns the flags that a command accepts, its own first. @param path empty for flags of the program itself */
export function flagsOf(tree: CompletionTree, path: readonly string[], command: TreeCommand | undefined): TreeFlag[] {
  return [...(command?.flags ?? []), ...tree.globals, HELP, ...(path.length === 0 ? [VERSION] : [])];
}

/** A word of one or more flags, with the value if it is in the same word. */
interface FlagWord {
  readonly flags: readonly TreeFlag[];
  readonly value: string | undefined;
  /** The text before the value: `--output=`, `-o`. */
  readonly prefix: string;
}

/** Parses `--output=json`, `--output`, `-o`, `-ojson`, or `-qo`. Only the last flag may take a value. */
export function readFlagWord(word: string, flags: readonly TreeFlag[]): FlagWord {
  const [, long = word, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  if (word.startsWith('--')) {
    return {
      flags: flags.filter(({ name }) => name === long),
      value,
      prefix: value === undefined ? word : `${long}=`,
    };
  }
  const found: TreeFlag[] = [];
  for (let index = 1; index < word.length; index += 1) {
    const flag = flags.find(({ short }) => short === `-${word[index]}`);
    if (!flag) break;
    found.push(flag);
    if (flag.value === undefined) continue;
    const rest = word.slice(index + 1);
    return { flags: found, value: rest === '' ? undefined : rest, prefix: word.slice(0, index + 1) };
  }
  return { flags: found, value: undefined, prefix: word };
}

function isFlag(word: string): boolean {
  return word.startsWith('-') && word !== '-';
}

/** Whether a path names a group or a command. */
function isKnownPath(tree: CompletionTree, path: readonly string[]): boolean {
  const name = path.join(' ');
  return Object.hasOwn(tree.groups, name) || Object.hasOwn(tree.commands, name);
}

/** Parses the words around the cursor. Pure, and accepts any words. */
export function parseLine(tree: CompletionTree, { before, after }: CommandLine): ParsedLine {
  const path: string[] = [];
  const positionals: string[] = [];
  const typed = new Map<string, string[]>();
  let command: TreeCommand | undefined;
  let awaiting: TreeFlag | undefined;
  let isUnknown = false;
  let isPastDashes = false;
  const add = ({ name }: TreeFlag, value?: string): void => {
    const values = typed.get(name) ?? [];
    typed.set(name, value === undefined ? values : [...values, value]);
  };
  const takeFlag = (word: string): void => {
    const { flags, value } = readFlagWord(word, flagsOf(tree, path, command));
    for (const flag of flags) add(flag);
    const last = flags.at(-1);
    if (last?.value === undefined) return;
    if (value === undefined) awaiting = last;
    else add(last, value);
  };
  const takeOperand = (word: string): void => {
    if (command) {
      positionals.push(word);
      return;
    }
    path.push(word);
    isUnknown ||= !isKnownPath(tree, path);
    const name = path.join(' ');
    command = Object.hasOwn(tree.commands, name) ? tree.commands[name] : undefined;
  };
  const take = (word: string): void => {
    const isValue = awaiting && !(awaiting.isOptional && isFlag(word));
    if (awaiting && isValue) {
      add(awaiting, word);
      awaiting = undefined;
      return;
    }
    awaiting = undefined;
    if (isPastDashes || !isFlag(word)) takeOperand(word);
    else if (word === '--') isPastDashes = true;
    else takeFlag(word);
  };
  for (const word of before) take(word);
  const state = { path: [...path], command, isUnknown, positionals: [...positionals], awaiting, isPastDashes };
  awaiting = undefined;
  // Of the words after the cursor, only the flags count.
  if (command) for (const word of after) take(word);
  return { ...state, typed };
}
