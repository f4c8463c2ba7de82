import * as v from 'valibot';
import { checkOption } from './input.ts';

/** The endpoint that most quirks change. */
export const HISTORY_PATH = '/integrations/api-chat/history/';

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** Ten minutes at most. */
const milliseconds = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(600_000));

/** Whether the fault replaces the processing of the request (`before`) or only its response (`after`). */
const stage = v.optional(v.picklist(['before', 'after']), 'before');

const errorStatus = v.picklist(
  [400, 401, 402, 403, 404, 408, 409, 410, 413, 415, 422, 425, 429, 500, 501, 502, 503, 504],
  'must be an HTTP error status from 400 to 504',
);

function ruleSchema<Kind extends string, Entries extends v.ObjectEntries>(kind: Kind, entries: Entries) {
  return v.strictObject({
    kind: v.literal(kind),
    /**
     * Which requests: `METHOD path`; either part is optional. The path is below the base URL, with or without `/v1`. It
     * matches as a prefix, `*` and `:name` match any one segment, and a final `$` makes it match the whole path.
     */
    on: v.optional(v.pipe(v.string(), v.regex(/^([A-Z]+|\*)?( ?\/\S*)?$/, 'must be "METHOD /path"'))),
    /** The probability that a matching request fails, from 0 to 1. */
    rate: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 1),
    /** The maximum number of requests that fail. */
    times: v.optional(count),
    /** The number of matching requests to let through first. */
    skip: v.optional(count, 0),
    ...entries,
  });
}

const faultSchema = v.variant('kind', [
  /** An error status; `retry_after` in seconds, or as the header's text. */
  ruleSchema('status', { stage, status: errorStatus, retry_after: v.optional(v.union([v.number(), v.string()])) }),
  /** A connection reset; with `at_bytes` once that many bytes of the body were received, or all of a shorter one. */
  v.pipe(
    ruleSchema('reset', { stage, at_bytes: v.optional(count) }),
    v.forward(
      v.check(
        (rule) => rule.stage === 'before' || rule.at_bytes === undefined,
        'needs stage "before": leave stage out',
      ),
      ['at_bytes'],
    ),
  ),
  /** The true response, cut off in the middle of its body. */
  ruleSchema('cut', {}),
  /** No response, or only its headers, for as long as the client waits. */
  ruleSchema('stall', { stage, send: v.optional(v.picklist(['nothing', 'headers']), 'nothing') }),
  /** The true response, `ms` milliseconds late. */
  ruleSchema('delay', { stage, ms: milliseconds }),
  /** An error status once the request was received; the request is processed `ms` milliseconds later. */
  ruleSchema('late', { status: v.optional(errorStatus, 504), ms: milliseconds }),
  /** A proxy's error page. */
  ruleSchema('html', { stage, status: v.optional(errorStatus, 502) }),
  /** 200 with a body that is not JSON. */
  ruleSchema('garbage', { stage }),
  /** A quirk of the history: the page repeats the last `messages` messages before the cursor. */
  ruleSchema('repeat', { messages: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 2) }),
  /** A quirk of the history: neighbors on the page are swapped. */
  ruleSchema('reorder', {}),
  /** A quirk of the history: the page is half full, although there are more messages. */
  ruleSchema('short_page', {}),
  /** A quirk of every list and of the history: items younger than `ms` milliseconds are missing. */
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

const QUIRKS = ['repeat', 'reorder', 'short_page', 'stale'] as const;

/** A fault in the content of a list; the response itself is sent as usual. */
export type Quirk = Extract<Fault, { kind: (typeof QUIRKS)[number] }>;

export function isQuirk(fault: Fault): fault is Quirk {
  return QUIRKS.some((kind) => kind === fault.kind);
}

/** A request, or a route of the service, whose path has parameters such as `:space_id`. */
export interface Route {
  readonly method: string;
  readonly path: string;
}

/** The routes of the operations of the partner API. */
export function routesOf(operations: readonly Route[]): Route[] {
  return operations.map(({ method, path }) => ({ method, path: `/v1${path}` }));
}

/** Whether the `on` of a rule names a request, or may name one of a route. */
function matchesOn(on: string, { method, path }: Route): boolean {
  const [, verb = '*', pattern = ''] = /^([A-Z]+|\*)? ?(.*)$/.exec(on) ?? [];
  if (verb !== '*' && verb !== method) return false;
  const isWhole = pattern.endsWith('$');
  const wanted = pattern
    .replace(/^\/v1(?=\/|\$|$)/, '')
    .replace(/\$$/, '')
    .split('/');
  const given = path.replace(/^\/v1/, '').split('/');
  if (isWhole && wanted.length !== given.length) return false;
  return wanted.every((segment, index) => {
    const value = given[index];
    const isLast = index === wanted.length - 1;
    if (segment === '*' || segment.startsWith(':') || value?.startsWith(':')) return Boolean(value);
    return isLast && !isWhole ? value?.startsWith(segment) : value === segment;
  });
}

/** A quirk applies only to reads, and most quirks only to reads of the history, even if its `on` matches others. */
function matches(fault: Fault, route: Route): boolean {
  if (isQuirk(fault) && route.method !== 'GET') return false;
  if (isQuirk(fault) && fault.kind !== 'stale' && route.path !== `/v1${HISTORY_PATH}`) return false;
  return matchesOn(fault.on ?? '', route);
}

/** A warning for each rule that matches no request. @param routes of the service */
export function describeUnmatched(rules: readonly Fault[], routes: readonly Route[]): string[] {
  return rules.flatMap((rule, index) => {
    if (routes.some((route) => matches(rule, route))) return [];
    const on = rule.on === undefined ? '' : `, on ${JSON.stringify(rule.on)},`;
    return [`Fault rule ${index + 1} (${rule.kind})${on} matches no request of the service, so it never happens.`];
  });
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
        const { skip, times = Number.POSITIVE_INFINITY, rate } = rule.fault;
        if (!matches(rule.fault, request)) continue;
        rule.seen += 1;
        if (rule.seen <= skip || rule.injected >= times || next() >= rate) continue;
        rule.injected += 1;
        return rule.fault;
      }
      return undefined;
    },
  };
}
