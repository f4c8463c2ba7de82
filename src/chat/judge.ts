import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { kill } from 'node:process';
import { LocalError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';

/** A judge has at least so long, however late the reply came. */
const MIN_JUDGE_MS = 10_000;
const MAX_REASON_LENGTH = 1_000;
/** The exit codes of a shell for a command that cannot be run, or that does not exist. */
const NOT_RUN = [126, 127];

export interface Judgment {
  readonly isAccepted: boolean;
  /** The first line that the command printed. */
  readonly reason: string;
}

interface JudgeOptions {
  readonly env: Environment;
  /** What is left of the time of the turn, in milliseconds. */
  readonly leftMs: number;
  /** Ends the command; its reason is thrown. */
  readonly signal: AbortSignal;
}

/** Ends a shell and what it started. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) kill(-pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

/**
 * Lets a command of the user judge a conversation. It is a line for the shell, into which nothing is put: the
 * conversation is on its standard input, as JSON. It gets the environment without the token.
 * @throws LocalError if it cannot be run, is ended by a signal, or takes longer than its time; the signal's reason
 */
export async function judge(
  command: string,
  conversation: object,
  { env, leftMs, signal }: JudgeOptions,
): Promise<Judgment> {
  const limitMs = Math.max(MIN_JUDGE_MS, leftMs);
  const { PARTNER_TOKEN: _, ...others } = env;
  const child = spawn(command, {
    shell: true,
    // A group of its own, which ends as a whole.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...others, PARTNER_TEST_SECONDS: String(Math.floor(limitMs / 1000)) },
  });
  let printed = '';
  const collect = (chunk: Buffer): void => {
    if (printed.length < MAX_REASON_LENGTH) printed += chunk.toString();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  // A command may decide without reading.
  child.stdin.on('error', () => undefined);
  child.stdin.end(`${JSON.stringify(conversation)}\n`);
  const limit = AbortSignal.timeout(limitMs);
  try {
    const [code, killedBy] = await once(child, 'close', { signal: AbortSignal.any([signal, limit]) });
    const reason = printed.trimStart().split('\n')[0]?.trim().slice(0, MAX_REASON_LENGTH) ?? '';
    if (killedBy || NOT_RUN.includes(code)) {
      throw new LocalError(`The judge ${JSON.stringify(command)} did not run to its end.`, {
        why: reason || (killedBy ? `killed by ${killedBy}` : `exit code ${code}`),
      });
    }
    return { isAccepted: code === 0, reason: reason || `exit code ${code}` };
  } catch (error) {
    endGroup(child.pid);
    signal.throwIfAborted();
    if (!limit.aborted) throw error;
    throw new LocalError(`The judge ${JSON.stringify(command)} took longer than ${Math.floor(limitMs / 1000)} s.`, {
      hint: 'PARTNER_TEST_SECONDS tells it how long it may take. Allow more with `within`.',
    });
  }
}
