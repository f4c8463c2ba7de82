import { spawnSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withBulkService } from './harness/bulk-service.js';
import { withDirectory } from './harness/directory.js';
import { alternate, growth, LEAST_NAME, run, shared, time } from './harness/measure.js';
import { PROGRAM, peakMemory } from './harness/sandbox.js';

const LEAST = fileURLToPath(new URL('bare/provision-spaces.js', import.meta.url));
const LEAST_AGAIN = fileURLToPath(new URL('bare/provision-again.js', import.meta.url));
const READ_LISTS = fileURLToPath(new URL('bare/read-lists.js', import.meta.url));
const PATH = '/automation/agent-templates/provision-space/';
const MIB_IN_MB = 1.048576;
const hasCurl = spawnSync('curl', ['--version']).status === 0;
const withoutCurl = () => (hasCurl ? undefined : 'curl is not installed');

const numbers = (count) => Array.from({ length: count }, (_, number) => number);

function manifest(number) {
  return `external_space_id: customer-${number}
space:
  name: Customer ${number}
agents:
  - template_id: tpl_support
    name: Support
`;
}

/** One request of curl's configuration. */
function curlRequest({ PARTNER_BASE_URL, PARTNER_TOKEN }, number) {
  const agents = [{ template_id: 'tpl_support', name: 'Support' }];
  const body = { external_space_id: `customer-${number}`, space: { name: `Customer ${number}` }, agents };
  return `url = "${PARTNER_BASE_URL}${PATH}"
header = "authorization: Bearer ${PARTNER_TOKEN}"
header = "content-type: application/json"
data-raw = ${JSON.stringify(JSON.stringify(body))}
output = /dev/null
`;
}

/**
 * Prepares runs that provision that many spaces.
 * @param measure gets the arguments of the program for a command, those of the least program and of curl, and a function that
 *   makes all spaces new again
 */
function withSpaces(count, delayMs, measure) {
  return withBulkService(delayMs, ({ env, reset }) =>
    withDirectory(async (directory) => {
      const [file, config, state] = ['spaces.yaml', 'curl.cfg', 'state.jsonl'].map((name) => join(directory, name));
      await writeFile(file, numbers(count).map(manifest).join('---\n'));
      await writeFile(
        config,
        numbers(count)
          .map((number) => curlRequest(env, number))
          .join('next\n'),
      );
      const flags = ['--concurrency', '16', '--state', state, '-o', 'json'];
      return await measure({
        env: { ...env, HOME: directory, XDG_STATE_HOME: directory, XDG_CONFIG_HOME: directory },
        args: (command) => [PROGRAM, command, file, ...flags],
        least: [file, join(directory, 'least.jsonl')],
        curl: ['--no-progress-meter', '--parallel', '--parallel-max', '16', '--config', config],
        async renew() {
          await reset();
          await rm(state, { force: true });
        },
      });
    }),
  );
}

/** @param theirs measures once what the command is compared with: gets what `withSpaces` prepared */
function newSpaces(delayMs, theirs) {
  return ({ rounds }) =>
    withSpaces(2_000, delayMs, (prepared) => {
      const { env, args, renew } = prepared;
      return alternate({
        async ours() {
          await renew();
          return (await time(args('provision'), env)).ms;
        },
        async theirs() {
          await renew();
          return (await theirs(prepared)).ms;
        },
        rounds: Math.min(rounds, 7),
      });
    });
}

const besideCurl = ({ curl, env }) => run('curl', curl, env);
const besideLeast = ({ least, env }) => time([LEAST, ...least], env);

/** @param theirs the arguments of what the command is compared with: gets those of the least program */
function secondRun(theirs) {
  return ({ rounds }) =>
    withSpaces(2_000, 0, async ({ env, args, least }) => {
      // Both find records of the same spaces: the service answers a repeated POST with the space that it has.
      await time(args('provision'), env);
      await time([LEAST, ...least], env);
      return await alternate({
        ours: async () => (await time(args('provision'), env)).ms,
        theirs: async () => (await time(theirs(least), env)).ms,
        rounds: Math.min(rounds, 7),
      });
    });
}

/** Peak memory on 10,000 spaces, in MB: of the least program, and of commands: a first run, a second one, and a plan. */
const memory = shared(() =>
  withSpaces(10_000, 0, async ({ env, args, least, renew }) => {
    const leastPeak = (await peakMemory(least, env, LEAST)) * MIB_IN_MB;
    await renew();
    const peak = async (command) => (await peakMemory(args(command).slice(1), env)) * MIB_IN_MB;
    return {
      least: leastPeak,
      first: await peak('provision'),
      second: await peak('provision'),
      plan: await peak('plan'),
    };
  }),
);

const peakOf = (run) => async (context) => ({ values: [(await memory(context))[run]] });

async function besidePeakOfLeast(context) {
  const { first, least } = await memory(context);
  return { ours: [first], theirs: [least] };
}

/** How the time of a command grows with the number of spaces. @param prepare a step before it, which is not measured */
async function growthOf(command, prepare) {
  const cost = (count) =>
    withSpaces(count, 0, async ({ env, args }) => {
      await prepare?.(env, args);
      return (await time(args(command), env)).ms;
    });
  return await growth({ sizes: [100, 1_000, 10_000], cost, fixed: () => cost(1), rounds: 1 });
}

const first = (env, args) => time(args('provision'), env);

const MEMORY = { unit: 'MB', limit: 160 };

export const rows = [
  {
    name: 'provision of 2,000 new spaces, 16 at a time, answered at once',
    beside: 'curl --parallel --parallel-max 16',
    limit: 3,
    skip: withoutCurl,
    measure: newSpaces(0, besideCurl),
  },
  {
    name: 'provision of 2,000 new spaces, 16 at a time, answered at once, as promised',
    beside: LEAST_NAME,
    limit: 1.75,
    measure: newSpaces(0, besideLeast),
  },
  {
    name: 'provision of 2,000 new spaces, 16 at a time, answered after 20 ms',
    beside: 'curl --parallel --parallel-max 16',
    limit: 1.25,
    skip: withoutCurl,
    measure: newSpaces(20, besideCurl),
  },
  {
    name: 'provision of 2,000 spaces again, nothing changed',
    beside: 'reading the same lists with a bare undici pool',
    limit: 1.6,
    measure: secondRun(() => [READ_LISTS]),
  },
  {
    name: 'provision of 2,000 spaces again, nothing changed, as promised',
    beside: LEAST_NAME,
    limit: 2.25,
    measure: secondRun((least) => [LEAST_AGAIN, ...least]),
  },
  { name: 'memory of provision of 10,000 new spaces from one file', ...MEMORY, measure: peakOf('first') },
  {
    name: 'memory of provision of 10,000 new spaces from one file, as promised',
    beside: LEAST_NAME,
    unit: 'MB',
    limit: 1.6,
    measure: besidePeakOfLeast,
  },
  { name: 'memory of provision of the same again', ...MEMORY, measure: peakOf('second') },
  { name: 'memory of plan of the same', ...MEMORY, measure: peakOf('plan') },
  { name: 'growth of provision', limit: 1.05, measure: () => growthOf('provision') },
  { name: 'growth of plan of spaces that exist', limit: 1.05, measure: () => growthOf('plan', first) },
];
