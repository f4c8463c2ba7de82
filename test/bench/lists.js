import { fileURLToPath } from 'node:url';
import { makeAgent } from './harness/agent.js';
import { compare, growth, time } from './harness/measure.js';
import { PROGRAM, peakMemory, withSandbox } from './harness/sandbox.js';
import { withService } from './harness/service.js';

const LIST_LOOP = fileURLToPath(new URL('bare/list-loop.js', import.meta.url));
const LIST = ['spaces', 'list', '-o', 'ndjson'];
const PAGE = 100;

/** Runs a measurement with the environment of a service that has that many spaces, in pages of 100. */
function withSpaces(count, measure) {
  const space = (number) => ({
    space_id: `spc_${String(number).padStart(20, '0')}`,
    external_space_id: `customer-${number}`,
    name: `Customer ${number}`,
    description: 'Orders, invoices, and questions',
    is_org_wide: false,
    created_at: '2026-11-02T06:23:28.361Z',
  });
  const respond = ({ url, headers }) => {
    const start = Number(new URL(url, 'http://localhost').searchParams.get('offset') ?? 0);
    const results = Array.from({ length: Math.min(PAGE, count - start) }, (_, index) => space(start + index));
    const address = `http://${headers.host}/v1/automation/spaces/?limit=${PAGE}&offset=`;
    const next = start + PAGE < count ? address + (start + PAGE) : null;
    const previous = start > 0 ? address + (start - PAGE) : null;
    return JSON.stringify({ count, next, previous, results });
  };
  return withService(respond, measure);
}

const GROWN = { beside: '10,000', unit: 'MiB', limit: 1.5 };

/** Peak memory with ten times as much, in each of that many rounds. */
async function tenfold(read, rounds) {
  const figures = { ours: [], theirs: [] };
  for (let round = 0; round < rounds; round += 1) {
    figures.theirs.push(await read('few'));
    figures.ours.push(await read('many'));
  }
  return figures;
}

function spaces() {
  return withSandbox(async ({ env, admin }) => {
    // Compared with enough of them that the garbage collector has taken its usual memory.
    await admin('/spaces', { count: 10_000, prefix: 'few' });
    const theirs = [await peakMemory(LIST, env)];
    await admin('/spaces', { count: 100_000, prefix: 'many' });
    return { ours: [await peakMemory(LIST, env)], theirs };
  });
}

function messages() {
  return withSandbox(async ({ env, admin }) => {
    const { source } = await makeAgent(env);
    const fill = { source_id: source, role: 'assistant', text: 'message {n}' };
    await admin('/messages', { ...fill, session_id: 'few', count: 10_000 });
    await admin('/messages', { ...fill, session_id: 'many', count: 100_000 });
    const tail = ['chat', 'tail', '--source', source, '--from-start', '--no-follow', '--session'];
    return tenfold((session) => peakMemory([...tail, session], env), 1);
  });
}

const SPACES = 100_000;

const listTime = ({ rounds }) =>
  withSpaces(SPACES, (env) =>
    compare({ command: [PROGRAM, ...LIST], baseline: [LIST_LOOP], rounds: Math.min(rounds, 7), env }),
  );

async function listGrowth() {
  const list = (count) => withSpaces(count, async (env) => (await time([PROGRAM, ...LIST], env)).ms);
  return growth({ sizes: [1_000, 10_000, 100_000], cost: list, fixed: () => list(1) });
}

export const rows = [
  {
    name: 'spaces list of 100,000 spaces in pages of 100',
    beside: 'a bare undici loop over next',
    limit: 1.3,
    measure: listTime,
  },
  {
    name: 'memory of spaces list of 100,000 spaces in pages of 100',
    unit: 'MB',
    limit: 120,
    measure: () => withSpaces(SPACES, async (env) => ({ values: [(await peakMemory(LIST, env)) * 1.048576] })),
  },
  { name: 'growth of spaces list', limit: 1.05, measure: listGrowth },
  { name: 'memory of listing 110,000 spaces', ...GROWN, measure: spaces },
  { name: 'memory of reading 100,000 messages', ...GROWN, measure: messages },
];
