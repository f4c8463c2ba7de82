import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROGRAM, quantile, wallTime, withService } from './measure.js';

const SESSIONS = 100;
const PER_SECOND = 50;
/** By then the code is compiled. That belongs to the start of a tail, which may run for hours. */
const WARM_UP_MS = 30_000;
const WINDOW_MS = 20_000;

/** The time of the processor that a process took so far, in milliseconds. */
async function cpuSoFar(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // Linux counts in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** @returns how long after its creation each message was printed, in milliseconds, and the share of a core, in percent */
function followSessions() {
  return withService({ sessions: SESSIONS, perSecond: PER_SECOND }, async (env) => {
    const sessions = Array.from({ length: SESSIONS }, (_, number) => ['--session', `session-${number}`]);
    const args = [PROGRAM, 'chat', 'tail', '--source', 'src_1', ...sessions.flat(), '-o', 'ndjson'];
    const tail = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const begin = Date.now() + WARM_UP_MS;
    const delays = [];
    createInterface({ input: tail.stdout }).on('line', (line) => {
      const created = Date.parse(JSON.parse(line).created_at);
      if (created >= begin) delays.push(Date.now() - created);
    });
    await sleep(WARM_UP_MS);
    const before = await cpuSoFar(tail.pid);
    await sleep(WINDOW_MS);
    const cpu = (((await cpuSoFar(tail.pid)) - before) / WINDOW_MS) * 100;
    tail.kill('SIGINT');
    await once(tail, 'exit');
    const created = (WINDOW_MS / 1_000) * PER_SECOND;
    if (delays.length < created * 0.9) throw new Error(`only ${delays.length} of ${created} messages came`);
    return { delays, cpu };
  });
}

/** Followed once for all rows. */
let followed;
function follow() {
  followed ??= followSessions();
  return followed;
}

const IDLE_SESSIONS = 20;
/** After such a silence, the pauses have their full length. */
const SILENT_MS = 110_000;

/** @returns how long after its creation the last of 20 messages was printed, one in each idle conversation, in milliseconds */
function watchIdle() {
  const options = { sessions: IDLE_SESSIONS, messages: 1, perSecond: 2, silentMs: SILENT_MS };
  return withService(options, async (env) => {
    const sessions = Array.from({ length: IDLE_SESSIONS }, (_, number) => ['--session', `session-${number}`]);
    const read = [PROGRAM, 'chat', 'tail', '--source', 'src_1', ...sessions.flat(), '--no-follow'];
    await wallTime([process.execPath, ...read], env);
    const args = [PROGRAM, 'chat', 'watch', '-o', 'ndjson'];
    const watch = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const delays = new Map();
    createInterface({ input: watch.stdout }).on('line', (line) => {
      const { session_id, created_at } = JSON.parse(line);
      if (!delays.has(session_id)) delays.set(session_id, Date.now() - Date.parse(created_at));
    });
    await sleep(SILENT_MS + 30_000);
    watch.kill('SIGINT');
    await once(watch, 'exit');
    if (delays.size < IDLE_SESSIONS)
      throw new Error(`only ${delays.size} of ${IDLE_SESSIONS} conversations were shown`);
    return Math.max(...delays.values());
  });
}

const TAIL = 'chat tail of 100 sessions at 50 messages a second';

export const rows = [
  {
    name: `${TAIL}, from creation to output, p50`,
    unit: 'ms',
    limit: 600,
    measure: async () => quantile((await follow()).delays, 0.5),
  },
  {
    name: `${TAIL}, from creation to output, p99`,
    unit: 'ms',
    limit: 2_000,
    measure: async () => quantile((await follow()).delays, 0.99),
  },
  {
    name: `chat watch of ${IDLE_SESSIONS} idle conversations, from creation to output, at most`,
    unit: 'ms',
    limit: 15_000,
    measure: watchIdle,
  },
  { name: `${TAIL}, share of a core`, unit: '%', limit: 15, measure: async () => (await follow()).cpu },
];
