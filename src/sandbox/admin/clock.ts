import ms, { type StringValue } from 'ms';
import * as v from 'valibot';
import { readBody } from '../body.ts';
import { invalidInput } from '../problem.ts';
import { type Service, timestamp } from '../service.ts';
import { closed } from '../shapes.ts';
import type { AdminRoute } from './route.ts';

/** A greater step is more likely a slip than a wish, and each run on the way is carried out. */
const MAX_STEP_MS = 10 * 366 * 86_400_000;

function isDuration(text: string): text is StringValue {
  return /^\d{1,15}(\.\d{1,3})?(ms|s|m|h|d|w)$/.test(text);
}

/** A duration in milliseconds. */
const durationSchema = v.pipe(
  v.string(),
  v.guard(isDuration, 'must be a duration such as 7d, 12h, 30m, 10s or 500ms'),
  v.transform((text) => Math.round(ms(text))),
);

/** A moment in milliseconds since the epoch. */
const momentSchema = v.pipe(
  v.string(),
  v.isoTimestamp('must be a moment such as 2030-01-31T09:00:00Z'),
  v.transform((text) => Date.parse(text)),
  v.check((at) => Number.isFinite(at), 'must be a moment such as 2030-01-31T09:00:00Z'),
);

const changeSchema = v.pipe(
  closed({
    frozen: v.optional(v.boolean()),
    /** The moment to go to. */
    set: v.optional(momentSchema),
    /** How far to go. */
    advance: v.optional(durationSchema),
  }),
  v.check(({ set, advance }) => set === undefined || advance === undefined, 'must have set or advance, not both'),
);

/** The moment that a change leads to. @throws Problem 422 for one in the past, or too far off. */
function targetOf({ set, advance }: v.InferOutput<typeof changeSchema>, now: number): number {
  const path = set === undefined ? 'advance' : 'set';
  const target = set ?? now + (advance ?? 0);
  if (target < now) throw invalidInput([{ path, message: `must not be before ${new Date(now).toISOString()}` }]);
  if (target - now > MAX_STEP_MS) throw invalidInput([{ path, message: 'must be within ten years' }]);
  return target;
}

function shownClock(service: Service) {
  return { now: timestamp(service), frozen: service.timeline.frozen };
}

/**
 * The service's clock. A PATCH freezes it (`frozen`), lets it run on (`"frozen": false`), and moves it on to a moment
 * (`set`) or by a duration (`advance`); the answer comes when everything that was due on the way has happened. It never
 * goes back, except to the machine's clock when the service is reset.
 */
export function clockAdmin(service: Service): AdminRoute[] {
  return [
    { method: 'GET', path: '/clock', handle: (c) => c.json(shownClock(service)) },
    {
      method: 'PATCH',
      path: '/clock',
      handle: async (c) => {
        const change = await readBody(c, changeSchema);
        const isMove = change.set !== undefined || change.advance !== undefined;
        const target = isMove ? (now: number) => targetOf(change, now) : undefined;
        await service.timeline.change({ frozen: change.frozen, target });
        return c.json(shownClock(service));
      },
    },
  ];
}
