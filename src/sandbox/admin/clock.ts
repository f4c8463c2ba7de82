import * as v from 'valibot';
import { invalidInput } from '../problem.ts';
import { readBody } from '../request-body.ts';
import { type Service, type ServiceApp, timestamp } from '../service.ts';
import { closedObject, durationMs } from '../validation.ts';

/** A larger step is probably a mistake, and would execute every scheduled run on the way. */
const MAX_STEP_MS = 10 * 366 * 86_400_000;

/** A timestamp in milliseconds since the epoch. */
const timestampSchema = v.pipe(
  v.string(),
  v.isoTimestamp('must be a timestamp such as 2030-01-31T09:00:00Z'),
  v.transform((text) => Date.parse(text)),
  v.check((at) => Number.isFinite(at), 'must be a timestamp such as 2030-01-31T09:00:00Z'),
);

const changeSchema = v.pipe(
  closedObject({
    frozen: v.optional(v.boolean()),
    set: v.optional(timestampSchema),
    advance: v.optional(durationMs()),
  }),
  v.check(({ set, advance }) => set === undefined || advance === undefined, 'must have set or advance, not both'),
);

/** The time that a change moves the clock to. @throws Problem 422 when it is in the past or too far ahead */
function targetOf({ set, advance }: v.InferOutput<typeof changeSchema>, now: number): number {
  const path = set === undefined ? 'advance' : 'set';
  const target = set ?? now + (advance ?? 0);
  if (target < now) throw invalidInput([{ path, message: `must not be before ${new Date(now).toISOString()}` }]);
  if (target - now > MAX_STEP_MS) throw invalidInput([{ path, message: 'must be within ten years' }]);
  return target;
}

/**
 * The service's clock. A PATCH freezes it (`"frozen": true`) or resumes it (`false`), and moves it ahead to a time (`set`)
 * or by a duration (`advance`). The response is sent after everything due on the way has happened. The clock never goes
 * back, except to the machine's time when the service is reset.
 */
export function addClockAdmin(app: ServiceApp, service: Service): void {
  const { scheduler } = service;
  const show = () => ({ now: timestamp(service), frozen: scheduler.isFrozen });
  app.get('/clock', (c) => c.json(show()));
  app.patch('/clock', async (c) => {
    const change = await readBody(c, changeSchema);
    const isMove = change.set !== undefined || change.advance !== undefined;
    const target = isMove ? (now: number) => targetOf(change, now) : undefined;
    await scheduler.change({ frozen: change.frozen, target });
    return c.json(show());
  });
}
