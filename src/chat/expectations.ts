/** What can be expected of a reply. `run` is judged by a command: see `judge.ts`. */
export const MATCHERS = ['contains', 'not_contains', 'equals', 'matches', 'run'] as const;

export interface Expectation {
  readonly matcher: (typeof MATCHERS)[number];
  readonly value: string;
  /** File and line. */
  readonly source: string;
}

/** Why a turn failed. */
export interface Mismatch {
  readonly expected: string;
  readonly got: string;
  /** File and line of the expectation, or of the turn. */
  readonly source: string;
}

/** @throws SyntaxError if it is no regular expression */
export function parsePattern(pattern: string): RegExp {
  return new RegExp(pattern, 'u');
}

/** How an expectation is written in a message. */
export function describeExpectation({ matcher, value }: Expectation): string {
  const quoted = JSON.stringify(value);
  switch (matcher) {
    case 'contains':
      return value === '' ? 'text to be filled in' : `text that contains ${quoted}`;
    case 'not_contains':
      return `text without ${quoted}`;
    case 'equals':
      return quoted;
    case 'matches':
      return `text that matches ${quoted}`;
    case 'run':
      return `${quoted} to accept it`;
  }
}

/** Whether the replies of a turn, joined, are as expected. `run` is not decided here. */
function holds({ matcher, value }: Expectation, reply: string): boolean {
  const [wanted, text] = [value.trim(), reply.trim()];
  switch (matcher) {
    case 'contains':
      // `chat record` leaves it empty, for a person to fill in: until then, the test fails.
      return wanted !== '' && text.toLowerCase().includes(wanted.toLowerCase());
    case 'not_contains':
      return !text.toLowerCase().includes(wanted.toLowerCase());
    case 'equals':
      return text === wanted;
    case 'matches':
      return parsePattern(value).test(text);
    case 'run':
      return true;
  }
}

/** What of the expectations on a turn does not hold, but for those that a command judges. */
export function findMismatches(expectations: readonly Expectation[], reply: string): readonly Mismatch[] {
  return expectations
    .filter((expectation) => !holds(expectation, reply))
    .map((expectation) => ({
      expected: describeExpectation(expectation),
      got: reply.trim(),
      source: expectation.source,
    }));
}
