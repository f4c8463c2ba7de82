import { type ChildProcess, spawn } from 'node:child_process';
import { LocalError } from '../errors.ts';
import type { Environment } from '../state/location.ts';

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

/** Overrides the user's configuration, except for credentials and the network. */
const SETTINGS = [
  'core.hooksPath=/dev/null',
  'gc.auto=0',
  'maintenance.auto=false',
  'commit.gpgSign=false',
  'push.gpgSign=false',
  'push.followTags=false',
  'push.negotiate=false',
  'push.recurseSubmodules=no',
  // An empty value empties the list.
  'push.pushOption=',
  'fetch.prune=false',
  'fetch.pruneTags=false',
  'fetch.recurseSubmodules=false',
  'fetch.writeCommitGraph=false',
  // Keep fetched versions of the log packed as deltas. Unpacked, each is a whole copy.
  'fetch.unpackLimit=2',
  'submodule.recurse=false',
  // If this process is killed, nothing else ends a git that waits for a silent server.
  'http.lowSpeedLimit=1',
  'http.lowSpeedTime=60',
];

/** Variables that may be set for another repository, for example by a git hook. */
const FOREIGN = new Set([
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_QUARANTINE_PATH',
  'GIT_NAMESPACE',
  'GIT_COMMON_DIR',
  'GIT_PREFIX',
  'GIT_GRAFT_FILE',
  'GIT_SHALLOW_FILE',
  'GIT_REPLACE_REF_BASE',
  'GIT_CONFIG',
  'GIT_TEMPLATE_DIR',
  'GIT_DEFAULT_HASH',
  'GIT_AUTHOR_DATE',
  'GIT_COMMITTER_DATE',
]);

/** The time limit of a command. */
const LONGEST_MS = 60_000;

/** The exit code of git for an unknown option. */
const UNKNOWN_OPTION = 129;

function environment(env: Environment): Environment {
  return {
    // The user can set an author in the environment: a server may require one that it knows.
    GIT_AUTHOR_NAME: 'partnerctl',
    GIT_AUTHOR_EMAIL: 'partnerctl@localhost',
    GIT_COMMITTER_NAME: 'partnerctl',
    GIT_COMMITTER_EMAIL: 'partnerctl@localhost',
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !FOREIGN.has(name))),
    // English messages, because they are parsed. No password prompts.
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GCM_INTERACTIVE: 'never',
  };
}

/** Waits for a process to exit. Ends it with its children if the signal aborts, or after the time limit. */
async function endOf(child: ChildProcess, signal: AbortSignal): Promise<{ code: number | null; isLate: boolean }> {
  let isLate = false;
  const end = (): void => {
    try {
      // The process is the leader of its group.
      if (child.pid !== undefined && process.platform !== 'win32') process.kill(-child.pid, 'SIGTERM');
      else child.kill();
    } catch {
      // It has ended.
    }
  };
  const timer = setTimeout(() => {
    isLate = true;
    end();
  }, LONGEST_MS);
  signal.addEventListener('abort', end, { once: true });
  process.once('exit', end);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    return { code, isLate };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    process.removeListener('exit', end);
  }
}

/**
 * Runs git in one of our bare repositories, with the user's credentials and network settings, and without a terminal:
 * neither git nor ssh can prompt, and Ctrl-C does not reach them.
 * @returns the outcome, including a failure that git reports
 * @throws LocalError if git cannot be started or is too old; the signal's reason if that ended it
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
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  // EPIPE: git exited without reading its input. Its exit code says why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const ended = await endOf(child, signal).catch((error: unknown) => {
    throw new LocalError('git cannot be started.', {
      why: error instanceof Error ? error.message : String(error),
      hint: 'The state is kept in a git repository. Install git, or choose another place with --state.',
      cause: error,
    });
  });
  if (ended.code !== 0) signal.throwIfAborted();
  const stderr = Buffer.concat(err).toString();
  if (ended.code === UNKNOWN_OPTION) {
    throw new LocalError('The installed git is too old.', {
      why: stderr.split('\n')[0] ?? '',
      hint: 'Install git 2.29 or newer.',
    });
  }
  const why = ended.isLate ? `\nerror: no answer within ${LONGEST_MS / 1000} s` : '';
  return { code: ended.code, stdout: Buffer.concat(out), stderr: stderr + why };
}
