import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LOOP, median, PROGRAM, peakMemory, ratio, wallTime, withService } from './measure.js';

const numbers = (count) => Array.from({ length: count }, (_, number) => number);

/** The arguments of Node that provision that many new spaces. */
export async function provisionSpaces(count, home) {
  const file = join(home, 'spaces.yaml');
  const space = (number) =>
    `external_space_id: customer-${number}\nspace: { name: Customer ${number} }\nagents: [{ template_id: tpl_support, name: Support }]\n`;
  await writeFile(file, numbers(count).map(space).join('---\n'));
  return [PROGRAM, 'provision', file, '--concurrency', '16', '-o', 'json'];
}

/** The arguments of Node that create that many jobs. */
export async function createJobs(count, home) {
  const file = join(home, 'jobs.yaml');
  const jobs = numbers(count).map((number) => `  - { name: job${number}, instructions: x, schedule: '0 9 * * *' }`);
  await writeFile(file, `agent: agt_0\njobs:\n${jobs.join('\n')}\n`);
  return [PROGRAM, 'cron', 'create', '-f', file, '--ensure', '-o', 'json'];
}

/** The arguments of curl that send the same requests as `provisionSpaces`. */
async function postSpaces(count, { HOME, PARTNER_BASE_URL, PARTNER_TOKEN }) {
  const config = join(HOME, 'curl.cfg');
  const agents = [{ template_id: 'tpl_support', name: 'Support' }];
  const request = (number) => {
    const body = { external_space_id: `customer-${number}`, space: { name: `Customer ${number}` }, agents };
    return `url = "${PARTNER_BASE_URL}/automation/agent-templates/provision-space/"
header = "authorization: Bearer ${PARTNER_TOKEN}"
header = "content-type: application/json"
data-raw = ${JSON.stringify(JSON.stringify(body))}
output = /dev/null
`;
  };
  await writeFile(config, numbers(count).map(request).join('next\n'));
  return ['--no-progress-meter', '--parallel', '--parallel-max', '16', '--config', config];
}

const SPACES = 2_000;

/** Each run has a service of its own, so that all spaces are new. */
function newSpaces(delayMs) {
  const ours = () =>
    withService({ delayMs }, async (env) =>
      wallTime([process.execPath, ...(await provisionSpaces(SPACES, env.HOME))], env),
    );
  const theirs = () =>
    withService({ delayMs }, async (env) => wallTime(['curl', ...(await postSpaces(SPACES, env))], env));
  return (rounds) => ratio(Math.min(rounds, 5), ours, theirs);
}

/** @returns the seconds of a run whose jobs all exist */
function existingJobs(rounds) {
  return withService({}, async (env) => {
    const command = [process.execPath, ...(await createJobs(3_000, env.HOME))];
    await wallTime(command, env);
    const times = [];
    for (let round = 0; round < Math.min(rounds, 5); round += 1) times.push(await wallTime(command, env));
    return median(times) / 1_000;
  });
}

const FLEET = { spaces: 10_000, agents: true, delayMs: 20 };

/** Gives `use` the arguments of Node that plan a fleet in which there is nothing to do, and their environment. */
function withFleet(use) {
  return withService(FLEET, async (env) => {
    const [program, , file] = await provisionSpaces(FLEET.spaces, env.HOME);
    return use([program, 'plan', file, '--concurrency', '16', '--detailed-exitcode'], env);
  });
}

/** Does `withFleet` with the arguments of the same plan, made of rows. */
function withRows(use) {
  return withFleet(async ([program, plan, , ...options], env) => {
    const [file, rows] = [join(env.HOME, 'customers.yaml'), join(env.HOME, 'customers.csv')];
    const template = `external_space_id: customer-\${ID}\nspace: { name: "Customer \${ID}" }\nagents: [{ template_id: tpl_support, name: Support }]\n`;
    await writeFile(file, template);
    await writeFile(rows, ['ID', ...numbers(FLEET.spaces)].join('\n'));
    return use([program, plan, file, '--rows', rows, ...options], env);
  });
}

const planRows = (rounds) =>
  withFleet((ofDocuments, env) =>
    withRows((ofRows, envOfRows) =>
      ratio(
        Math.min(rounds, 3),
        () => wallTime([process.execPath, ...ofRows], envOfRows),
        () => wallTime([process.execPath, ...ofDocuments], env),
      ),
    ),
  );

const planFleet = (rounds) =>
  withFleet((plan, env) =>
    ratio(
      Math.min(rounds, 3),
      () => wallTime([process.execPath, ...plan], env),
      () => wallTime([process.execPath, LOOP, 'agents'], env),
    ),
  );

export const rows = [
  { name: 'provision of 2,000 new spaces after 20 ms, beside curl --parallel', limit: 1.3, measure: newSpaces(20) },
  { name: 'provision of 2,000 new spaces after 0 ms, beside curl --parallel', limit: 8, measure: newSpaces(0) },
  { name: 'plan of 10,000 spaces after 20 ms, beside a bare loop that reads them', limit: 1.3, measure: planFleet },
  { name: 'memory of the plan of 10,000 spaces', unit: 'MB', limit: 220, measure: () => withFleet(peakMemory) },
  { name: 'plan of 10,000 rows, beside that of 10,000 documents', limit: 1.2, measure: planRows },
  { name: 'memory of the plan of 10,000 rows', unit: 'MB', limit: 220, measure: () => withRows(peakMemory) },
  { name: 'cron create of 3,000 existing jobs', unit: 's', limit: 3, measure: existingJobs },
];
