import { join } from 'node:path';
import { command, STATE_EXITS } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { LocalError, StateUnavailableError } from '../../errors.ts';
import { type Column, objectResult } from '../../output/command-result.ts';
import type { OnceRecord } from '../../state-old/once-records.ts';
import type { Counterexample } from '../../state-old/prove/check.ts';
import type { CuttingProxy } from '../../state-old/prove/proxy.ts';
import type { ProofSnapshot } from '../../state-old/prove/records.ts';
import type { Trial } from '../../state-old/prove/trial.ts';
import type { WorkerTask } from '../../state-old/prove/worker.ts';

interface Input {
  readonly address: string;
  readonly keys: number;
  readonly processes: number;
  readonly seed: number | undefined;
}

interface Proof {
  readonly address: string;
  /** Whether no counterexample was found. */
  readonly proved: boolean;
  readonly keys: number;
  readonly processes: number;
  readonly killed: number;
  readonly connections_cut: number;
  readonly answers_held: number;
  /** The records that the store acknowledged. */
  readonly acknowledged: number;
  /** The records of this proof, which stay in the store. */
  readonly records: number;
  /** The keys whose owner survived. The owners of the others were killed. */
  readonly claimed: number;
  readonly seed: number;
  readonly run: string;
  readonly counterexample: Counterexample | null;
}

const COLUMNS: readonly Column<Proof>[] = [
  { header: 'STORE', value: ({ address }) => address },
  { header: 'KEYS', value: ({ keys, processes }) => `${keys}, each raced for by ${processes} processes` },
  { header: 'KILLED', value: ({ killed }) => `${killed} processes, and started again` },
  {
    header: 'CUT',
    value: ({ connections_cut: cut, answers_held: held }) => `${cut} connections; ${held} responses delayed`,
  },
  {
    header: 'CLAIMED',
    value: ({ claimed, keys }) => `${claimed} keys by one process; ${keys - claimed} by one that was killed`,
  },
  {
    header: 'RECORDS',
    value: ({ acknowledged, records }) => `${acknowledged} acknowledged; ${records} stay in the store`,
  },
  { header: 'SEED', value: ({ seed }) => seed },
  {
    header: 'RESULT',
    value: ({ proved }) => (proved ? 'no counterexample' : 'refused'),
    tone: ({ proved }) => (proved ? 'good' : 'bad'),
  },
];

const FAST = { killsPerProcess: 2, longestKillDelayMs: 20 };
/** For a store that publishes the records of many keys together, once a second. */
const SLOW = { killsPerProcess: 1, longestKillDelayMs: 1000 };

/** Runs one of the processes that a proof starts. */
async function runWorker(context: Context, address: string, task: WorkerTask): Promise<void> {
  const { raceForKeys } = await import('../../state-old/prove/worker.ts');
  const store = await context.stateStore(address, task);
  await raceForKeys(task, { store, clock: context.clock, io: context.io });
}

async function startProxy(context: Context, address: string, random: () => number): Promise<CuttingProxy | undefined> {
  const location = await context.stateLocation(address);
  if (location.kind !== 'postgres') return undefined;
  const { postgresTarget } = await import('../../state/postgres-address.ts');
  const { startCuttingProxy } = await import('../../state-old/prove/proxy.ts');
  const { connection } = postgresTarget(location.address, { password: undefined, ca: undefined });
  return await startCuttingProxy(connection, random);
}

/** Reads the records of the proof as another machine would. */
async function readRecords(context: Context, address: string, directory: string, run: string) {
  const { openLedger } = await import('../../state-old/ledger.ts');
  const { PROOF_RECORDS, proofText } = await import('../../state-old/prove/records.ts');
  const store = await context.stateStore(address, { directory, via: undefined });
  const log = store.open({ containing: [proofText(run)] });
  return await openLedger(log, PROOF_RECORDS, { onUnusable: async () => undefined }).readAll();
}

function throwIfUnavailable({ lives }: Trial): void {
  for (const event of lives.flatMap(({ events }) => events)) {
    if (event.kind !== 'failed' || !event.isUnavailable) continue;
    throw new StateUnavailableError('The store became unavailable during the test.', {
      why: event.message,
      hint: event.hint ?? 'Run the command again when the store can be read and written.',
    });
  }
}

interface Tried {
  readonly trial: Trial;
  readonly proxy: CuttingProxy | undefined;
  readonly log: readonly OnceRecord<ProofSnapshot>[];
}

async function tryStore(
  context: Context,
  { address, keys, processes }: Input,
  run: string,
  seed: number,
): Promise<Tried> {
  const { rm } = await import('node:fs/promises');
  const { makeTemporaryDirectory } = await import('../../config/temporary-file.ts');
  const { runTrial } = await import('../../state-old/prove/trial.ts');
  const { seededRandom } = await import('../../state-old/prove/seeded-random.ts');
  const { clock, env, abortSignal, progress } = context;
  const store = await context.stateStore(address);
  await store.check();
  const random = seededRandom(seed);
  const directory = await makeTemporaryDirectory('proof');
  const proxy = await startProxy(context, address, random);
  const all = keys * processes;
  let settled = 0;
  progress.start(`Racing for ${keys} keys…`);
  try {
    const trial = await runTrial({
      command: [...context.selfCommand, 'state', 'prove', '--', address],
      ...{ env, run, keys, processes, directory, random, clock, abortSignal },
      via: proxy && { host: '127.0.0.1', port: proxy.port },
      ...(store.reservationsAtOnce > 1 ? SLOW : FAST),
      onSettled() {
        settled += 1;
        progress.update(`Racing for ${keys} keys: ${Math.floor((100 * settled) / all)} %`);
      },
    });
    return { trial, proxy, log: await readRecords(context, address, join(directory, 'reader'), run) };
  } finally {
    proxy?.close();
    progress.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

function refusal({ message, key, processes, stored }: Counterexample, seed: number): LocalError {
  const lines = processes.map(({ process, start, appended, saw, claimed }) => {
    const own = appended.map(
      ({ id, record, acknowledged }) => `${record} ${id}${acknowledged ? '' : ' (no response)'}`,
    );
    return `process ${process}${start > 1 ? ` (start ${start})` : ''}: appended ${own.join(', ') || 'nothing'}; read ${saw.join(', ') || 'nothing'}${claimed ? '; claimed the key' : ''}`;
  });
  const inStore = stored.map(({ id, record }) => `${record} ${id}`).join(', ');
  return new LocalError('The store cannot keep the state: a counterexample was found.', {
    why: [message, ...(key === '' ? [] : [`${key}:`, ...lines, `in the store: ${inStore || 'nothing'}`])].join('\n'),
    hint: `Do not use this store for the state: jobs could be created twice. To try it again: --seed ${seed}`,
  });
}

async function prove(context: Context, input: Input) {
  const { findCounterexample } = await import('../../state-old/prove/check.ts');
  const { proofKey } = await import('../../state-old/prove/records.ts');
  const { randomRecordId } = await import('../../state-old/record.ts');
  const { address, keys, processes } = input;
  const seed = input.seed ?? Math.floor(context.random() * 1_000_000);
  const run = `proof-${randomRecordId()}`;
  const { trial, proxy, log } = await tryStore(context, input, run, seed);
  const { lives, killed, isComplete } = trial;
  const names = Array.from({ length: keys }, (_, number) => proofKey(run, number));
  const counterexample = findCounterexample({ lives, log, keys: names, isComplete }) ?? null;
  if (counterexample === null || counterexample.rule === 'failed') throwIfUnavailable(trial);
  const events = lives.flatMap((life) => life.events);
  const count = (kind: string): number => events.filter((event) => event.kind === kind).length;
  const proof: Proof = {
    address: (await context.stateLocation(address)).address,
    proved: counterexample === null,
    ...{ keys, processes, killed },
    connections_cut: proxy?.counts.cut ?? 0,
    answers_held: proxy?.counts.held ?? 0,
    acknowledged: count('acknowledged'),
    records: log.length,
    claimed: count('claimed'),
    ...{ seed, run, counterexample },
  };
  return { ...objectResult(proof, COLUMNS), ...(counterexample && { failure: refusal(counterexample, seed) }) };
}

export default command<Input>({
  description:
    'Tests a place for the state the way the guard against duplicates uses it: processes race for test keys, are killed, and are started again; connections to a database are cut, and its responses delayed. Rejects the place (exit code 1) with one counterexample if two processes own a key, a record is lost, or two readers see a different order. Takes up to a minute. Leaves about 3,200 records (1 MB) there permanently: to keep them apart from the real ones, name a separate file, ?table=, or #branch, in the same database or repository, that you can remove.',
  args: [{ usage: '<address>', description: 'a file, or the address of a database or a repository' }],
  flags: [
    { usage: '--keys <n>', description: 'how many keys to race for', default: '200' },
    { usage: '--processes <n>', description: 'how many processes race for each', default: '8' },
    { usage: '--seed <n>', description: 'chooses what is killed and cut', defaultText: 'random' },
  ],
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/state.ts')).STATE_PROVE,
  exits: STATE_EXITS,
  examples: [
    {
      line: "partnerctl state prove 'postgres://ops@db.example.com/ops?table=proof'",
      does: 'test a database, in a separate table',
    },
    { line: 'partnerctl state prove /mnt/shared/proof.jsonl', does: 'test a network file system' },
  ],
  parse: (args) => ({
    address: args.positionals[0] ?? '',
    keys: args.count('keys', { min: 1, max: 10_000, fallback: 200 }),
    processes: args.count('processes', { min: 2, max: 64, fallback: 8 }),
    seed: args.value('seed') === undefined ? undefined : args.count('seed', { min: 0, max: 2 ** 31, fallback: 0 }),
  }),
  async run(context, input) {
    const { WORKER_VARIABLE } = await import('../../state-old/prove/trial.ts');
    const task = context.env[WORKER_VARIABLE];
    if (task === undefined) return await prove(context, input);
    await runWorker(context, input.address, JSON.parse(task));
    return { kind: 'none' };
  },
});
