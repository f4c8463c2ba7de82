type FaultKind = 'unset' | 'refused' | 'malformed' | 'unclosed' | 'nested';

/** A `${…}` that cannot be put in. */
export interface Fault {
  /** Index in the text of its `$`. */
  readonly at: number;
  readonly kind: FaultKind;
  /** What stands between the braces. */
  readonly body: string;
}

export interface Interpolated {
  readonly text: string;
  readonly faults: readonly Fault[];
  /** The names that were put in, in order. */
  readonly names: readonly string[];
  /** The text is one substitution and nothing else. */
  readonly whole: boolean;
}

export type Lookup = (name: string) => string | undefined;

const BODY = /^(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?<fallback>.*))?$/s;

/** Credentials never travel in a file that is sent to the service. */
const REFUSED = 'PARTNER_TOKEN';

function resolve(body: string, lookup: Lookup): { name: string; value: string } | { kind: FaultKind } {
  const { name, fallback } = BODY.exec(body)?.groups ?? {};
  if (name === undefined) return { kind: 'malformed' };
  if (fallback?.includes('${')) return { kind: 'nested' };
  if (name === REFUSED) return { kind: 'refused' };
  const found = lookup(name);
  const value = fallback !== undefined && !found ? fallback : found;
  return value === undefined ? { kind: 'unset' } : { name, value };
}

/**
 * Puts in `${NAME}` and `${NAME:-default}` (the default where the name is unset or empty); `$${` is a plain `${`.
 * What is put in is not looked at again. A substitution with a fault stays out of the text.
 */
export function interpolate(text: string, lookup: Lookup): Interpolated {
  const faults: Fault[] = [];
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
      faults.push({ at, kind: 'unclosed', body: text.slice(at + 2) });
      done = text.length;
      break;
    }
    done = close + 1;
    const body = text.slice(at + 2, close);
    const resolved = resolve(body, lookup);
    if ('kind' in resolved) faults.push({ at, kind: resolved.kind, body });
    else {
      parts.push(resolved.value);
      names.push(resolved.name);
    }
  }
  const whole = names.length === 1 && text.startsWith('${') && text.indexOf('}') === text.length - 1;
  return { text: parts.join('') + text.slice(done), faults, names, whole };
}
