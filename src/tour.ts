import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
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

interface Step {
  readonly says: string;
  /** The command line as a person would type it; `$SOURCE` stands for what `keep` kept. */
  readonly line: string;
  readonly words: readonly string[];
  /** The variable that keeps what the command answers. */
  readonly keep?: string;
  /** How it is to end where that is not well. */
  readonly ends?: Ending;
}

interface Ending {
  readonly code: number;
  /** What that code means. */
  readonly means: string;
}

function step(says: string, words: readonly string[]): Step {
  const shown = words.map((word) => (/^[\w.:$/-]+$/.test(word) ? word : `'${word}'`));
  return { says, words, line: `partnerctl ${shown.join(' ')}` };
}

function kept(says: string, name: string, words: readonly string[]): Step {
  const { line, ...rest } = step(says, words);
  return { ...rest, line: `${name}=$(${line})`, keep: name };
}

function ending(ends: Ending, says: string, words: readonly string[]): Step {
  return { ...step(says, words), ends };
}

const FAQ = `# Questions that come often

Invoices are sent on the first day of the month.
`;

const JOB = [
  ['cron', 'create', '--agent', 'name:Support', '--space', 'ext:acme-001', '--name', 'daily'],
  ['--instructions', 'Sum up the day.', '--schedule', '0 18 * * 1-5', '--timezone', 'Europe/Berlin'],
].flat();

/** The tour: what is said before each command, and its words. */
const STEPS: readonly Step[] = [
  step('Check the manifest; nothing is sent.', ['provision', 'acme.yaml', '--check']),
  step('Show what would be done.', ['provision', 'acme.yaml', '--dry-run']),
  step('Create the space and install its agent.', ['provision', 'acme.yaml']),
  step('Run it again: everything is there, so nothing is posted.', ['provision', 'acme.yaml']),
  step('The spaces that the token reaches.', ['spaces', 'list']),
  step('The agents of the space, found by your own id for it.', ['agents', 'list', 'ext:acme-001']),
  kept("The agent's API chat source: made, or found.", 'SOURCE', [
    'chat',
    'setup',
    'ext:acme-001',
    'name:Support',
    '--query',
    'source_id',
  ]),
  step('Send a message and wait for the reply.', [
    'chat',
    'send',
    '--source',
    '$SOURCE',
    '--session',
    'ticket-42',
    '--wait',
    'My invoice is missing.',
  ]),
  step('The conversation so far.', ['chat', 'tail', '--source', '$SOURCE', '--session', 'ticket-42', '--no-follow']),
  step('Upload a file; agents refer to it by its id.', ['upload', 'faq.md', '--as', 'document']),
  step('The same again is known, and skipped.', ['upload', 'faq.md', '--as', 'document']),
  step('Schedule a job: on weekdays at six.', JOB),
  ending({ code: 5, means: 'the job exists, and nothing was posted' }, 'The same again makes no second job.', JOB),
  step('With --ensure a job that is there already is a success.', [...JOB, '--ensure']),
  step('The jobs, joined with what the state file knows.', ['cron', 'list']),
];

const PROGRAM = fileURLToPath(new URL('../bin/partnerctl.js', import.meta.url));

interface Place {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Runs one process with our own input and errors.
 * @returns what it wrote, where that is kept; otherwise it goes to our own output
 * @throws Error when it does not end as it should
 */
async function run(
  args: readonly string[],
  { cwd, env }: Place,
  { keep = false, code: wanted = 0 } = {},
): Promise<string> {
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['inherit', keep ? 'pipe' : 'inherit', 'inherit'] });
  let written = '';
  child.stdout?.on('data', (chunk: unknown) => {
    written += String(chunk);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== wanted) throw new Error(`${args.slice(1).join(' ')} ended with ${code}, not with ${wanted}`);
  return written.trim();
}

/** The steps themselves, inside `sandbox run`: every one is a real command that makes real requests. */
async function steps(): Promise<void> {
  const variables = new Map<string, string>();
  for (const { says, line, words, keep, ends } of STEPS) {
    process.stdout.write(`\n# ${says}\n$ ${line}\n`);
    const given = words.map((word) => (word.startsWith('$') ? (variables.get(word.slice(1)) ?? word) : word));
    const env = { ...process.env, PARTNER_OUTPUT: keep === undefined ? 'table' : 'tsv' };
    const place = { cwd: process.cwd(), env };
    const answer = await run([PROGRAM, ...given], place, {
      keep: keep !== undefined,
      ...(ends && { code: ends.code }),
    });
    if (ends) process.stdout.write(`# It ended with ${ends.code}: ${ends.means}.\n`);
    if (keep !== undefined) variables.set(keep, answer);
  }
  process.stdout.write(
    '\nAll of it went to a sandbox on this machine, which is gone now. `partnerctl sandbox start` keeps one running.\n',
  );
}

/** `npm start`: the main job against a sandbox of its own, in a directory of its own. */
async function tour(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-tour-'));
  try {
    await writeFile(join(directory, 'acme.yaml'), MANIFEST);
    await writeFile(join(directory, 'faq.md'), FAQ);
    process.stdout.write(`acme.yaml:\n\n${MANIFEST.replace(/^/gm, '  ').trimEnd()}\n`);
    const own = { PARTNER_CONFIG_DIR: join(directory, 'config'), PARTNER_PROFILE: '' };
    const inside = [PROGRAM, 'sandbox', 'run', '--', process.execPath, fileURLToPath(import.meta.url), 'steps'];
    await run(inside, { cwd: directory, env: { ...process.env, ...own } });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

await (process.argv[2] === 'steps' ? steps() : tour());
