import type { Row } from './problem.ts';
import { quoted } from './text.ts';

/** The value of a variable; undefined if it is not set. @param row the row that the source is read with */
export type Lookup = (name: string, row?: Row) => string | undefined;

/** Why a `${…}` has no value. */
interface Fault {
  readonly message: string;
  readonly hint: string;
}

/** `$${`, or `${` with what follows up to its end. */
const SUBSTITUTION = /\$\$\{|\$\{(?:(?<body>[^}]*)\})?/g;
const BODY = /^(?<name>[A-Za-z_]\w*)(?::-(?<fallback>.*))?$/s;

/** Credentials never go into a file that is sent to the service. */
const REFUSED = 'PARTNER_TOKEN';

function resolve(written: string, body: string | undefined, lookup: Lookup): { name: string; value: string } | Fault {
  const { name, fallback } = (body !== undefined && BODY.exec(body)?.groups) || {};
  if (name === undefined || fallback?.includes('${')) {
    const hint = 'write ${NAME} or ${NAME:-default}, or $${ for a plain ${';
    return { message: `${quoted(written)} is not a variable`, hint };
  }
  if (name === REFUSED) {
    return { message: `${REFUSED} cannot be used in a file`, hint: 'each request carries the token already' };
  }
  const found = lookup(name);
  const value = fallback !== undefined && !found ? fallback : found;
  if (value !== undefined) return { name, value };
  return { message: `the variable ${name} is not set`, hint: `set it, or give a default: \${${name}:-default}` };
}

/**
 * Replaces `${NAME}` and `${NAME:-default}` (the default where the variable is unset or empty); `$${` is a plain `${`.
 * Values are not interpolated again. A faulty substitution is replaced by nothing.
 * @returns also the names of the variables in the text, in order
 */
export function interpolate(text: string, lookup: Lookup) {
  const faults: Fault[] = [];
  const names: string[] = [];
  const replaced = text.replace(SUBSTITUTION, (written: string, body: string | undefined) => {
    if (written === '$${') return '${';
    const resolved = resolve(written, body, lookup);
    if ('message' in resolved) {
      faults.push(resolved);
      return '';
    }
    names.push(resolved.name);
    return resolved.value;
  });
  return { text: replaced, faults, names };
}

/** Writes a text so that `interpolate` gives it back; as a replacer of JSON and YAML, any other value as it is. */
export function escapeVariables(_key: unknown, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('${', () => '$${') : value;
}
