import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withDirectory } from './harness/directory.js';
import { compare } from './harness/measure.js';
import { PROGRAM } from './harness/sandbox.js';
import { withService } from './harness/service.js';

const BARE = ['-e', '0'];
const ONE_GET = fileURLToPath(new URL('bare/one-get.js', import.meta.url));
const SPACES = '/automation/spaces/';
const CRON_JOBS = '/automation/partner-cron-jobs/';

/** A row for a command that needs no service. @param limit20 the limit on Node 20 */
const bare = (name, limit20, ...args) => ({
  name,
  beside: 'node -e 0',
  limit: { 20: limit20, 24: 1.15 },
  measure: ({ rounds }) => compare({ command: [PROGRAM, ...args], baseline: BARE, rounds }),
});

const page = (results) => JSON.stringify({ count: results.length, next: null, previous: null, results });

const spaces = page(
  ['a', 'b', 'c'].map((letter) => ({
    space_id: `spc_5ce71dec4ecba080b21${letter}`,
    external_space_id: `customer-${letter}`,
    name: `Customer ${letter}`,
    description: '',
    is_org_wide: false,
    created_at: '2026-11-02T06:23:28.361Z',
  })),
);

const JOB = { agent: 'agt_eb23a729dee0681f5559', name: 'Daily', instructions: 'Sum up the day.' };

const jobs = page([
  {
    cron_job_id: 'cron_b48b86864fbdc08d182e',
    agent_id: JOB.agent,
    name: JOB.name,
    instructions: 'Another text.',
    schedule: { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '*' }, timezone: 'UTC' },
    created_at: '2026-11-02T06:23:28.361Z',
  },
]);

function listSpaces({ rounds }) {
  const respond = () => spaces;
  const [command, baseline] = [
    [PROGRAM, 'spaces', 'list', '-o', 'json'],
    [ONE_GET, SPACES],
  ];
  return withService(respond, (env) => compare({ command, baseline, rounds, env }));
}

/** The service has the job with other instructions: the program reads its list, and records the job in a new state. */
function createBlocked({ rounds }) {
  const flags = Object.entries(JOB).flatMap(([flag, value]) => [`--${flag}`, value]);
  const create = [PROGRAM, 'cron', 'create', ...flags, '--schedule', '0 9 * * *', '-o', 'json', '--state'];
  return withDirectory((directory) =>
    withService(
      () => jobs,
      (env) =>
        compare({
          command: (round) => [...create, join(directory, `state-${round}.jsonl`)],
          baseline: [ONE_GET, CRON_JOBS],
          rounds,
          env,
          code: 5,
        }),
    ),
  );
}

export const rows = [
  bare('start-up of --version', 1.25, '--version'),
  bare('start-up of --help', 1.25, '--help'),
  bare('start-up of help -o json', 1.25, 'help', '-o', 'json'),
  bare('start-up of a completion', 1.2, '__complete', 'zsh', '--', '2', 'chat', 'send'),
  {
    name: 'start-up of spaces list -o json, 3 spaces',
    beside: 'a script with one node:http GET',
    limit: { 20: 1.7, 24: 1.25 },
    measure: listSpaces,
  },
  {
    name: 'start-up of a blocked cron create, empty state',
    beside: 'a script with one node:http GET',
    limit: { 20: 2, 24: 1.5 },
    measure: createBlocked,
  },
];
