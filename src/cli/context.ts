import { setMaxListeners } from 'node:events';
import type { Http } from '../api/http.ts';
import { configDirectory, ProfileStore } from '../config/profiles.ts';
import type { ServiceFlags } from '../config/service-flags.ts';
import { LocalError } from '../errors.ts';
import type { Progress } from '../output/progress.ts';
import type { Redactor } from '../output/redact.ts';
import { writeLine } from '../output/sink.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment, Io } from '../platform/io.ts';
import { shellQuote } from '../platform/text.ts';
import type { Log } from '../state/log.ts';
import type { GlobalFlags } from './options.ts';
import type { Signals } from './signals.ts';

/** What is around every command, and the machine it runs on. Tests provide their own. */
export interface RuntimeDeps {
  readonly io: Io;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signals: Signals;
  readonly runtime: {
    readonly version: string;
    readonly nodeVersion: string;
    readonly platform: NodeJS.Platform;
    readonly home: string;
    /** The command that started this program: the path of node and the path of the script. */
    readonly selfCommand: readonly string[];
  };
}

function startTimeLimit(timeout: number | undefined, closers: (() => unknown)[]): AbortSignal {
  const timeUp = new AbortController();
  if (timeout !== undefined) {
    const hint = 'Allow more time with --timeout.';
    const error = new LocalError('The command did not finish within --timeout.', { hint });
    const timer = setTimeout(() => timeUp.abort(error), timeout);
    closers.push(() => clearTimeout(timer));
  }
  return timeUp.signal;
}

function formatCommand(flags: GlobalFlags, words: readonly string[], operands: readonly string[]): string {
  // The compiler names an option of the service that is missing here.
  const chosen: Readonly<Record<keyof ServiceFlags | 'state', readonly [flag: string, value: string | undefined]>> = {
    profile: ['--profile', flags.profile],
    baseUrl: ['--base-url', flags.baseUrl],
    tokenFile: ['--token-file', flags.tokenFile],
    state: ['--state', flags.state],
  };
  const globalArgs = Object.values(chosen).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  const separator = operands.some((operand) => /^-./.test(operand)) ? ['--'] : [];
  return ['partnerctl', ...words, ...globalArgs, ...separator, ...operands].map(shellQuote).join(' ');
}

/** Everything a command may use. Its functions may be passed on without it. */
export type Context = ReturnType<typeof createContext>;

/** Returns a function that makes a value at its first call, and returns it at every one. */
function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * Reads no file, opens no connection, and loads no expensive module until the command needs it. The caller must call
 * `close` when the command ends.
 */
export function createContext(deps: RuntimeDeps, flags: GlobalFlags, progress: Progress, redactor: Redactor) {
  const { io, env, clock, random, signals, runtime } = deps;
  const config = new ProfileStore(configDirectory(env, runtime.platform, runtime.home), redactor.add);
  const closers: (() => unknown)[] = [];
  const logs = new Map<string | undefined, Promise<Log>>();
  const abortSignal = AbortSignal.any([signals.interrupt, startTimeLimit(flags.timeout, closers)]);
  // Node warns about more than ten listeners, and every concurrent operation adds one.
  setMaxListeners(0, abortSignal);

  const warn = (text: string): Promise<void> => writeLine(io.stderr, `warning: ${text}`);

  const openLog = async (address: string | undefined): Promise<Log> => {
    const { stateLocation } = await import('../state/location.ts');
    const { openLog } = await import('../state/open-log.ts');
    const location = stateLocation(context, address);
    const log = await openLog({ location, env, clock, random, redactor, warn, signal: abortSignal });
    closers.push(() => log.close());
    return log;
  };

  const context = {
    ...deps,
    flags,
    progress,
    /** The profiles, whose tokens are redacted from all later output. */
    config,
    /** Knows what all later output must not show. */
    redactor,
    /** Aborts on the first termination signal and on --timeout, with the error that ends the command. */
    abortSignal,
    /** The end of the command's time (--timeout), in milliseconds since the epoch. */
    deadline: flags.timeout === undefined ? undefined : clock.now() + flags.timeout,
    /** What to do when the command ends, such as to close a connection. */
    closers,

    /** Writes a line to stderr, unless --quiet is set. */
    notice: async (text: string): Promise<void> => (flags.quiet ? undefined : writeLine(io.stderr, text)),
    /** Writes `warning: ` and a text to stderr, even with --quiet. */
    warn,

    prompts: {
      /**
       * Whether the user can be asked: stdin and stderr are terminals, stdin was not read to its end, and neither CI nor
       * --no-input is set.
       */
      get isAvailable(): boolean {
        // Reading io.stdin opens it.
        return flags.input && io.stderr.isTTY && !env.CI && io.stdin.isTTY === true && !io.stdin.readableEnded;
      },

      /** Asks a yes/no question; the default is no. Undefined where nobody can be asked: a flag must answer. */
      get confirm(): ((question: string) => Promise<boolean>) | undefined {
        if (!this.isAvailable) return undefined;
        return async (question) => (await import('./prompts.ts')).confirm(context, question);
      },

      /**
       * Requires the confirmation of a write through a protected profile. Call it before anything is sent.
       * @param confirmed the value of --confirm
       * @throws UsageError if it names another profile, or is missing where the user cannot be asked
       */
      confirmWrite: async (confirmed: string | undefined): Promise<void> =>
        (await import('./prompts.ts')).confirmWrite(context, confirmed),
    },

    /**
     * Formats a command line to paste into a shell, with the global options that select service and state.
     * @param operands the last arguments; they may start with `-`
     */
    command: (words: readonly string[], operands: readonly string[] = []): string =>
      formatCommand(flags, words, operands),

    /**
     * Returns the client for the configured service: one for the command, which reads the token once. Its connections close
     * when the command ends.
     * @throws UsageError if no service is configured, NotFoundError for an unknown profile, CredentialsError if there is no
     * token, or it is for another service
     */
    http: once(async (): Promise<Http> => (await import('./clients.ts')).openConfigured(context)),

    /** Downloads a public document without sending a token. @throws as `fetchDocument` */
    fetchDocument: async (url: URL): Promise<string> => (await import('./clients.ts')).fetchDocument(context, url),

    /** Opens the log of what must happen at most once: one log for each address. @throws as `stateLocation` */
    log(address?: string): Promise<Log> {
      const opened = logs.get(address) ?? openLog(address);
      logs.set(address, opened);
      return opened;
    },
  };
  return context;
}
