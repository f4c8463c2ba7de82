export type FieldName = 'minute' | 'hour' | 'day_of_week';

export interface ScheduleFault {
  /** What to do about it. */
  readonly hint?: string | undefined;
  /** Where in the text given the fault begins, in UTF-16 units from 0, and how much of it is meant. */
  readonly offset?: number | undefined;
  readonly length?: number | undefined;
}

/** A schedule that the service cannot keep, or that cannot be read: which part, what is wrong, and what is allowed. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
  readonly field: FieldName | 'timezone' | 'schedule';
  readonly hint: string | undefined;
  readonly offset: number | undefined;
  readonly length: number | undefined;

  constructor(field: ScheduleError['field'], message: string, { hint, offset, length }: ScheduleFault = {}) {
    super(message);
    this.field = field;
    this.hint = hint;
    this.offset = offset;
    this.length = length;
  }
}
