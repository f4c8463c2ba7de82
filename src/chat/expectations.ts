/** What can be expected of a reply. */
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

function includes(text: string, value: string): boolean {
  return text.toLowerCase().includes(value.trim().toLowerCase());
}

interface Rule {
  /** Whether the replies of a turn, joined and trimmed, are as expected. */
  readonly holds: (text: string, value: string) => boolean;
  /** How the expectation is written in a message. */
  readonly describe: (value: string) => string;
}

const quoted = (value: string): string => JSON.stringify(value);

const RULES: Readonly<Record<Expectation['matcher'], Rule>> = {
  contains: {
    // `chat record` leaves it empty, for a person to fill in: until then, the test fails.
    holds: (text, value) => value.trim() !== '' && includes(text, value),
    describe: (value) => (value.trim() === '' ? 'text to be filled in' : `text that contains ${quoted(value)}`),
  },
  not_contains: {
    holds: (text, value) => !includes(text, value),
    describe: (value) => `text without ${quoted(value)}`,
  },
  equals: { holds: (text, value) => text === value.trim(), describe: quoted },
  matches: {
    holds: (text, value) => parsePattern(value).test(text),
    describe: (value) => `text that matches ${quoted(value)}`,
  },
  // A command decides: see `judge.ts`.
  run: { holds: () => true, describe: (value) => `${quoted(value)} to accept it` },
};

/** Describes an expectation that does not hold. @param got the replies, or what a command said about them */
export function toMismatch({ matcher, value, source }: Expectation, got: string): Mismatch {
  return { expected: RULES[matcher].describe(value), got, source };
}

/** What of the expectations on a turn does not hold, but for those that a command judges. */
export function findMismatches(expectations: readonly Expectation[], replies: string): readonly Mismatch[] {
  const text = replies.trim();
  return expectations
    .filter(({ matcher, value }) => !RULES[matcher].holds(text, value))
    .map((expectation) => toMismatch(expectation, text));
}
