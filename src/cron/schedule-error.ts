export type FieldName = 'minute' | 'hour' | 'day_of_week';

interface ScheduleErrorInfo {
  /** How to fix it. */
  readonly hint?: string | undefined;
  /** The position of the problem in the text, in UTF-16 units from 0. */
  readonly offset?: number | undefined;
  readonly length?: number | undefined;
}

/** The names of the parts of a schedule in messages. */
export const TITLES = {
  minute: 'minute',
  hour: 'hour',
  day_of_week: 'day of week',
  timezone: 'timezone',
  schedule: 'schedule',
} as const;

/** A schedule that is invalid or that the service does not support: which part, what is wrong, and what is allowed. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
  readonly field: keyof typeof TITLES;
  /** The message without the name of the part. */
  readonly detail: string;
  readonly hint: string | undefined;
  readonly offset: number | undefined;
  readonly length: number | undefined;

  constructor(field: ScheduleError['field'], detail: string, { hint, offset, length }: ScheduleErrorInfo = {}) {
    super(`${TITLES[field]}: ${detail}`);
    this.field = field;
    this.detail = detail;
    this.hint = hint;
    this.offset = offset;
    this.length = length;
  }
}
