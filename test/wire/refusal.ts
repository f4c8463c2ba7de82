import type { Ran } from '../support/run.ts';
import type { Answer } from './pages.ts';
import type { Server } from './server.ts';
import { isWire } from './service.ts';
import { TOKEN, truth } from './truth.ts';

/** A leaf of the contract and its value in a command; undefined where the operator has to fill it in. */
type Setting = readonly [leaf: string, value: string | undefined, raw: string];

/** A command that an error names. */
interface NamedCommand {
  readonly verb: 'set' | 'import';
  readonly settings: readonly Setting[];
  /** Whether the error says when it is right: `If …`. */
  readonly isConditional: boolean;
}

const COMMAND = /partnerctl contract (set|import)((?: +(?:'[^']*'|"[^"]*"|[^\s'"]+))+)/;
const WORD = /'[^']*'|"[^"]*"|[^\s'"]+/g;
const LEAF = /^[a-z_]+\.[\w.]+$/;

/** Returns the text of an error, which is JSON or text itself. */
function textOf(stderr: string): string {
  return stderr.replace(/^\{"error":.*$/gm, (line) => stringsIn(JSON.parse(line)).join('\n'));
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return isWire(value) || Array.isArray(value) ? Object.values(value).flatMap(stringsIn) : [];
}

/** Finds what looks like an id in the body of a response. */
function idsIn(body: unknown): string[] {
  if (!isWire(body) && !Array.isArray(body)) return [];
  return Object.entries(body).flatMap(([name, value]) =>
    /id$/i.test(name) && typeof value !== 'object' ? [String(value)] : idsIn(value),
  );
}

/** Finds the commands on stderr that change the contract. */
function commandsIn(stderr: string): NamedCommand[] {
  return textOf(stderr)
    .split(/\n| (?=If )/)
    .flatMap((line): NamedCommand[] => {
      const [, verb, rest = ''] = COMMAND.exec(line) ?? [];
      const isConditional = /^\s*(hint: )?(Or, )?[Ii]f /.test(line);
      if (verb === 'import') return [{ verb, settings: [], isConditional }];
      const settings = settingsIn(rest);
      return verb === 'set' && settings.length > 0 ? [{ verb, settings, isConditional }] : [];
    });
}

/** Splits the arguments of `contract set`. What follows the last value is the rest of a sentence. */
function settingsIn(text: string): Setting[] {
  const words = [...text.matchAll(WORD)].map(([word]) => word);
  const settings: Setting[] = [];
  for (let index = 0; index + 1 < words.length; index += 2) {
    const [leaf = '', raw = ''] = words.slice(index, index + 2);
    if (!LEAF.test(leaf)) break;
    const isQuoted = /^['"]/.test(raw);
    const value = isQuoted ? raw.slice(1, -1) : raw.replace(/[.,;)`]+$/, '');
    settings.push([leaf, /[<>…]/.test(value) ? undefined : value, value]);
    if (!isQuoted && value !== raw) break;
  }
  return settings;
}

/**
 * Finds what a refusal lacks: an exit code that says whose fault it is, and a command that settles it or the statement
 * that the outcome is unknown.
 * @param last the last response of the service; a 4xx may be passed on as 1 or 4
 */
export function findRefusalProblems({ code, stderr }: Ran, last: Answer | undefined): string[] {
  const isPassedOn = last !== undefined && last.status >= 400 && last.status < 500;
  const codes = [2, 8, 9, ...(isPassedOn ? [1, 4] : [])];
  const isSettled = code === 9 || commandsIn(stderr).length > 0;
  // The only trace of what may have been created.
  const ids = code === 9 ? idsIn(last?.body) : [];
  return [
    ...(ids.length === 0 || ids.some((id) => stderr.includes(id)) ? [] : [`the error shows none of the ids ${ids}`]),
    ...(codes.includes(code) ? [] : [`misleading exit code ${code}`]),
    ...(isSettled ? [] : ['the error names no command that changes the contract']),
    ...(/This is a bug/.test(stderr) ? ['it is reported as a bug'] : []),
  ];
}

/** Fills the gap of a value in from what is documented. */
function fillIn(raw: string, documented: string | undefined): string | undefined {
  if (!documented?.startsWith(TOKEN)) return documented;
  return raw.startsWith('token:') ? raw.replace('<parameter>', documented.slice(TOKEN.length)) : undefined;
}

/**
 * Returns the command that an operator copies from an error: the first whose condition is true, with its gaps filled
 * in from the documentation of the service, or the import of its document.
 */
export function chooseCommand({ service, documentUrl }: Server, stderr: string): readonly string[] | undefined {
  const isTrue = ([leaf, value]: Setting): boolean => {
    const documented = truth(service, leaf);
    return (
      value === undefined || documented.length === 0 || value.split(/, ?|\|/).some((each) => documented.includes(each))
    );
  };
  const filled = ({ settings }: NamedCommand) =>
    settings.map(([leaf, value, raw]) => [leaf, value ?? fillIn(raw, truth(service, leaf)[0])] as const);
  const commands = commandsIn(stderr);
  const set = commands
    .filter(({ verb, settings, isConditional }) => verb === 'set' && (!isConditional || settings.every(isTrue)))
    .map(filled)
    .find((settings) => settings.every(([, value]) => value !== undefined));
  if (set) return ['contract', 'set', ...set.flatMap(([leaf, value = '']) => [leaf, value])];
  return commands.some(({ verb }) => verb === 'import') ? ['contract', 'import', documentUrl, '--yes'] : undefined;
}
