import * as v from 'valibot';
import { check } from './shapes.ts';

const stage = v.optional(v.picklist(['before', 'after']), 'before');

const common = {
  /**
   * Which requests: `METHOD path`, either part may be left out. A path is one below the base address, with or without
   * `/v1`; it matches from its start, `*` and `:name` stand for any one segment, and a final `$` ends it.
   */
  on: v.optional(v.pipe(v.string(), v.regex(/^([A-Z]+|\*)?( ?\/\S*)?$/, 'must be "METHOD /path"'))),
  /** The share of matching requests that fail. */
  rate: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
  /** At most so many requests fail. */
  times: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  /** The first so many matching requests are let through. */
  skip: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
};

/** The endpoint whose answers the quirks are in. */
export const HISTORY_PATH = '/integrations/api-chat/history/';

const failingStatus = v.picklist(
  [400, 401, 402, 403, 404, 408, 409, 410, 413, 415, 422, 425, 429, 500, 501, 502, 503, 504],
  'must be a status from 400 to 504 that HTTP names',
);

/** `stage` says whether the request is processed before the fault shows (`after`) or never (`before`). */
const faultRuleSchema = v.variant('kind', [
  /** Another status than the true one; `retry_after` in seconds, or as the header's text. */
  v.strictObject({
    kind: v.literal('status'),
    ...common,
    stage,
    status: failingStatus,
    retry_after: v.optional(v.union([v.pipe(v.number(), v.minValue(0)), v.string()])),
  }),
  /** The connection is reset; with `at_bytes` once so many bytes of the body were received, or all of a shorter one. */
  v.pipe(
    v.strictObject({
      kind: v.literal('reset'),
      ...common,
      stage,
      at_bytes: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
    }),
    v.forward(
      v.check(
        ({ stage: when, at_bytes }) => when === 'before' || at_bytes === undefined,
        'is for a request that is not processed: leave stage out',
      ),
      ['at_bytes'],
    ),
  ),
  /** The true answer, cut in the middle of its body. */
  v.strictObject({ kind: v.literal('cut'), ...common }),
  /** No answer, or no more than its headers, for as long as the client waits. */
  v.strictObject({
    kind: v.literal('stall'),
    ...common,
    stage,
    send: v.optional(v.picklist(['nothing', 'headers']), 'nothing'),
  }),
  /** The true answer, `ms` milliseconds later. */
  v.strictObject({
    kind: v.literal('delay'),
    ...common,
    stage,
    ms: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(600_000)),
  }),
  /** A proxy's error page. */
  v.strictObject({ kind: v.literal('html'), ...common, stage, status: v.optional(failingStatus, 502) }),
  /** 200 with a body that is not JSON. */
  v.strictObject({ kind: v.literal('garbage'), ...common, stage }),
  /** A quirk of the history: the page begins with the last `messages` messages before the cursor. */
  v.strictObject({
    kind: v.literal('repeat'),
    ...common,
    messages: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)), 2),
  }),
  /** A quirk of the history: neighbours on the page have changed places. */
  v.strictObject({ kind: v.literal('reorder'), ...common }),
  /** A quirk of the history: half of the messages that the page could hold; the rest is on the next page. */
  v.strictObject({ kind: v.literal('short_page'), ...common }),
]);

export const faultPlanSchema = v.strictObject({
  rules: v.array(faultRuleSchema),
  /** Makes a run repeatable; drawn when it is left out. */
  seed: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffff_ffff))),
});

/**
 * A fault plan out of parsed JSON.
 * @throws Error that names what is wrong with it
 */
export function parseFaultPlan(value: unknown): FaultPlan {
  const result = check(faultPlanSchema, value);
  if (result.ok) return result.value;
  throw new Error(result.fields.map(({ path, message }) => `${path} ${message}`.trim()).join('; '));
}

/** What a caller writes: defaults may be left out. */
export type FaultPlan = v.InferInput<typeof faultPlanSchema>;

/** One fault to carry out. */
export type Fault = v.InferOutput<typeof faultRuleSchema>;

/** A fault that the history makes itself, in an answer that is sent as usual. */
export type Quirk = Extract<Fault, { kind: 'repeat' | 'reorder' | 'short_page' }>;

/** Whether a fault is in what the history says, not in how it is sent. */
export function isQuirk(fault: Fault): fault is Quirk {
  return fault.kind === 'repeat' || fault.kind === 'reorder' || fault.kind === 'short_page';
}

/** A plan with its defaults and its seed filled in. */
export interface SettledPlan {
  readonly rules: readonly Fault[];
  readonly seed: number;
}

/** Fills in a plan's seed. @param random from 0 up to 1. */
export function settle(plan: v.InferOutput<typeof faultPlanSchema>, random: () => number): SettledPlan {
  return { rules: plan.rules, seed: plan.seed ?? Math.floor(random() * 0x1_0000_0000) };
}

/** The mulberry32 generator: a 32-bit state, numbers from 0 up to 1. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** Makes the test that a rule's `on` stands for. */
export function requestTest(on: string | undefined): (method: string, path: string) => boolean {
  const [, wantedMethod, rest = ''] = /^([A-Z]+|\*)? ?(.*)$/.exec(on ?? '') ?? [];
  const rooted = rest === '' || /^\/v1(\/|\$|$)/.test(rest) ? rest : `/v1${rest}`;
  const pattern = rooted
    .replace(/[.+?^(){}|[\]\\]/g, '\\$&')
    .split('/')
    .map((segment) => segment.replace(/^(?:\*|:\w+)(?=\$?$)/, '[^/]+'))
    .join('/');
  const path = new RegExp(`^${pattern}`);
  return (method, requestPath) =>
    (wantedMethod === undefined || wantedMethod === '*' || wantedMethod === method) && path.test(requestPath);
}

/** A quirk is on reads of the history alone, whatever its `on` says besides. */
function strikesOn(fault: Fault): (method: string, path: string) => boolean {
  const named = requestTest(fault.on);
  if (!isQuirk(fault)) return named;
  return (method, path) => method === 'GET' && path === `/v1${HISTORY_PATH}` && named(method, path);
}

/** Decides, request by request, which fault shows. The same plan and the same requests give the same faults. */
export class FaultDice {
  readonly plan: SettledPlan;
  readonly #random: () => number;
  readonly #rules: { fault: Fault; matches: (method: string, path: string) => boolean; seen: number; shown: number }[];

  constructor(plan: SettledPlan) {
    this.plan = plan;
    this.#random = seededRandom(plan.seed);
    this.#rules = plan.rules.map((fault) => ({ fault, matches: strikesOn(fault), seen: 0, shown: 0 }));
  }

  /** Counts the request against every rule before the first one that strikes, and gives that one's fault. */
  roll(method: string, path: string): Fault | undefined {
    for (const rule of this.#rules) {
      if (!rule.matches(method, path)) continue;
      rule.seen += 1;
      if (rule.seen <= rule.fault.skip || rule.shown >= (rule.fault.times ?? Number.POSITIVE_INFINITY)) continue;
      if (this.#random() >= rule.fault.rate) continue;
      rule.shown += 1;
      return rule.fault;
    }
    return undefined;
  }
}
