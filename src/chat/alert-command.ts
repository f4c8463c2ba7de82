import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { kill } from 'node:process';
import type { Context } from '../cli/context.ts';
import type { SessionRef } from '../state-old/session-ref.ts';

const TIME_LIMIT_MS = 60_000;

/** How long a command that is ended may take to clean up. */
const GRACE_MS = 2_000;

/** What an alert is about. */
export interface Alert extends SessionRef {
  /** Undefined if the space is not known. */
  readonly space_id: string | undefined;
  /** ISO 8601. */
  readonly unanswered_since: string;
  readonly message_id: string;
}

/** The variables that tell a command what the alert is about: ids, never the text of a message. */
function variablesOf({ space_id, source_id, session_id, unanswered_since, message_id }: Alert) {
  return {
    PARTNER_SPACE_ID: space_id,
    PARTNER_SOURCE_ID: source_id,
    PARTNER_SESSION_ID: session_id,
    PARTNER_MESSAGE_ID: message_id,
    PARTNER_UNANSWERED_SINCE: unanswered_since,
  };
}

/** Sends a signal to a command and everything that it started. */
function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    if (pid !== undefined) kill(-pid, signal);
  } catch {
    // All of them have ended.
  }
}

type AlertContext = Pick<Context, 'clock' | 'env' | 'warn' | 'signals' | 'abortSignal'>;

/** Runs the user's command for each alert, one after the other, in the background. */
export class AlertCommand {
  private readonly context: AlertContext;
  private readonly command: string;
  private running: Promise<void> = Promise.resolve();

  constructor(context: AlertContext, command: string) {
    this.context = context;
    this.command = command;
  }

  /** Starts the command once the earlier ones have ended. If it fails, warns: the other conversations are still watched. */
  start(alert: Alert): void {
    this.running = this.running.then(async () => {
      if (this.context.signals.interrupt.aborted) return;
      try {
        await this.run(alert);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        await this.context.warn(`The --alert-command for session ${alert.session_id} failed: ${why}`);
      }
    });
  }

  /** Waits for the commands that were started. An interrupt or --timeout ends them. */
  async close(): Promise<void> {
    await this.running;
  }

  /** Its output goes to our stderr, because stdout has the messages. */
  private async run(alert: Alert): Promise<void> {
    const { abortSignal, signals } = this.context;
    if (abortSignal.aborted) throw new Error('--timeout came before its turn.');
    const env = { ...this.context.env, ...variablesOf(alert) };
    const child = spawn(this.command, { shell: true, detached: true, stdio: ['ignore', 2, 2], env });
    const signal = AbortSignal.any([abortSignal, AbortSignal.timeout(TIME_LIMIT_MS)]);
    const ended = new AbortController();
    const end = (): void => {
      signalGroup(child, 'SIGTERM');
      this.context.clock.sleep(GRACE_MS, ended.signal).then(
        () => signalGroup(child, 'SIGKILL'),
        () => undefined,
      );
    };
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    try {
      const [code, killedBy] = await once(child, 'exit');
      if (signals.interrupt.aborted) return;
      if (abortSignal.aborted) throw new Error('--timeout ended it.');
      if (signal.aborted) throw new Error(`it took longer than ${TIME_LIMIT_MS / 1000} s.`);
      if (code !== 0) throw new Error(killedBy ? `killed by ${killedBy}.` : `exit code ${code}.`);
    } finally {
      ended.abort();
      signal.removeEventListener('abort', end);
    }
  }
}
