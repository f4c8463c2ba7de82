import { spawn } from 'node:child_process';
import { LocalError } from '../errors.ts';
import type { Environment } from './location.ts';

/** The outcome of a git command. */
export interface GitResult {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface GitOptions {
  /** The repository; it need not exist for commands like `clone`. */
  readonly directory: string;
  readonly env: Environment;
  readonly input?: Buffer | undefined;
  readonly signal: AbortSignal;
}

/** Hooks do not run, and nothing is cleaned up beside the command. */
const SETTINGS = ['core.hooksPath=/dev/null', 'gc.auto=0', 'maintenance.auto=false', 'commit.gpgSign=false'];

/** Variables that a hook or an alias of the user's own repository may have set. */
const FOREIGN = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_NAMESPACE',
  'GIT_COMMON_DIR',
];

function environment(env: Environment): Environment {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !FOREIGN.includes(name)));
  return {
    ...own,
    // Messages are read, and nothing may ask for a password.
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'partnerctl',
    GIT_AUTHOR_EMAIL: 'partnerctl@localhost',
    GIT_COMMITTER_NAME: 'partnerctl',
    GIT_COMMITTER_EMAIL: 'partnerctl@localhost',
  };
}

/**
 * Runs git in a bare repository of ours, with the user's credentials and network settings.
 * @returns the outcome, including a failure that git reports
 * @throws LocalError if git cannot be started; the signal's reason if that ended it
 */
export async function runGit(
  args: readonly string[],
  { directory, env, input, signal }: GitOptions,
): Promise<GitResult> {
  signal.throwIfAborted();
  const settings = SETTINGS.flatMap((setting) => ['-c', setting]);
  const child = spawn('git', [...settings, `--git-dir=${directory}`, ...args], {
    env: environment(env),
    stdio: ['pipe', 'pipe', 'pipe'],
    signal,
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  // A command that ends without reading its input closes the pipe; its exit code tells why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    return { code, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString() };
  } catch (error) {
    signal.throwIfAborted();
    throw new LocalError('git cannot be started.', {
      why: error instanceof Error ? error.message : String(error),
      hint: 'The state is kept in a git repository. Install git, or choose another place with --state.',
      cause: error,
    });
  }
}
