import { quoted } from './quote.ts';

export type Lookup = (name: string) => string | undefined;

/** A `${…}` that has no value. */
interface InterpolationFault {
  /** Index of its `$` in the text. */
  readonly at: number;
  readonly length: number;
  readonly message: string;
  readonly hint: string;
}

interface Interpolated {
  readonly text: string;
  readonly faults: readonly InterpolationFault[];
  /** The names of the variables in the text, in order. */
  readonly names: readonly string[];
  /** Whether the text is one substitution and nothing else. */
  readonly isSingle: boolean;
}

type Fault = Pick<InterpolationFault, 'message' | 'hint'>;

const BODY = /^(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?<fallback>.*))?$/s;

/** Credentials never go into a file that is sent to the service. */
const REFUSED = 'PARTNER_TOKEN';

const ESCAPE_HINT = 'write $${ for a plain ${';

function resolve(body: string, lookup: Lookup): { name: string; value: string } | Fault {
  const { name, fallback } = BODY.exec(body)?.groups ?? {};
  if (name === undefined) {
    const hint = 'write ${NAME} or ${NAME:-default}, or $${ for a plain ${';
    return { message: `${quoted(`\${${body}}`)} is not a variable`, hint };
  }
  if (fallback?.includes('${')) return { message: 'the default of a variable cannot contain "${"', hint: ESCAPE_HINT };
  if (name === REFUSED) {
    return { message: `${REFUSED} cannot be used in a file`, hint: 'each request carries the token already' };
  }
  const found = lookup(name);
  const value = fallback !== undefined && !found ? fallback : found;
  if (value !== undefined) return { name, value };
  return {
    message: `the variable ${name} is not set`,
    hint: `set it, or give a default: \${${name}:-default}`,
  };
}

/**
 * Replaces `${NAME}` and `${NAME:-default}` (the default where the variable is unset or empty); `$${` is a plain `${`.
 * Values are not interpolated again. A faulty substitution is replaced by nothing.
 */
export function interpolate(text: string, lookup: Lookup): Interpolated {
  const faults: InterpolationFault[] = [];
  const names: string[] = [];
  const parts: string[] = [];
  let done = 0;
  for (let at = text.indexOf('${'); at !== -1; at = text.indexOf('${', done)) {
    if (text[at - 1] === '$') {
      parts.push(text.slice(done, at - 1), '${');
      done = at + 2;
      continue;
    }
    parts.push(text.slice(done, at));
    const close = text.indexOf('}', at);
    if (close === -1) {
      faults.push({ at, length: 2, message: '"${" has no closing "}"', hint: ESCAPE_HINT });
      done = text.length;
      break;
    }
    done = close + 1;
    const resolved = resolve(text.slice(at + 2, close), lookup);
    if ('message' in resolved) faults.push({ at, length: done - at, ...resolved });
    else {
      parts.push(resolved.value);
      names.push(resolved.name);
    }
  }
  const isSingle = names.length === 1 && text.startsWith('${') && text.indexOf('}') === text.length - 1;
  return { text: parts.join('') + text.slice(done), faults, names, isSingle };
}

function indexesOf(text: string, part: string): number[] {
  const indexes: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) indexes.push(at);
  return indexes;
}

/**
 * Maps the index of each `${` in the value of a scalar to its offset in the source. Quotes, escapes, and folded lines
 * shift them but keep their order; if their number differs, the map is empty.
 */
export function locateVariables(
  value: string,
  source: string,
  [start, end]: readonly [number, number],
  isBlock: boolean,
): ReadonlyMap<number, number> {
  // A comment after the "|" of a block may also contain "${".
  const from = isBlock ? source.indexOf('\n', start) : start;
  const written = indexesOf(source.slice(from, end), '${');
  const parsed = indexesOf(value, '${');
  return new Map(written.length === parsed.length ? parsed.map((at, nth) => [at, from + (written[nth] ?? 0)]) : []);
}
