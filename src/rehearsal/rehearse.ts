import pLimit from 'p-limit';
import { EXIT, PartialFailure, PartnerctlError } from '../errors.ts';
import { type FaultPlan, faultPlanSchema } from '../sandbox/faults.ts';
import { checkOption } from '../sandbox/input.ts';
import { describeFailure, findDuplicates, findMissing, type Problem, STEPS_QUERY } from './check.ts';
import { type Kill, openStage, type Stage, type StageDeps } from './stage.ts';

/** How many seeds are rehearsed at a time. */
const CONCURRENCY = 4;
/** How often a run is repeated until it succeeds. */
const MAX_REPEATS = 5;

const RATE = 0.02;
/** Late requests are carried out within a lease: those beyond it are the stated limit of `--assume-not-created`. */
const SEEDED_FAULTS = [
  { kind: 'status', status: 503, rate: RATE },
  { kind: 'status', status: 503, stage: 'after', rate: RATE },
  { kind: 'status', status: 429, retry_after: 0.1, rate: RATE },
  { kind: 'reset', rate: RATE },
  { kind: 'reset', stage: 'after', rate: RATE },
  { kind: 'cut', rate: RATE },
  { kind: 'late', ms: 5_000, rate: RATE },
  { kind: 'dribble', ms: 1, bytes: 100, rate: RATE },
  { kind: 'spend', usd: 1_000_000, rate: RATE, times: 1 },
];

/** A service shows its lists in one order. */
function seededFaults(seed: number) {
  return seed % 2 === 0 ? [...SEEDED_FAULTS, { kind: 'newest_first' }] : SEEDED_FAULTS;
}

export interface RehearsalDeps extends StageDeps {
  /** How many. They are numbered from 1. */
  readonly seeds: number;
  /** The files and variables, as arguments. */
  readonly inputs: readonly string[];
  /** Options of each run of provision. */
  readonly runOptions: readonly string[];
  /** They come before the seeded faults. */
  readonly faults: FaultPlan['rules'];
  /** Whether the state is deleted after the run that is killed. */
  readonly loseState: boolean;
}

export interface SeedResult {
  readonly seed: number;
  /** How often provision ran. */
  readonly runs: number;
  /** The number of the request at which the first run was killed; null if it ended before. */
  readonly killed_at: number | null;
  /** Whether the sandbox had handled that request. */
  readonly killed: Kill['when'] | null;
  readonly problems: readonly Problem[];
}

export interface Rehearsal {
  readonly seeds: readonly SeedResult[];
  /** How many requests a run without faults sends. */
  readonly requests: number;
  /** Why seeds are missing. */
  readonly interruption: PartnerctlError | undefined;
}

/** Where the run of a seed is killed: spread over the run, and at each point if there are enough seeds. */
export function killPoint(seed: number, seeds: number, requests: number): Kill {
  const points = 2 * requests;
  const point = Math.floor(((seed - 1) * Math.max(points, seeds)) / seeds) % points;
  return { at: (point % requests) + 1, when: point < requests ? 'before' : 'after' };
}

async function checkStage(stage: Stage, { inputs, mirror }: RehearsalDeps): Promise<Problem[]> {
  await stage.endFaults();
  const planned = await stage.run(['plan', '--detailed-exitcode', '-o', 'tsv', '--query', STEPS_QUERY, ...inputs]);
  const duplicates = findDuplicates(stage.service.store, mirror);
  if (planned.exitCode === EXIT.changesPending) return [...findMissing(planned.stdout), ...duplicates];
  if (planned.exitCode === EXIT.ok || planned.exitCode === EXIT.differences) return duplicates;
  return [{ kind: 'failed', message: describeFailure('plan', planned) }, ...duplicates];
}

/** @param requests of a run without faults */
async function rehearseSeed(deps: RehearsalDeps, seed: number, requests: number): Promise<SeedResult> {
  const { faults, inputs, loseState, runOptions, seeds, signal } = deps;
  signal.throwIfAborted();
  const plan = checkOption('fault plan', faultPlanSchema, { rules: [...faults, ...seededFaults(seed)], seed });
  const stage = await openStage(deps, `seed-${seed}`, plan);
  try {
    // One document at a time, so that a seed does the same again.
    const provision = ['provision', '--concurrency', '1', ...runOptions, ...inputs];
    const kill = killPoint(seed, seeds, requests);
    let ended = await stage.run(provision, kill);
    const { at: killed_at = null, when: killed = null } = ended.exitCode === null ? kill : {};
    if (loseState) await stage.loseState();
    let runs = 1;
    while (ended.exitCode !== EXIT.ok && runs <= MAX_REPEATS) {
      await stage.reconcile();
      ended = await stage.run(provision);
      runs += 1;
    }
    const failure = { kind: 'failed', message: describeFailure('provision', ended) } as const;
    const problems = [...(ended.exitCode === EXIT.ok ? [] : [failure]), ...(await checkStage(stage, deps))];
    return { seed, runs, killed_at, killed, problems };
  } finally {
    await stage.close();
  }
}

/** Counts the requests of a run without faults and a rate limit. */
async function countRequests(deps: RehearsalDeps): Promise<number> {
  const unlimited = { ...deps, settings: { ...deps.settings, rate_limit: null } };
  const stage = await openStage(unlimited, 'clean', { rules: [] });
  try {
    const ended = await stage.run(['provision', ...deps.runOptions, ...deps.inputs]);
    if (ended.exitCode !== EXIT.ok) {
      throw new PartialFailure('Provisioning fails even without faults.', { why: describeFailure('provision', ended) });
    }
    return stage.requests.length;
  } finally {
    await stage.close();
  }
}

/**
 * Rehearses a roll-out once for each seed: under faults, with a kill at one request, and repeated until it succeeds.
 * @param onSeed called after each seed, with their number so far
 * An interruption ends it with the seeds that have ended.
 * @throws PartialFailure if provision fails even without faults; the signal's reason before the first seed
 */
export async function rehearse(deps: RehearsalDeps, onSeed: (done: number) => void): Promise<Rehearsal> {
  const requests = await countRequests(deps);
  const limit = pLimit(CONCURRENCY);
  let done = 0;
  const running = Array.from({ length: deps.seeds }, (_, index) =>
    limit(async () => {
      const result = await rehearseSeed(deps, index + 1, requests);
      done += 1;
      onSeed(done);
      return result;
    }),
  );
  // The directory is removed next: no run may be left.
  const settled = await Promise.allSettled(running);
  const { aborted, reason } = deps.signal;
  const interruption = aborted && reason instanceof PartnerctlError ? reason : undefined;
  const seeds = interruption
    ? settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    : await Promise.all(running);
  return { seeds, requests, interruption };
}
