import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

/* The tour of `npm start`: commands as one types them, with real requests to a sandbox that ends with the tour. */

const MANIFEST = `external_space_id: acme-001
space: { name: Acme, description: Support for Acme, is_org_wide: false }
agents:
  - template_id: tmpl_support
    name: Support
    auto_create_api_chat: true
    api_chat_routing_mode: session_workflow
`;

const CREATE_JOB =
  "partnerctl cron create --agent name:Support --space ext:acme-001 --name daily --instructions 'Summarize the day.' --schedule '0 18 * * 1-5' --timezone Europe/Berlin";

const CONVERSATION = `turns:
  - say: My invoice is missing.
    expect:
      - contains: invoice
`;

/** The commands in order. `saveAs` keeps the output in a variable; one with `inBackground` ends during the next. */
const STEPS = [
  { comment: 'Check the manifest; nothing is sent.', line: 'partnerctl provision acme.yaml --check' },
  { comment: 'Show what would be done.', line: 'partnerctl plan acme.yaml' },
  { comment: 'Create the space and install its agent.', line: 'partnerctl provision acme.yaml' },
  { comment: 'Run it again: everything exists, so nothing is posted.', line: 'partnerctl provision acme.yaml' },
  { comment: 'List the spaces that the token can see.', line: 'partnerctl spaces list' },
  { comment: 'List the agents of the space, by your own id for it.', line: 'partnerctl agents list ext:acme-001' },
  {
    comment: "Create or find the agent's API chat source.",
    line: 'partnerctl chat setup ext:acme-001 name:Support --query source_id',
    saveAs: 'SOURCE',
  },
  {
    comment: 'Send a message and wait for the reply.',
    line: "partnerctl chat send --source $SOURCE --session ticket-42 --wait 'My invoice is missing.'",
  },
  {
    comment: 'Wait for one webhook, and verify it with the secret from PARTNER_WEBHOOK_SECRET.',
    line: 'partnerctl webhook listen --port $PORT --path /hooks --verify standard-webhooks --exit-after 1',
    inBackground: true,
  },
  {
    comment: 'Let the sandbox send one: a message in the session, delivered and signed.',
    line: "partnerctl webhook trigger --source $SOURCE --session ticket-42 --text 'Your invoice is attached.' --to http://127.0.0.1:$PORT/hooks",
  },
  {
    comment: 'Hold a conversation as a test, in a session of its own.',
    line: 'partnerctl chat test invoice.yaml --source $SOURCE',
  },
  { comment: 'Show the conversation.', line: 'partnerctl chat tail --source $SOURCE --session ticket-42 --no-follow' },
  { comment: 'Upload a file; agents refer to it by its id.', line: 'partnerctl upload faq.md --as document' },
  { comment: 'Upload it again: it is known and skipped.', line: 'partnerctl upload faq.md --as document' },
  { comment: 'Schedule a job: on weekdays at six.', line: CREATE_JOB },
  { comment: 'Schedule it again: no second job is created. Exit code 5.', line: CREATE_JOB, exitCode: 5 },
  { comment: 'List the jobs, together with what the state knows.', line: 'partnerctl cron list' },
];

/** @returns a port that nothing listens on */
async function findFreePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

function print(text) {
  process.stdout.write(`${text}\n`);
}

/** Runs the commands inside `sandbox run`. @throws Error at the first that ends with another exit code than expected */
async function runSteps() {
  let background;
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const env = { PARTNER_OUTPUT: 'table', PARTNER_WEBHOOK_SECRET: secret, PORT: String(await findFreePort()) };
  for (const { comment, line, saveAs, inBackground, exitCode = 0 } of STEPS) {
    const shown = saveAs ? `${saveAs}=$(${line})` : inBackground ? `${line} &` : line;
    print(`\n# ${comment}\n$ ${shown}`);
    const stdout = saveAs ? 'pipe' : inBackground ? ['inherit', 'pipe'] : 'inherit';
    const command = execa(line, { shell: true, env, stdio: ['inherit', stdout, 'inherit'], reject: false });
    if (inBackground) {
      background = command;
      await Promise.race([once(command.stdout, 'data'), command]);
      continue;
    }
    const ended = await command;
    if (ended.exitCode !== exitCode) throw new Error(`It ended with ${ended.exitCode}, not with ${exitCode}: ${line}`);
    if (saveAs) env[saveAs] = ended.stdout;
    await background;
  }
  print(
    '\nAll requests went to a sandbox on this machine, which is gone now. `partnerctl sandbox start` runs one until you stop it.',
  );
}

/** Starts the sandbox in a temporary directory, with `partnerctl` in the PATH. */
async function runTour() {
  const cwd = await mkdtemp(join(tmpdir(), 'partnerctl-tour-'));
  try {
    await writeFile(join(cwd, 'acme.yaml'), MANIFEST);
    await writeFile(join(cwd, 'invoice.yaml'), CONVERSATION);
    await writeFile(join(cwd, 'faq.md'), 'Invoices are sent on the first day of the month.\n');
    await symlink(fileURLToPath(new URL('../bin/partnerctl.js', import.meta.url)), join(cwd, 'partnerctl'));
    print(`acme.yaml:\n\n${MANIFEST.replace(/^/gm, '  ').trimEnd()}`);
    const PATH = [cwd, process.env.PATH].join(delimiter);
    const env = { PATH, PARTNER_CONFIG_DIR: join(cwd, 'config'), PARTNER_PROFILE: '' };
    const steps = [process.execPath, fileURLToPath(import.meta.url), 'steps'];
    await execa(join(cwd, 'partnerctl'), ['sandbox', 'run', '--', ...steps], { cwd, env, stdio: 'inherit' });
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

await (process.argv[2] === 'steps' ? runSteps() : runTour());
