import type { Operation } from './operations.ts';
import type { CommandEnd } from './scene.ts';

/** A leaf of the contract and its value in a command that a refusal names. */
interface NamedSetting {
  readonly leaf: string;
  /** As printed; undefined where the operator has to fill it in. */
  readonly value: string | undefined;
}

/** A command that a refusal names, to settle an open value. */
export interface NamedCommand {
  readonly settings: readonly NamedSetting[];
  /** Whether the refusal says when it is right (`If …`), so that the operator decides. */
  readonly isConditional: boolean;
}

/** Finds all strings of a JSON value. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}

/** The text on stderr; the strings of an error in JSON. */
function textOf(stderr: string): string {
  return stderr
    .split('\n')
    .map((line) => {
      if (!line.startsWith('{"error":')) return line;
      const error: unknown = JSON.parse(line);
      return stringsIn(error).join('\n');
    })
    .join('\n');
}

/** The exit code of a wait for a reply that did not arrive. */
const NO_REPLY = 11;

const COMMAND = /partnerctl contract set((?: +(?:'[^']*'|"[^"]*"|[^\s'"]+)){2,})/;
const WORD = /'[^']*'|"[^"]*"|[^\s'"]+/g;
const LEAF = /^[a-z_]+\.[\w.]+$/;

/** Splits the arguments of a command. What follows the last value is a sentence, or global flags. */
function settingsIn(text: string): NamedSetting[] {
  const words = [...text.matchAll(WORD)].map(([word]) => word);
  const settings: NamedSetting[] = [];
  for (let index = 0; index + 1 < words.length; index += 2) {
    const [leaf = '', raw = ''] = words.slice(index, index + 2);
    if (!LEAF.test(leaf)) break;
    const value = /^['"]/.test(raw) ? raw.slice(1, -1) : raw.replace(/[.,;)`]+$/, '');
    settings.push({ leaf, value: /[<>…]/.test(value) ? undefined : value });
    if (value !== raw && !/^['"]/.test(raw)) break;
  }
  return settings;
}

/** Finds the `contract set` commands on stderr. */
export function namedCommands(stderr: string): NamedCommand[] {
  return (
    textOf(stderr)
      // A warning has all sentences on one line.
      .split(/\n| (?=If )/)
      .flatMap((line) => {
        const [, rest] = COMMAND.exec(line) ?? [];
        const settings = rest === undefined ? [] : settingsIn(rest);
        return settings.length === 0 ? [] : [{ settings, isConditional: /^\s*(hint: )?(Or, )?[Ii]f /.test(line) }];
      })
  );
}

/** Whether a command on stderr sets a leaf whose name starts with this. */
export function namesLeaf(stderr: string, start: string): boolean {
  return namedCommands(stderr).some(({ settings }) => settings.some(({ leaf }) => leaf.startsWith(start)));
}

/** The names in a JSON value. */
function keysIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Array.isArray(value) ? [] : Object.keys(value);
  return [...own, ...Object.values(value).flatMap(keysIn)];
}

/**
 * Finds what a refusal lacks: a correct exit code, the assumption that failed, what was received, and a command that settles it.
 */
export function findRefusalProblems(end: CommandEnd, operation: Operation): string[] {
  const text = textOf(end.stderr);
  const problems: string[] = [];
  if (/This is a bug/.test(text) || /^\s+at .*:\d+:\d+\)?$/m.test(text)) problems.push('it is reported as a bug');
  const isAuthorUnknown = end.code === 0 && namesLeaf(end.stderr, 'message.author');
  if (!isAuthorUnknown && !exitCodes(end, operation).includes(end.code))
    problems.push(`misleading exit code ${end.code}`);
  const commands = namedCommands(end.stderr);
  const last = end.exchanges.at(-1);
  const isForbidden = last?.answer.status === 401 || last?.answer.status === 403;
  if (commands.length === 0 && !isForbidden) problems.push('no command that settles it (partnerctl contract set …)');
  const leaves = commands.flatMap(({ settings }) => settings.map(({ leaf }) => leaf));
  const strange = leaves.filter((leaf) => !operation.leaves.test(leaf));
  if (strange.length > 0) problems.push(`names a leaf of something else: ${strange}`);
  if (!last) return [...problems, 'refused, although the service was not asked'];
  const always = end.exchanges.filter(({ path }) => path === last.path).every(({ sentence }) => sentence !== null);
  // It says so about the messages; the last response has none.
  if (isAuthorUnknown) return problems;
  if (last.sentence !== null) {
    const isTold = end.exchanges.some(({ sentence }) => sentence !== null && text.includes(sentence));
    if (always && !isTold) problems.push(`loses what the service said: ${last.sentence}`);
  } else {
    // Polls end with responses that contain nothing new.
    const isPoll = end.code === NO_REPLY;
    const answers = end.exchanges.filter((each) => each === last || (isPoll && each.path === last.path));
    const names = answers.flatMap(({ answer: { status, body, headers = {} } }) => {
      return [...keysIn(body), ...Object.keys(headers), ...(status >= 300 ? [String(status)] : [])];
    });
    const showsWhatWasReceived = names.some((name) => text.toLowerCase().includes(name.toLowerCase()));
    if (names.length > 0 && !showsWhatWasReceived) problems.push('does not say what came');
  }
  return problems;
}

function exitCodes({ exchanges }: CommandEnd, { isWait, isWrite }: Operation): number[] {
  const statuses = exchanges.map(({ answer }) => answer.status);
  return [
    8,
    ...(statuses.some((status) => status === 401 || status === 403) ? [3] : []),
    ...(statuses.includes(404) ? [4] : []),
    ...(statuses.some((status) => status >= 400 && status < 500) ? [1] : []),
    ...(isWrite ? [9] : []),
    ...(isWait ? [NO_REPLY] : []),
  ];
}
