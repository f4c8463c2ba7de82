import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { LocalError } from '../errors.ts';
import { withTimeLimit } from '../platform/clock.ts';
import { errorMessage } from '../platform/error-code.ts';
import type { Environment } from '../platform/io.ts';

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

/** A git command failed. `info.why` is the end of what it said. */
export class GitError extends LocalError {}

/**
 * Runs git without a terminal: neither git nor ssh can ask, and Ctrl-C does not reach them.
 * @returns its output
 * @throws GitError; LocalError if git cannot be started; the reason of the signal
 */
export async function runGit(
  args: readonly string[],
  { env, signal, input }: { readonly env: Environment; readonly signal: AbortSignal; readonly input?: string },
): Promise<string> {
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
  const limit = withTimeLimit(signal, COMMAND_MS);
  limit.addEventListener('abort', end, { once: true });
  // EPIPE: git exited without reading its input. Its exit code says why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const [stdout, stderr, [code]] = await ended.catch((cause: unknown) => {
    const hint = 'The state is kept in a git repository. Install git, or choose another place with --state.';
    throw new LocalError('git cannot be started.', { why: errorMessage(cause), hint, cause });
  });
  limit.removeEventListener('abort', end);
  if (code === 0) return stdout;
  signal.throwIfAborted();
  // Without the credentials that the user's configuration adds to URLs.
  const said = `${stdout}\n${stderr}`.trim().replaceAll(/\/\/[^/@\s]+@/g, '//');
  throw new GitError('A git command failed.', {
    why: said.split('\n').slice(-8).join('\n') || `It ended with ${code ?? 'a signal'}.`,
    hint: 'Is there space left in the temporary directory (TMPDIR), and is git 2.29 or newer?',
  });
}
