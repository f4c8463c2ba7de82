import * as v from 'valibot';
import { checkOption } from './input.ts';
import { OPERATIONS } from './operations.ts';

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** Ten minutes at most. */
const milliseconds = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(600_000));

/** Whether the fault replaces the processing of the request (`before`) or only its response (`after`). */
const stage = v.optional(v.picklist(['before', 'after']), 'before');

const errorStatus = v.pipe(v.number(), v.integer(), v.minValue(400), v.maxValue(599));

/** A request: its method, and the path of the operation that it is for. */
interface Route {
  readonly method: string;
  readonly path: string;
}

/** What a rule's `on` can be for a request. */
function namesOf({ method, path }: Route): string[] {
  return [method, path, `${method} ${path}`];
}

const NAMES = new Set(OPERATIONS.flatMap(namesOf));

function ruleSchema<Kind extends string, Entries extends v.ObjectEntries>(kind: Kind, entries: Entries) {
  return v.strictObject({
    kind: v.literal(kind),
    /** Which requests: a method, the path of an operation, or both as in `GET /automation/spaces/`. */
    on: v.optional(
      v.pipe(
        v.string(),
        v.check((on) => NAMES.has(on), 'must be a method, the path of an operation, or both'),
      ),
    ),
    rate: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
    times: v.optional(count),
    skip: v.optional(count, 0),
    ...entries,
  });
}

/** What each kind does: see the help topic on faults. */
const faultSchema = v.variant('kind', [
  ruleSchema('status', { stage, status: errorStatus, retry_after: v.optional(v.union([v.number(), v.string()])) }),
  ruleSchema('reset', { stage, at_bytes: v.optional(count) }),
  ruleSchema('cut', {}),
  ruleSchema('stall', { stage }),
  ruleSchema('delay', { stage, ms: milliseconds }),
  ruleSchema('late', { status: v.optional(errorStatus, 504), ms: milliseconds }),
  ruleSchema('html', { stage, status: v.optional(errorStatus, 502) }),
  ruleSchema('garbage', { stage }),
  ruleSchema('stale', { ms: milliseconds }),
]);

/** The faults to inject, and the seed of their probabilities. */
export const faultPlanSchema = v.strictObject({
  rules: v.array(faultSchema),
  /** Makes a run repeatable; random by default. */
  seed: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffff_ffff))),
});

/** A fault plan as a caller writes it: fields with defaults are optional. */
export type FaultPlan = v.InferInput<typeof faultPlanSchema>;

/** @throws Error that names every wrong field */
export function parseFaultPlan(value: unknown): FaultPlan {
  return checkOption('fault plan', faultPlanSchema, value);
}

/** One fault to inject. */
export type Fault = v.InferOutput<typeof faultSchema>;

/** The mulberry32 generator: numbers from 0 up to 1 from a 32-bit seed. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** Chooses the fault of each request. The same plan and the same requests give the same faults. */
export interface FaultInjector {
  /** The plan with its seed, so that a run can be repeated. */
  readonly plan: { readonly rules: readonly Fault[]; readonly seed: number };
  /** Returns the fault of the first rule that applies. Only that rule and those before it count the request. */
  next(request: Route): Fault | undefined;
}

/** A plan without a seed gets a random one. */
export function createInjector(plan: v.InferOutput<typeof faultPlanSchema>): FaultInjector {
  const seed = plan.seed ?? Math.floor(Math.random() * 0x1_0000_0000);
  const next = seededRandom(seed);
  const counted = plan.rules.map((fault) => ({ fault, seen: 0, injected: 0 }));
  return {
    plan: { rules: plan.rules, seed },
    next(request) {
      for (const rule of counted) {
        const { kind, on, skip, times = Number.POSITIVE_INFINITY, rate } = rule.fault;
        if (on !== undefined && !namesOf(request).includes(on)) continue;
        if (kind === 'stale' && request.method !== 'GET') continue;
        rule.seen += 1;
        if (rule.seen <= skip || rule.injected >= times || next() >= rate) continue;
        rule.injected += 1;
        return rule.fault;
      }
      return undefined;
    },
  };
}
