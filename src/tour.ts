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

/** The tour: what is said before each command, and the words of the command. */
const STEPS: readonly { readonly says: string; readonly words: readonly string[] }[] = [
  { says: 'Check the manifest; nothing is sent.', words: ['provision', 'acme.yaml', '--check'] },
  { says: 'Show what would be done.', words: ['provision', 'acme.yaml', '--dry-run'] },
  { says: 'Create the space and install its agent.', words: ['provision', 'acme.yaml'] },
  { says: 'Run it again: everything is there, so nothing is posted.', words: ['provision', 'acme.yaml'] },
  { says: 'The spaces that the token reaches.', words: ['spaces', 'list'] },
  { says: 'The agents of the space, found by your own id for it.', words: ['agents', 'list', 'ext:acme-001'] },
];

const PROGRAM = fileURLToPath(new URL('../bin/partnerctl.js', import.meta.url));

/** Runs one process with our own output. @throws Error when it does not end with 0 */
async function run(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(process.execPath, args, { cwd, env, stdio: 'inherit' });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0) throw new Error(`${args.slice(1).join(' ')} ended with ${code}`);
}

/** The steps themselves, inside `sandbox run`: every one is a real command that makes real requests. */
async function steps(): Promise<void> {
  const env = { ...process.env, PARTNER_OUTPUT: 'table' };
  for (const { says, words } of STEPS) {
    process.stdout.write(`\n# ${says}\n$ partnerctl ${words.join(' ')}\n`);
    await run([PROGRAM, ...words], process.cwd(), env);
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
    process.stdout.write(`acme.yaml:\n\n${MANIFEST.replace(/^/gm, '  ').trimEnd()}\n`);
    const own = { PARTNER_CONFIG_DIR: join(directory, 'config'), PARTNER_PROFILE: '' };
    const inside = [PROGRAM, 'sandbox', 'run', '--', process.execPath, fileURLToPath(import.meta.url), 'steps'];
    await run(inside, directory, { ...process.env, ...own });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

await (process.argv[2] === 'steps' ? steps() : tour());
