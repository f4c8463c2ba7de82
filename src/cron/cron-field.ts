import { quoted } from '../yaml/quote.ts';
import { suggest } from '../yaml/suggest.ts';
import { type FieldName, ScheduleError, TITLES } from './schedule-error.ts';

export const FIELD_NAMES = ['minute', 'hour', 'day_of_week'] as const satisfies readonly FieldName[];

interface Rules {
  /** The highest number that is read; of the days it is a second name of Sunday. */
  readonly highest: number;
  /** How many different values there are, from 0. */
  readonly size: number;
  readonly values: string;
  readonly forms: string;
}

const RULES: Readonly<Record<FieldName, Rules>> = {
  minute: {
    highest: 59,
    size: 60,
    values: '0 to 59',
    forms: '* or 5 or 0,30 or 0-15 or */10 or 0-30/5',
  },
  hour: { highest: 23, size: 24, values: '0 to 23', forms: '* or 9 or 9,17 or 9-17 or */2 or 8-18/2' },
  day_of_week: {
    highest: 7,
    size: 7,
    values: '0 to 7 (0 and 7 are Sunday), or sun to sat',
    forms: '* or 1 or 1,3,5 or mon-fri or */2 or 1-5/2',
  },
};

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;
const SUNDAY_AGAIN = 7;
const DAY_NAMES: readonly string[] = [...DAYS, ...DAYS.map((day) => day.slice(0, 3))];

/** What a cron field of a schedule may hold, in words. */
export function describeAllowedValues(field: FieldName): string {
  const { values, forms } = RULES[field];
  return `${TITLES[field]}: ${values}, such as ${forms}`;
}

/** A stretch of the text, without white space around it. */
interface Piece {
  readonly text: string;
  readonly offset: number;
}

/** A part of a list: the values it stands for, and how it is written on the wire. */
interface Item {
  readonly text: string;
  readonly values: readonly number[];
}

export interface Field {
  /** The canonical text: numbers only, no white space or leading zeros, Sunday as 0; otherwise as it was written. */
  readonly text: string;
  /** The values it stands for, in ascending order, each one once. */
  readonly values: readonly number[];
}

function trimmed(text: string, offset: number): Piece {
  return { text: text.trim(), offset: offset + text.length - text.trimStart().length };
}

function split({ text, offset }: Piece, separator: string): Piece[] {
  let at = offset;
  return text.split(separator).map((part) => {
    const piece = trimmed(part, at);
    at += part.length + separator.length;
    return piece;
  });
}

function sequence(low: number, high: number, step: number): number[] {
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, index) => low + index * step);
}

/** Reads one field. What is wrong is thrown as a `ScheduleError` with its place in the text. */
class FieldReader {
  readonly #field: FieldName;
  readonly #rules: Rules;

  constructor(field: FieldName) {
    this.#field = field;
    this.#rules = RULES[field];
  }

  read(text: string): Field {
    const whole = trimmed(text, 0);
    if (whole.text === '') throw this.#fault(whole, 'is empty');
    const pieces = split(whole, ',');
    const all = pieces.length > 1 ? pieces.find((piece) => piece.text === '*') : undefined;
    if (all) throw this.#fault(all, 'stands for every value already', 'leave out the others, or the *');
    const items = pieces.map((piece) => this.#item(piece, whole));
    const values = new Set(items.flatMap((item) => item.values));
    return {
      text: [...new Set(items.flatMap((item) => item.text.split(',')))].join(','),
      values: [...values].sort((one, other) => one - other),
    };
  }

  #fault({ text, offset }: Piece, what: string, hint = describeAllowedValues(this.#field)): ScheduleError {
    const said = text === '' ? '' : `${quoted(text)} `;
    const facts = { hint, offset, length: text.length };
    return new ScheduleError(this.#field, `${said}${what}`, facts);
  }

  #item(piece: Piece, whole: Piece): Item {
    if (piece.text === '') throw this.#fault(whole, 'has an empty item in its list', 'check the commas');
    this.#refuseExtensions(piece);
    const [base, step, ...more] = split(piece, '/');
    if (base === undefined || more.length > 0) throw this.#fault(piece, 'has more than one "/"');
    return step === undefined ? this.#base(base) : this.#stepped(piece, base, step);
  }

  #refuseExtensions(piece: Piece): void {
    const { text } = piece;
    if (text === '?') throw this.#fault(piece, 'is not known to the service', 'write * for any value');
    if (/#|^\d+[LW]$|^(?:L|W|LW)$|^[a-z]{3,}L$/i.test(text)) {
      const hint = 'the schedule of the service has no days of the month to count in';
      throw this.#fault(piece, 'uses an extension (L, W or #) that the service does not have', hint);
    }
  }

  /** `*`, a value or a range, without a step. */
  #base(piece: Piece): Item {
    if (piece.text === '*') return { text: '*', values: sequence(0, this.#rules.size - 1, 1) };
    if (!piece.text.includes('-')) {
      const value = this.#once(this.#value(piece));
      return { text: String(value), values: [value] };
    }
    const [low, high] = this.#range(piece, 1);
    const values = sequence(low, high, 1).map((value) => this.#once(value));
    if (high < this.#rules.size) return { text: `${low}-${high}`, values };
    if (low === 0) return { text: '0-6', values };
    if (low === SUNDAY_AGAIN) return { text: '0', values };
    return { text: `${low === high - 1 ? low : `${low}-${high - 1}`},0`, values };
  }

  #stepped(piece: Piece, base: Piece, written: Piece): Item {
    const { size, highest } = this.#rules;
    const step = /^\d+$/.test(written.text) ? Number(written.text) : Number.NaN;
    if (!(step >= 1 && step <= size)) throw this.#fault(piece, `needs a step from 1 to ${size} after the "/"`);
    if (base.text === '*') return { text: `*/${step}`, values: sequence(0, size - 1, step) };
    if (!base.text.includes('-')) {
      const from = base.text === '' ? undefined : this.#once(this.#value(base));
      const hint = from === undefined ? `write */${step}` : `write ${from}-${size - 1}/${step}`;
      throw this.#fault(piece, 'has a step that follows neither * nor a range', hint);
    }
    const [low, high] = this.#range(base, step);
    const values = sequence(low, high, step);
    if (high < size) return { text: `${low}-${high}/${step}`, values };
    if (!values.includes(highest)) return { text: `${low}-${size - 1}/${step}`, values };
    const days = [...new Set(values.map((value) => this.#once(value)))];
    return { text: days.join(','), values: days };
  }

  /** Sunday has two numbers; on the wire it has one. */
  #once(value: number): number {
    return value % this.#rules.size;
  }

  #value(piece: Piece): number {
    const { text } = piece;
    const { highest, values } = this.#rules;
    if (/^\d+$/.test(text)) {
      const value = Number(text);
      if (value <= highest) return value;
      const hint = this.#field === 'hour' && value === 24 ? 'midnight is 0' : undefined;
      throw this.#fault(piece, `is out of range: ${values}`, hint);
    }
    if (this.#field !== 'day_of_week') throw this.#fault(piece, `is not a number: ${values}`);
    const word = text.toLowerCase();
    const day = DAYS.findIndex((name) => name === word || name.slice(0, 3) === word);
    if (day !== -1) return day;
    const meant = suggest(text, DAY_NAMES);
    throw this.#fault(piece, `is not a day: ${values}`, meant && `did you mean ${quoted(meant)}?`);
  }

  /** Both ends of a range, the lower one first. Sunday as a name at its end is the day after Saturday. */
  #range(piece: Piece, step: number): [low: number, high: number] {
    const [first, last, ...more] = split(piece, '-');
    if (!first?.text || !last?.text || more.length > 0) throw this.#fault(piece, 'is not a range: write it as 1-5');
    const low = this.#value(first);
    const end = this.#value(last);
    const high = end === 0 && low > 0 && /^s/i.test(last.text) ? SUNDAY_AGAIN : end;
    if (low <= high) return [low, high];
    throw this.#fault(piece, 'runs backwards', `write ${this.#aroundTheEnd(low, high, step)}`);
  }

  /** A range that runs backwards, as it can be written. */
  #aroundTheEnd(low: number, high: number, step: number): string {
    const { size } = this.#rules;
    const from = this.#once(low);
    if (step > 1) {
      const values = sequence(from, from > high ? high + size : high, step).map((value) => this.#once(value));
      return values.join(',');
    }
    const part = (start: number, end: number): string => (start === end ? String(start) : `${start}-${end}`);
    return from <= high ? part(from, high) : `${part(from, size - 1)},${part(0, high)}`;
  }
}

/**
 * Reads one field of a schedule (spec §2): lists, ranges, steps, and names of days.
 * @throws ScheduleError with the place in the text
 */
export function parseField(field: FieldName, text: string): Field {
  return new FieldReader(field).read(text);
}
