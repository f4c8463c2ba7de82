import { hash } from 'node:crypto';
import * as v from 'valibot';
import { integer } from './input.ts';
import { ROUTES } from './routes.ts';

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
  return Object.values(ROUTES).some(({ method, path }) => namesOf(method, path).includes(on));
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
  ruleSchema('reset', { stage }),
  ruleSchema('cut', {}),
  ruleSchema('stall', { stage }),
  ruleSchema('delay', { stage, ms: milliseconds }),
  ruleSchema('late', { status: v.optional(errorStatus, 504), ms: milliseconds }),
  ruleSchema('html', { stage, status: v.optional(errorStatus, 502) }),
  ruleSchema('garbage', { stage }),
  ruleSchema('dribble', { ms: milliseconds, bytes: v.optional(integer(1, 0xffff_ffff), 16) }),
  ruleSchema('spend', { usd: v.pipe(v.number(), v.minValue(0)) }),
  ruleSchema('stale', { ms: milliseconds }),
  ruleSchema('gaps', { ms: milliseconds }),
  ruleSchema('in_progress', { ms: milliseconds }),
  ruleSchema('newest_first', {}),
]);

/** The faults to inject, and the seed of their probabilities. */
export const faultPlanSchema = v.strictObject({
  rules: v.array(faultSchema),
  /** Makes a run repeatable; random by default. */
  seed: v.optional(integer(0, 0xffff_ffff)),
});

export type FaultPlan = v.InferOutput<typeof faultPlanSchema>;

type Rule = v.InferOutput<typeof faultSchema>;

const VIEWS = ['stale', 'gaps', 'in_progress', 'newest_first'] as const;

/** Changes what a read shows. All that apply to a request are used. */
export type View = Extract<Rule, { kind: (typeof VIEWS)[number] }>;

/** Changes what becomes of a request. The first that applies is used. */
export type Fault = Exclude<Rule, View>;

function isView(rule: Rule): rule is View {
  return VIEWS.some((kind) => kind === rule.kind);
}

/** Whether a rule is for a request. Only reads have views. */
function isFor(rule: Rule, method: string, path: string): boolean {
  if (isView(rule) && method !== 'GET') return false;
  return rule.on === undefined || namesOf(method, path).includes(rule.on);
}

function seededRandom(seed: number): () => number {
  let drawn = 0;
  return () => hash('sha256', `${seed} ${drawn++}`, 'buffer').readUInt32BE() / 0x1_0000_0000;
}

/** Chooses the faults of each request. The same plan, with its seed, and the same requests give the same faults. */
export function createInjector({ rules, seed: given }: FaultPlan) {
  const seed = given ?? Math.floor(Math.random() * 0x1_0000_0000);
  const random = seededRandom(seed);
  const counted = rules.map((rule) => ({ rule, seen: 0, injected: 0 }));
  return {
    plan: { rules, seed },
    /** Returns the views of a request, and its fault, if any. Only the rule of that one and those before it count it. */
    next(method: string, path: string): { readonly views: readonly View[]; readonly fault: Fault | undefined } {
      const views: View[] = [];
      let fault: Fault | undefined;
      for (const each of counted) {
        const { rule } = each;
        const { skip, times = Number.POSITIVE_INFINITY, rate } = rule;
        if (!isFor(rule, method, path) || (fault && !isView(rule))) continue;
        each.seen += 1;
        if (each.seen <= skip || each.injected >= times || random() >= rate) continue;
        each.injected += 1;
        if (isView(rule)) views.push(rule);
        else fault = rule;
      }
      return { views, fault };
    },
  };
}
