import * as v from 'valibot';

export const clockRecordSchema = v.strictObject({
  /** Where the clock stands, in milliseconds since the epoch; null while it runs. */
  frozen_at: v.nullable(v.number()),
  /** How far a running clock is ahead of the machine's, in milliseconds. */
  offset_ms: v.number(),
});

/** The service's clock. */
export type ClockRecord = v.InferOutput<typeof clockRecordSchema>;

/** The machine's own clock. */
export const MACHINE_CLOCK: ClockRecord = { frozen_at: null, offset_ms: 0 };
