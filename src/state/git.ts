import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
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

/** Variables about the network, credentials, and configuration. Others may be about another repository, as in hooks. */
const KEPT = /^GIT_(SSH|ASKPASS|HTTP|SSL|PROXY|CURL|TRACE|CONFIG|EXEC_PATH)/;

function environment(env: Environment): Environment {
  const own = Object.entries(env).filter(([name]) => !name.startsWith('GIT_') || KEPT.test(name));
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
  { env, signal, input }: { readonly env: Environment; readonly signal: AbortSignal; readonly input?: string },
): Promise<GitResult> {
  signal.throwIfAborted();
  const child = spawn('git', [...SETTINGS, ...args], { env: environment(env), detached: true, windowsHide: true });
  const end = (): void => {
    try {
      // Also its helpers, such as ssh. Windows has no process groups.
      process.kill(-Number(child.pid));
    } catch {
      child.kill();
    }
  };
  const limit = AbortSignal.any([signal, AbortSignal.timeout(COMMAND_MS)]);
  limit.addEventListener('abort', end, { once: true });
  // EPIPE: git exited without reading its input. Its exit code says why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  try {
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    if (code !== 0) signal.throwIfAborted();
    const said = `${stdout}\n${stderr}`.trim().replaceAll(/\/\/[^/@\s]+@/g, '//');
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
  }
}
