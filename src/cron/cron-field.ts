import { suggest } from '../platform/suggest.ts';
import { quoted } from '../yaml/quote.ts';

export type FieldName = 'minute' | 'hour' | 'day_of_week';

export const SCHEDULE_FIELDS = ['minute', 'hour', 'day_of_week'] as const satisfies readonly FieldName[];

/** The names of the parts of a schedule in messages. */
export const TITLES = {
  minute: 'minute',
  hour: 'hour',
  day_of_week: 'day of week',
  timezone: 'timezone',
  schedule: 'schedule',
} as const;

/** A part of a text, and where it begins, in UTF-16 units from 0. */
export interface Piece {
  readonly text: string;
  readonly offset: number;
}

/** A schedule that is invalid or that the service does not support: which part, what is wrong, and what is allowed. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
  readonly field: keyof typeof TITLES;
  /** The message without the name of the part. */
  readonly detail: string;
  readonly hint: string | undefined;
  /** What is wrong in the text. */
  readonly piece: Piece;

  constructor(field: ScheduleError['field'], what: string, { piece, hint }: Pick<ScheduleError, 'piece' | 'hint'>) {
    const detail = `${quoted(piece.text)} ${what}`;
    super(`${TITLES[field]}: ${detail}`);
    this.field = field;
    this.detail = detail;
    this.hint = hint;
    this.piece = piece;
  }
}

/** `size`: the number of distinct values from 0. `highest`: 7 is a second number for Sunday. */
const RULES = {
  minute: { highest: 59, size: 60, values: '0 to 59', examples: '* or 5 or 0,30 or 0-15 or */10 or 0-30/5' },
  hour: { highest: 23, size: 24, values: '0 to 23', examples: '* or 9 or 9,17 or 9-17 or */2 or 8-18/2' },
  day_of_week: {
    highest: 7,
    size: 7,
    values: '0 to 7 (0 and 7 are Sunday), or sun to sat',
    examples: '* or 1 or 1,3,5 or mon-fri or */2 or 1-5/2',
  },
} as const;

/** The values a field accepts, with examples, for a hint. */
export function describeAllowedValues(field: FieldName): string {
  const { values, examples } = RULES[field];
  return `${TITLES[field]}: ${values}, such as ${examples}`;
}

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

/** Replaces names of days with numbers; Sunday at the end of a range is 7. */
function toNumbers(field: FieldName, { text, offset }: Piece): string {
  if (field !== 'day_of_week') return text;
  return text.replace(/[a-z]+/gi, (name, at: number) => {
    const day = DAYS.findIndex((full) => [full, full.slice(0, 3)].includes(name.toLowerCase()));
    if (day >= 0) return day === 0 && at > 0 ? '7' : String(day);
    const near = suggest(name, DAYS);
    const hint = near && `did you mean ${quoted(near)}?`;
    const piece = { text: name, offset: offset + at };
    throw new ScheduleError(field, `is not a day: ${RULES.day_of_week.values}`, { piece, hint });
  });
}

interface ParsedField {
  /** The form to send: numbers instead of names, Sunday as 0, no leading zeros; otherwise as written. */
  readonly text: string;
  /** The distinct values that it selects, ascending. */
  readonly values: readonly number[];
}

const ascending = (values: Iterable<number>): number[] => [...new Set(values)].sort((a, b) => a - b);

/** Parses a value, a range, or `*`, the latter two also in steps. */
function parseItem(field: FieldName, piece: Piece): ParsedField {
  const { highest, size, values: allowed } = RULES[field];
  const text = toNumbers(field, piece).replace(/\d+/g, (digits) => String(Number(digits)));
  const fault = (what: string, hint = describeAllowedValues(field)) => new ScheduleError(field, what, { piece, hint });
  const [isValid, all, from, to, by] = /^(?:(\*)|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(text) ?? [];
  if (isValid === undefined) throw fault(`is not valid (${allowed})`);
  const [low, high] = all ? [0, size - 1] : [Number(from), Number(to ?? from)];
  if (Math.max(low, high) > highest) throw fault(`is out of range (${allowed})`);
  if (low > high) throw fault('runs backwards');
  const step = Number(by ?? 1);
  if (step < 1 || step > size) throw fault(`needs a step from 1 to ${size} after the "/"`);
  if (by !== undefined && !all && to === undefined) {
    throw fault('has a step after a single value', `write ${low}-${size - 1}/${step}`);
  }
  const count = Math.floor((high - low) / step) + 1;
  const values = ascending(Array.from({ length: count }, (_, index) => (low + index * step) % size));
  return { text: !all && high >= size ? values.join(',') : text, values };
}

/**
 * Parses one field of a schedule (spec §2): lists, ranges, steps, and names of days.
 * @param start where the text begins in a longer one @throws ScheduleError
 */
export function parseField(
  field: FieldName,
  text: string,
  start = 0,
): ParsedField & { /** Whether it selects all values. */ readonly isAll: boolean } {
  let offset = start;
  const items = text.split(',').map((part) => {
    const piece = { text: part.trim(), offset: offset + part.length - part.trimStart().length };
    offset += part.length + 1;
    return parseItem(field, piece);
  });
  const texts = new Set(items.flatMap((item) => item.text.split(',')));
  const values = ascending(items.flatMap((item) => item.values));
  return { text: [...texts].join(','), values, isAll: values.length === RULES[field].size };
}
