import type { Scalar } from 'yaml';
import type { Findings, Span } from './finding.ts';
import { type Fault, interpolate, type Lookup } from './interpolate.ts';
import { quoted } from './shown.ts';
import { spanOf } from './tree.ts';

export interface ReadText {
  readonly text: string;
  /** Something is wrong with it, and has been reported. */
  readonly faulty: boolean;
  readonly variables: readonly string[];
  /** A plain scalar that is one substitution and nothing else. */
  readonly bare: boolean;
}

function occurrences(text: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf('${'); at !== -1; at = text.indexOf('${', at + 2)) found.push(at);
  return found;
}

/**
 * Where in the source the substitutions of a value stand, by their index in the value. Quotes, escapes and folded
 * lines shift them, but leave their order alone; where even their number differs, nothing is known.
 */
function offsets(node: Scalar, value: string, source: string): ReadonlyMap<number, number> {
  const { offset, length } = spanOf(node);
  const isBlock = node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED';
  // A comment on the line of the "|" may hold "${", too.
  const start = isBlock ? source.indexOf('\n', offset) : offset;
  const written = occurrences(source.slice(start, offset + length));
  const read = occurrences(value);
  if (written.length !== read.length) return new Map();
  return new Map(read.map((at, index) => [at, start + (written[index] ?? 0)]));
}

function describe({ kind, body }: Fault): { message: string; hint?: string } {
  switch (kind) {
    case 'unset':
      return { message: `the variable ${body} is not set`, hint: `set it, or give a default: \${${body}:-default}` };
    case 'refused':
      return { message: 'PARTNER_TOKEN is never put into a file', hint: 'the token goes with each request by itself' };
    case 'nested':
      return { message: 'the default of a variable cannot hold another ${', hint: 'write $${ for a plain ${' };
    case 'unclosed':
      return { message: '"${" without a closing "}"', hint: 'write $${ for a plain ${' };
    case 'malformed':
      return {
        message: `${quoted(`\${${body}}`)} is not a variable`,
        hint: 'write ${NAME} or ${NAME:-default}, or $${ for a plain ${',
      };
  }
}

/**
 * The text of a scalar with its variables put in.
 * @param value the scalar's text as parsed
 * @param source the whole text of the source, for places
 */
export function readText(node: Scalar, value: string, source: string, lookup: Lookup, findings: Findings): ReadText {
  const { text, faults, names, whole } = interpolate(value, lookup);
  const span = spanOf(node);
  if (faults.length > 0) {
    const places = offsets(node, value, source);
    for (const fault of faults) {
      const { message, hint } = describe(fault);
      const offset = places.get(fault.at);
      const place: Span = offset === undefined ? span : { offset, length: fault.body.length + 3 };
      findings.add(place, message, hint);
    }
  } else if (!text.isWellFormed()) {
    findings.add(span, 'this text holds half a character (an unpaired surrogate)');
    return { text, faulty: true, variables: names, bare: false };
  }
  return { text, faulty: faults.length > 0, variables: names, bare: whole && node.type === 'PLAIN' };
}
