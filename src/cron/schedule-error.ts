export type FieldName = 'minute' | 'hour' | 'day_of_week';

export interface ScheduleFault {
  /** What to do about it. */
  readonly hint?: string | undefined;
  /** Where in the text given the fault begins, in UTF-16 units from 0, and how much of it is meant. */
  readonly offset?: number | undefined;
  readonly length?: number | undefined;
}

/** What people call the parts of a schedule. */
export const TITLES = {
  minute: 'minute',
  hour: 'hour',
  day_of_week: 'day of week',
  timezone: 'timezone',
  schedule: 'schedule',
} as const;

/** A schedule that the service cannot keep, or that cannot be read: which part, what is wrong, and what is allowed. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
  readonly field: keyof typeof TITLES;
  /** The message without the part that it is about. */
  readonly detail: string;
  readonly hint: string | undefined;
  readonly offset: number | undefined;
  readonly length: number | undefined;

  constructor(field: ScheduleError['field'], detail: string, { hint, offset, length }: ScheduleFault = {}) {
    super(`${TITLES[field]}: ${detail}`);
    this.field = field;
    this.detail = detail;
    this.hint = hint;
    this.offset = offset;
    this.length = length;
  }
}
