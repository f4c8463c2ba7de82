import { hash } from 'node:crypto';
import * as v from 'valibot';
import { integer } from './input.ts';
import { OPERATIONS } from './service.ts';

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const milliseconds = integer(0, 600_000);

/** Whether the fault replaces the processing of the request (`before`) or only its response (`after`). */
const stage = v.optional(v.picklist(['before', 'after']), 'before');

const errorStatus = integer(400, 599);

/** What a rule's `on` can be for a request. */
function namesOf(method: string, path: string): string[] {
  return [method, path, `${method} ${path}`];
}

function isKnown(on: string): boolean {
  return OPERATIONS.some(({ method, path }) => namesOf(method, path).includes(on));
}

function ruleSchema<Kind extends string, Entries extends v.ObjectEntries>(kind: Kind, entries: Entries) {
  return v.strictObject({
    kind: v.literal(kind),
    /** Which requests: a method, the path of an operation, or both as in `GET /automation/spaces/`. */
    on: v.optional(v.pipe(v.string(), v.check(isKnown, 'must be a method, the path of an operation, or both'))),
    rate: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
    times: v.optional(count),
    skip: v.optional(count, 0),
    ...entries,
  });
}

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
  seed: v.optional(integer(0, 0xffff_ffff)),
});

export type FaultPlan = v.InferOutput<typeof faultPlanSchema>;

export type Fault = v.InferOutput<typeof faultSchema>;

function seededRandom(seed: number): () => number {
  let drawn = 0;
  return () => hash('sha256', `${seed} ${drawn++}`, 'buffer').readUInt32BE() / 0x1_0000_0000;
}

/** Chooses the fault of each request. The same plan, with its seed, and the same requests give the same faults. */
export function createInjector({ rules, seed: given }: FaultPlan) {
  const seed = given ?? Math.floor(Math.random() * 0x1_0000_0000);
  const random = seededRandom(seed);
  const counted = rules.map((fault) => ({ fault, seen: 0, injected: 0 }));
  return {
    plan: { rules, seed },
    /** Returns the fault of the first rule that applies. Only that rule and those before it count the request. */
    next(method: string, path: string): Fault | undefined {
      for (const rule of counted) {
        const { kind, on, skip, times = Number.POSITIVE_INFINITY, rate } = rule.fault;
        if (on !== undefined && !namesOf(method, path).includes(on)) continue;
        if (kind === 'stale' && method !== 'GET') continue;
        rule.seen += 1;
        if (rule.seen <= skip || rule.injected >= times || random() >= rate) continue;
        rule.injected += 1;
        return rule.fault;
      }
      return undefined;
    },
  };
}
