import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MANIFEST = `external_space_id: acme-001
space: { name: Acme, description: Support for Acme, is_org_wide: false }
agents:
  - template_id: tmpl_support
    name: Support
    auto_create_api_chat: true
    api_chat_routing_mode: session_workflow
`;

const FAQ = `# Frequently asked questions

Invoices are sent on the first day of the month.
`;

interface Step {
  readonly comment: string;
  /** The arguments; `$SOURCE` stands for the variable that an earlier step saved. */
  readonly args: readonly string[];
  /** Whether the next step begins as soon as this one has output; this one must end during that step. */
  readonly inBackground?: boolean;
  /** The variable to save the output in, like `NAME=$(…)` in a shell. */
  readonly saveAs?: string;
  /** The expected exit code, if it is not 0, and its meaning. */
  readonly exit?: { readonly code: number; readonly meaning: string };
}

const CREATE_JOB = [
  ['cron', 'create', '--agent', 'name:Support', '--space', 'ext:acme-001', '--name', 'daily'],
  ['--instructions', 'Summarize the day.', '--schedule', '0 18 * * 1-5', '--timezone', 'Europe/Berlin'],
].flat();

const SESSION = ['--source', '$SOURCE', '--session', 'ticket-42'];

/** Starts a receiver that exits after one delivery, and makes the sandbox send one. */
function webhookSteps(port: number): readonly Step[] {
  const url = `http://127.0.0.1:${port}/hooks`;
  const verified = ['--verify', 'standard-webhooks', '--exit-after', '1'];
  return [
    {
      comment: 'Wait for one webhook, and verify it with the secret from PARTNER_WEBHOOK_SECRET.',
      args: ['webhook', 'listen', '--port', String(port), '--path', '/hooks', ...verified],
      inBackground: true,
    },
    {
      comment: 'Let the sandbox send one: a message in the session, delivered and signed.',
      args: ['webhook', 'trigger', ...SESSION, '--text', 'Your invoice is attached.', '--to', url],
    },
  ];
}

/** @param port the port to receive webhooks on */
const createSteps = (port: number): readonly Step[] => [
  { comment: 'Check the manifest; nothing is sent.', args: ['provision', 'acme.yaml', '--check'] },
  { comment: 'Show what would be done.', args: ['provision', 'acme.yaml', '--dry-run'] },
  { comment: 'Create the space and install its agent.', args: ['provision', 'acme.yaml'] },
  { comment: 'Run it again: everything exists, so nothing is posted.', args: ['provision', 'acme.yaml'] },
  { comment: 'List the spaces that the token can see.', args: ['spaces', 'list'] },
  { comment: 'List the agents of the space, by your own id for it.', args: ['agents', 'list', 'ext:acme-001'] },
  {
    comment: "Create or find the agent's API chat source.",
    args: ['chat', 'setup', 'ext:acme-001', 'name:Support', '--query', 'source_id'],
    saveAs: 'SOURCE',
  },
  {
    comment: 'Send a message and wait for the reply.',
    args: ['chat', 'send', ...SESSION, '--wait', 'My invoice is missing.'],
  },
  ...webhookSteps(port),
  { comment: 'Show the conversation so far.', args: ['chat', 'tail', ...SESSION, '--no-follow'] },
  { comment: 'Upload a file; agents refer to it by its id.', args: ['upload', 'faq.md', '--as', 'document'] },
  { comment: 'Upload it again: it is known and skipped.', args: ['upload', 'faq.md', '--as', 'document'] },
  { comment: 'Schedule a job: on weekdays at six.', args: CREATE_JOB },
  {
    comment: 'Schedule it again: no second job is created.',
    args: CREATE_JOB,
    exit: { code: 5, meaning: 'the job exists, and nothing was posted' },
  },
  { comment: 'With --ensure, an existing job is a success.', args: [...CREATE_JOB, '--ensure'] },
  { comment: 'List the jobs, together with what the state knows.', args: ['cron', 'list'] },
];

/** Formats a step as one would type it. */
function commandLine({ args, inBackground, saveAs }: Step): string {
  const quoted = args.map((arg) => (/^[\w.:$/-]+$/.test(arg) ? arg : `'${arg}'`));
  const line = `partnerctl ${quoted.join(' ')}${inBackground ? ' &' : ''}`;
  return saveAs === undefined ? line : `${saveAs}=$(${line})`;
}

const PROGRAM = fileURLToPath(new URL('../bin/partnerctl.js', import.meta.url));

interface RunOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Capture the output instead of showing it. */
  readonly capture?: boolean;
  /** The expected exit code; 0 by default. */
  readonly exitCode?: number;
}

/**
 * Runs a Node.js program that shares our stdin and stderr.
 * @returns its output if it is captured, otherwise ''
 * @throws Error if it exits with another code than the expected one
 */
async function run(args: readonly string[], options: RunOptions): Promise<string> {
  const { cwd, env, capture = false, exitCode = 0 } = options;
  const child = spawn(process.execPath, args, {
    cwd,
    env,
    stdio: ['inherit', capture ? 'pipe' : 'inherit', 'inherit'],
  });
  let output = '';
  child.stdout?.on('data', (chunk: unknown) => {
    output += String(chunk);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== exitCode) throw new Error(`${args.slice(1).join(' ')} exited with ${code}, not with ${exitCode}.`);
  return output.trim();
}

interface Background {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
}

/** Starts a Node.js program, and waits until it has written something. Its output is shown. */
async function startInBackground(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Background> {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  child.stdout.on('data', (chunk: unknown) => process.stdout.write(String(chunk)));
  await Promise.race([once(child.stdout, 'data'), ended]);
  return { child, ended };
}

/** Finds a port that nothing listens on. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Runs the steps inside `sandbox run`: each is a real command that makes real requests. */
async function runSteps(): Promise<void> {
  const variables = new Map<string, string>();
  const webhookSecret = `whsec_${randomBytes(32).toString('base64')}`;
  let background: Background | undefined;
  try {
    for (const step of createSteps(await findFreePort())) {
      const { comment, inBackground, saveAs, exit } = step;
      process.stdout.write(`\n# ${comment}\n$ ${commandLine(step)}\n`);
      const args = step.args.map((arg) => (arg.startsWith('$') ? (variables.get(arg.slice(1)) ?? arg) : arg));
      const capture = saveAs !== undefined;
      const output = capture ? 'tsv' : 'table';
      const env = { ...process.env, PARTNER_OUTPUT: output, PARTNER_WEBHOOK_SECRET: webhookSecret };
      if (inBackground) {
        background = await startInBackground([PROGRAM, ...args], env);
        continue;
      }
      const options = { cwd: process.cwd(), env, capture, exitCode: exit?.code ?? 0 };
      const written = await run([PROGRAM, ...args], options);
      await background?.ended;
      if (exit) process.stdout.write(`# Exit code ${exit.code}: ${exit.meaning}.\n`);
      if (saveAs !== undefined) variables.set(saveAs, written);
    }
  } finally {
    background?.child.kill();
  }
  process.stdout.write(
    '\nAll requests went to a sandbox on this machine, which is gone now. `partnerctl sandbox start` runs one until you stop it.\n',
  );
}

/** Runs the tour of `npm start` against a sandbox, in a temporary directory. */
async function runTour(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-tour-'));
  try {
    await writeFile(join(directory, 'acme.yaml'), MANIFEST);
    await writeFile(join(directory, 'faq.md'), FAQ);
    process.stdout.write(`acme.yaml:\n\n${MANIFEST.replace(/^/gm, '  ').trimEnd()}\n`);
    const env = { ...process.env, PARTNER_CONFIG_DIR: join(directory, 'config'), PARTNER_PROFILE: '' };
    const steps = [process.execPath, fileURLToPath(import.meta.url), 'steps'];
    await run([PROGRAM, 'sandbox', 'run', '--', ...steps], { cwd: directory, env });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

await (process.argv[2] === 'steps' ? runSteps() : runTour());
