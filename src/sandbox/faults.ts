import * as v from 'valibot';
import { parseOrThrow } from './validation.ts';

const stage = v.optional(v.picklist(['before', 'after']), 'before');

const common = {
  /**
   * Which requests: `METHOD path`; either part is optional. The path is below the base URL, with or without `/v1`. It
   * matches as a prefix, `*` and `:name` match any one segment, and a final `$` makes it match the whole path.
   */
  on: v.optional(v.pipe(v.string(), v.regex(/^([A-Z]+|\*)?( ?\/\S*)?$/, 'must be "METHOD /path"'))),
  /** The probability that a matching request fails, from 0 to 1. */
  rate: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
  /** The maximum number of requests that fail. */
  times: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  /** The number of matching requests to let through first. */
  skip: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
};

/** The endpoint that the quirks change. */
export const HISTORY_PATH = '/integrations/api-chat/history/';

/** Ten minutes at most. */
const milliseconds = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(600_000));

const failingStatus = v.picklist(
  [400, 401, 402, 403, 404, 408, 409, 410, 413, 415, 422, 425, 429, 500, 501, 502, 503, 504],
  'must be an HTTP error status from 400 to 504',
);

/** `stage`: whether the fault replaces the processing of the request (`before`) or only its response (`after`). */
const faultRuleSchema = v.variant('kind', [
  /** An error status; `retry_after` in seconds, or as the header's text. */
  v.strictObject({
    kind: v.literal('status'),
    ...common,
    stage,
    status: failingStatus,
    retry_after: v.optional(v.union([v.pipe(v.number(), v.minValue(0)), v.string()])),
  }),
  /** A connection reset; with `at_bytes` once that many bytes of the body were received, or all of a shorter one. */
  v.pipe(
    v.strictObject({
      kind: v.literal('reset'),
      ...common,
      stage,
      at_bytes: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
    }),
    v.forward(
      v.check(
        ({ stage: stageName, at_bytes }) => stageName === 'before' || at_bytes === undefined,
        'needs stage "before": leave stage out',
      ),
      ['at_bytes'],
    ),
  ),
  /** The true response, cut off in the middle of its body. */
  v.strictObject({ kind: v.literal('cut'), ...common }),
  /** No response, or only its headers, for as long as the client waits. */
  v.strictObject({
    kind: v.literal('stall'),
    ...common,
    stage,
    send: v.optional(v.picklist(['nothing', 'headers']), 'nothing'),
  }),
  /** The true response, `ms` milliseconds late. */
  v.strictObject({ kind: v.literal('delay'), ...common, stage, ms: milliseconds }),
  /** An error status once the request was received; the request is processed `ms` milliseconds later. */
  v.strictObject({
    kind: v.literal('late'),
    ...common,
    status: v.optional(failingStatus, 504),
    ms: milliseconds,
  }),
  /** A proxy's error page. */
  v.strictObject({ kind: v.literal('html'), ...common, stage, status: v.optional(failingStatus, 502) }),
  /** 200 with a body that is not JSON. */
  v.strictObject({ kind: v.literal('garbage'), ...common, stage }),
  /** A quirk of the history: the page repeats the last `messages` messages before the cursor. */
  v.strictObject({
    kind: v.literal('repeat'),
    ...common,
    messages: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)), 2),
  }),
  /** A quirk of the history: neighbors on the page are swapped. */
  v.strictObject({ kind: v.literal('reorder'), ...common }),
  /** A quirk of the history: the page is half full, although there are more messages. */
  v.strictObject({ kind: v.literal('short_page'), ...common }),
  /** A quirk of every list and of the history: items younger than `ms` milliseconds are missing. */
  v.strictObject({ kind: v.literal('stale'), ...common, ms: milliseconds }),
]);

/** The faults to inject, and the seed of their probabilities. */
export const faultPlanSchema = v.strictObject({
  rules: v.array(faultRuleSchema),
  /** Makes a run repeatable; random by default. */
  seed: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffff_ffff))),
});

/** A fault plan as a caller writes it: fields with defaults are optional. */
export type FaultPlan = v.InferInput<typeof faultPlanSchema>;

/** @throws Error that names every wrong field */
export function parseFaultPlan(value: unknown): FaultPlan {
  return parseOrThrow('fault plan', faultPlanSchema, value);
}

/** One fault to inject. */
export type Fault = v.InferOutput<typeof faultRuleSchema>;

const HISTORY_QUIRKS = ['repeat', 'reorder', 'short_page'] as const;

/** A fault in the content of a list; the response itself is sent as usual. */
export type Quirk = Extract<Fault, { kind: (typeof HISTORY_QUIRKS)[number] | 'stale' }>;

function isHistoryQuirk({ kind }: Fault): boolean {
  return HISTORY_QUIRKS.some((quirk) => quirk === kind);
}

/** Whether a fault changes the content of a list. */
export function isQuirk(fault: Fault): fault is Quirk {
  return fault.kind === 'stale' || isHistoryQuirk(fault);
}

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

type RequestMatcher = (method: string, path: string) => boolean;

/** Creates the matcher for a rule's `on`. */
export function createRequestMatcher(on: string | undefined): RequestMatcher {
  const [, wantedMethod, rest = ''] = /^([A-Z]+|\*)? ?(.*)$/.exec(on ?? '') ?? [];
  const fullPath = rest === '' || /^\/v1(\/|\$|$)/.test(rest) ? rest : `/v1${rest}`;
  const pattern = fullPath
    .replace(/[.+?^(){}|[\]\\]/g, '\\$&')
    .split('/')
    .map((segment) => segment.replace(/^(?:\*|:\w+)(?=\$?$)/, '[^/]+'))
    .join('/');
  const path = new RegExp(`^${pattern}`);
  return (method, requestPath) =>
    (wantedMethod === undefined || wantedMethod === '*' || wantedMethod === method) && path.test(requestPath);
}

/** A quirk applies only to reads, and most quirks only to reads of the history, even if its `on` matches others. */
function createFaultMatcher(fault: Fault): RequestMatcher {
  const matches = createRequestMatcher(fault.on);
  if (!isQuirk(fault)) return matches;
  return (method, path) =>
    method === 'GET' && (!isHistoryQuirk(fault) || path === `/v1${HISTORY_PATH}`) && matches(method, path);
}

/** A route of the service: `{ method: 'GET', path: '/v1/automation/spaces/:space_id/agents/' }`. */
export interface Route {
  readonly method: string;
  readonly path: string;
}

/** Fills the parameters of a route with the segments of a rule's path. */
function samplePath(path: string, on: string | undefined): string {
  const [, rulePath = ''] = /(\/.*?)\$?$/.exec(on ?? '') ?? [];
  const ruleSegments = (rulePath.startsWith('/v1') ? rulePath : `/v1${rulePath}`).split('/');
  const segments = path.split('/').map((segment, index) => {
    if (!segment.startsWith(':')) return segment;
    const value = ruleSegments[index] ?? '';
    return value === '' || /^[*:]/.test(value) ? 'x' : value;
  });
  return segments.join('/');
}

/**
 * Returns a warning for each rule that matches no request.
 * @param routes of the service
 */
export function describeUnmatched(rules: readonly Fault[], routes: readonly Route[]): string[] {
  return rules.flatMap((rule, index) => {
    const matches = createFaultMatcher(rule);
    if (routes.some(({ method, path }) => matches(method, samplePath(path, rule.on)))) return [];
    const on = rule.on === undefined ? '' : `, on ${JSON.stringify(rule.on)},`;
    return [`Fault rule ${index + 1} (${rule.kind})${on} matches no request of the service, so it never happens.`];
  });
}

/** Chooses the fault of each request. The same plan and the same requests give the same faults. */
export class FaultInjector {
  /** The plan with its seed, so that a run can be repeated. */
  readonly plan: { readonly rules: readonly Fault[]; readonly seed: number };
  readonly #random: () => number;
  readonly #rules: { fault: Fault; matches: RequestMatcher; seen: number; injected: number }[];

  /** @param random from 0 up to 1, creates the seed of a plan without one */
  constructor(plan: v.InferOutput<typeof faultPlanSchema>, random: () => number) {
    const seed = plan.seed ?? Math.floor(random() * 0x1_0000_0000);
    this.plan = { rules: plan.rules, seed };
    this.#random = seededRandom(seed);
    this.#rules = plan.rules.map((fault) => ({ fault, matches: createFaultMatcher(fault), seen: 0, injected: 0 }));
  }

  /** Returns the fault of the first rule that applies. Only that rule and those before it count the request. */
  next(method: string, path: string): Fault | undefined {
    for (const rule of this.#rules) {
      if (!rule.matches(method, path)) continue;
      rule.seen += 1;
      if (rule.seen <= rule.fault.skip || rule.injected >= (rule.fault.times ?? Number.POSITIVE_INFINITY)) continue;
      if (this.#random() >= rule.fault.rate) continue;
      rule.injected += 1;
      return rule.fault;
    }
    return undefined;
  }
}
