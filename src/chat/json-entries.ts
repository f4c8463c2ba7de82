import type { Range } from '../yaml/problem.ts';

/** A key of an object and its value, as they are in a JSON text. */
export interface JsonEntry {
  readonly key: string;
  readonly keyRange: Range;
  readonly valueRange: Range;
}

const SPACE = /\s/;

/** Returns the offset behind the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); ; quote = text.indexOf('"', quote + 1)) {
    let escapes = 0;
    while (text[quote - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return quote + 1;
  }
}

/** Yields the strings of a JSON text, and each other character that is not white space, with its place. */
function* readTokens(text: string): Generator<{ readonly character: string; readonly range: Range }> {
  for (let start = 0; start < text.length; ) {
    const character = text.charAt(start);
    const end = character === '"' ? endOfString(text, start) : start + 1;
    if (!SPACE.test(character)) yield { character, range: [start, end] };
    start = end;
  }
}

/** How much deeper a token leads: 1, 0, or -1. */
function depthChange(character: string): number {
  if (character === '{' || character === '[') return 1;
  return character === '}' || character === ']' ? -1 : 0;
}

/**
 * Returns the entries of an object in order, also those whose key is repeated, which `JSON.parse` drops.
 * @param text valid JSON of an object
 */
export function readJsonEntries(text: string): JsonEntry[] {
  const entries: JsonEntry[] = [];
  let depth = 0;
  let keyRange: Range | undefined;
  let valueRange: Range | undefined;
  for (const { character, range } of readTokens(text)) {
    const isOwn = depth === 1;
    if (isOwn && (character === ',' || character === '}')) {
      if (keyRange && valueRange) entries.push({ key: JSON.parse(text.slice(...keyRange)), keyRange, valueRange });
      keyRange = undefined;
      valueRange = undefined;
    } else if (isOwn && !keyRange) keyRange = range;
    else if (keyRange && !(isOwn && character === ':')) valueRange = [valueRange?.[0] ?? range[0], range[1]];
    depth += depthChange(character);
  }
  return entries;
}
