import { spawn } from 'node:child_process';
import { LocalError } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';
import type { Environment } from '../platform/io.ts';

/** The time of one git command. */
const COMMAND_MS = 60_000;

/** Overrides the user's configuration, except for credentials and the network: a program commits here, not a person. */
const SETTINGS = [
  'user.name=partnerctl',
  'user.email=partnerctl@localhost',
  'core.hooksPath=/dev/null',
  'gc.auto=0',
  'commit.gpgSign=false',
  'push.gpgSign=false',
  'push.pushOption=',
  // If this process is killed, nothing else ends a git that waits for a silent server.
  'http.lowSpeedLimit=1',
  'http.lowSpeedTime=60',
].flatMap((each) => ['-c', each]);

/** Variables that git sets for its hooks: they are about another repository. */
const FOREIGN =
  /^GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|QUARANTINE_PATH|NAMESPACE|COMMON_DIR|PREFIX|SHALLOW_FILE|TEMPLATE_DIR|DEFAULT_HASH|AUTHOR_DATE|COMMITTER_DATE)$/;

function environment(env: Environment): Environment {
  const own = Object.entries(env).filter(([name]) => !FOREIGN.test(name));
  // English, because one message is read. No prompts.
  return { ...Object.fromEntries(own), LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GCM_INTERACTIVE: 'never' };
}

/** The outcome of a git command. */
export interface GitResult {
  readonly isDone: boolean;
  readonly stdout: string;
  /** The end of what git says, without credentials that the user's configuration adds to URLs. */
  readonly why: string;
}

/**
 * Runs git without a terminal: neither git nor ssh can ask, and Ctrl-C does not reach them.
 * @returns the outcome, including a failure that git reports
 * @throws LocalError if git cannot be started; the reason of the signal
 */
export async function runGit(
  args: readonly string[],
  options: { readonly env: Environment; readonly signal: AbortSignal; readonly input?: string | undefined },
): Promise<GitResult> {
  const { env, signal, input } = options;
  signal.throwIfAborted();
  const isGroup = process.platform !== 'win32';
  const child = spawn('git', [...SETTINGS, ...args], { env: environment(env), detached: isGroup, windowsHide: true });
  const end = (): void => {
    try {
      if (isGroup && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
      else child.kill();
    } catch {
      // It has ended.
    }
  };
  const limit = AbortSignal.any([signal, AbortSignal.timeout(COMMAND_MS)]);
  limit.addEventListener('abort', end, { once: true });
  process.once('exit', end);
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  // EPIPE: git exited without reading its input. Its exit code says why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    if (code !== 0) signal.throwIfAborted();
    const stdout = Buffer.concat(out).toString();
    const said = `${stdout}\n${Buffer.concat(err)}`.trim().replaceAll(/\/\/[^/@\s]+@/g, '//');
    const why = said.split('\n').slice(-8).join('\n') || `git ended with ${code ?? 'a signal'}.`;
    return { isDone: code === 0, stdout, why };
  } catch (error) {
    signal.throwIfAborted();
    throw new LocalError('git cannot be started.', {
      why: errorMessage(error),
      hint: 'The state is kept in a git repository. Install git, or choose another place with --state.',
      cause: error,
    });
  } finally {
    limit.removeEventListener('abort', end);
    process.removeListener('exit', end);
  }
}
