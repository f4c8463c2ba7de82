/** The stretch of a source that holds one YAML document, its markers and directives included. */
export interface Chunk {
  readonly start: number;
  readonly end: number;
}

type LineKind = 'start' | 'start with content' | 'end' | 'directive' | 'nothing' | 'content';

const START = /^---(?:[ \t\r]|$)/;
const BARE_START = /^---[ \t\r]*(?:#.*)?$/s;
const END = /^\.\.\.(?:[ \t\r]|$)/;
const NOTHING = /^\uFEFF?[ \t\r]*(?:#.*)?$/s;

function kindOf(line: string): LineKind {
  if (START.test(line)) return BARE_START.test(line) ? 'start' : 'start with content';
  if (END.test(line)) return 'end';
  if (line.startsWith('%')) return 'directive';
  return NOTHING.test(line) ? 'nothing' : 'content';
}

function* lines(text: string): Generator<{ at: number; next: number; kind: LineKind }> {
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    const next = Math.min(end + 1, text.length);
    yield { at, next, kind: kindOf(text.slice(at, end)) };
    at = next;
  }
}

/**
 * Cuts a source into its documents, leaving out those that hold nothing but comments and white space.
 * YAML forbids a line that begins with a document marker inside any value, so cutting at such lines is exact,
 * and a mistake in one document cannot reach into the next.
 */
export function* split(text: string): Generator<Chunk> {
  let start = 0;
  let isMarked = false;
  let hasContent = false;
  for (const { at, next, kind } of lines(text)) {
    switch (kind) {
      case 'start':
      case 'start with content':
        if (hasContent) yield { start, end: at };
        // Directives stand before the marker of their document.
        if (hasContent || isMarked) start = at;
        isMarked = true;
        hasContent = kind === 'start with content';
        break;
      case 'end':
        if (hasContent) yield { start, end: next };
        start = next;
        isMarked = false;
        hasContent = false;
        break;
      case 'directive':
        hasContent ||= isMarked;
        break;
      case 'content':
        hasContent = true;
        break;
    }
  }
  if (hasContent) yield { start, end: text.length };
}
