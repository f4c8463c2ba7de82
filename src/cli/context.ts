import { setMaxListeners } from 'node:events';
import type { Http } from '../api/http.ts';
import type { ContractKey } from '../config/contract-file.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import { configDirectory, ProfileStore } from '../config/profiles.ts';
import { resolveBaseUrl, resolveProfileName, resolveService } from '../config/settings.ts';
import { LocalError } from '../errors.ts';
import type { Progress } from '../output/progress.ts';
import type { Redactor } from '../output/redact.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment, Io } from '../platform/io.ts';
import { shellQuote } from '../platform/text.ts';
import type { StateLocation } from '../state/location.ts';
import type { Log } from '../state/log.ts';
import type { Signals } from './signals.ts';

/** What is around every command, and the machine it runs on. Tests provide their own. */
export interface RuntimeDeps {
  readonly io: Io;
  /** The terminal behind stderr, for the spinner and for questions. */
  readonly terminal: NodeJS.WritableStream;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signals: Signals;
  readonly version: string;
  readonly nodeVersion: string;
  readonly platform: NodeJS.Platform;
  /** The user's home directory. */
  readonly home: string;
  /** The command that started this program: the path of node and the path of the script. */
  readonly selfCommand: readonly string[];
}

/**
 * Everything a command may use. Reads no file, opens no connection, and loads no expensive module until the command
 * needs it. Its functions may be passed on without it. The caller must call `close` when the command ends.
 */
export class Context {
  readonly runtime: RuntimeDeps;
  readonly io: Io;
  readonly terminal: NodeJS.WritableStream;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signals: Signals;
  readonly flags: GlobalFlags;
  readonly progress: Progress;
  /** Redacts a text from all later output. */
  readonly addSecret: Redactor['add'];
  /** Lets all later output show a secret: what a command issues is its answer, even if PARTNER_TOKEN holds it too. */
  readonly revealSecret: Redactor['remove'];
  /** Replaces all secrets added so far, in all their encodings. */
  readonly redact: Redactor['redact'];
  /** Aborts on the first termination signal and on --timeout, with the error that ends the command. */
  readonly abortSignal: AbortSignal;
  /** The end of the command's time (--timeout), in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  /** What to do when the command ends, such as to close a connection. */
  readonly closers: (() => unknown)[] = [];
  /** The profiles, whose tokens are redacted from all later output. */
  readonly config: ProfileStore;
  private readonly logs = new Map<string | undefined, Promise<Log>>();

  constructor(runtime: RuntimeDeps, flags: GlobalFlags, progress: Progress, redactor: Redactor) {
    this.runtime = runtime;
    this.io = runtime.io;
    this.terminal = runtime.terminal;
    this.env = runtime.env;
    this.clock = runtime.clock;
    this.random = runtime.random;
    this.signals = runtime.signals;
    this.flags = flags;
    this.progress = progress;
    this.addSecret = redactor.add;
    this.revealSecret = redactor.remove;
    this.redact = redactor.redact;
    this.config = new ProfileStore(configDirectory(this.env, runtime.platform, runtime.home), this.addSecret);
    this.deadline = flags.timeout === undefined ? undefined : this.clock.now() + flags.timeout;
    const timeUp = new AbortController();
    this.abortSignal = AbortSignal.any([this.signals.interrupt, timeUp.signal]);
    // Node warns about more than ten listeners, and every concurrent operation adds one.
    setMaxListeners(0, this.abortSignal);
    if (flags.timeout !== undefined) {
      const hint = 'Allow more time with --timeout.';
      const error = new LocalError('The command did not finish within --timeout.', { hint });
      const timer = setTimeout(() => timeUp.abort(error), flags.timeout);
      this.closers.push(() => clearTimeout(timer));
    }
  }

  async close(): Promise<void> {
    this.progress.stop();
    for (const close of this.closers) await close();
  }

  /** Whether the command may ask questions: stdin and stderr are terminals, and neither CI nor --no-input is set. */
  get isInteractive(): boolean {
    // Reading io.stdin opens it.
    return this.flags.input && this.io.stderr.isTTY && !this.env.CI && this.io.stdin.isTTY === true;
  }

  /** Writes a line to stderr, cleaned of terminal controls, even with --quiet. */
  readonly writeLine = (text: string): Promise<void> => this.io.stderr.write(`${sanitizeLine(text)}\n`);

  /** Writes a line to stderr, unless --quiet is set. */
  readonly notice = async (text: string): Promise<void> => (this.flags.quiet ? undefined : this.writeLine(text));

  /** Writes `warning: ` and a text to stderr, even with --quiet. */
  readonly warn = (text: string): Promise<void> => this.writeLine(`warning: ${text}`);

  /**
   * Formats a command line to paste into a shell, with the global options that select service and state.
   * @param operands the last arguments; they may start with `-`
   */
  readonly command = (words: readonly string[], operands: readonly string[] = []): string => {
    const { profile, baseUrl, tokenFile, state } = this.flags;
    const flags = { '--profile': profile, '--base-url': baseUrl, '--token-file': tokenFile, '--state': state };
    const globalArgs = Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
    const separator = operands.some((operand) => /^-./.test(operand)) ? ['--'] : [];
    return ['partnerctl', ...words, ...globalArgs, ...separator, ...operands].map(shellQuote).join(' ');
  };

  /** Asks a yes/no question; the default is no. Requires `isInteractive`. */
  readonly confirm = async (question: string): Promise<boolean> =>
    (await import('./prompts.ts')).confirm(this, question);

  /**
   * Requires the confirmation of a write through a protected profile. Call it before anything is sent.
   * @param confirmed the value of --confirm
   * @throws UsageError if it names another profile, or is missing where the user cannot be asked
   */
  readonly confirmWrite = async (confirmed: string | undefined): Promise<void> =>
    (await import('./prompts.ts')).confirmWrite(this, confirmed);

  /** The configured base URL, or undefined if none is configured. Does not require a token. */
  readonly baseUrl = async (): Promise<string | undefined> =>
    resolveBaseUrl(this.flags, this.env, await this.config.read());

  /** The profile and the base URL that the contract is stored under. @throws UsageError if no base URL is configured */
  readonly contractKey = async (): Promise<ContractKey> => {
    const { baseUrl, profile } = resolveService(this.flags, this.env, await this.config.read());
    return { profile: profile.value, baseUrl: baseUrl.value };
  };

  /**
   * Creates a client for the configured service. Its connections close when the command ends.
   * @throws UsageError if no service is configured, CredentialsError if no token is, or it is for another service
   */
  readonly http = async (): Promise<Http> => (await import('./clients.ts')).openConfigured(this);

  /** Downloads a public document without sending a token. @throws as `fetchDocument` */
  readonly fetchDocument = async (url: URL): Promise<string> => (await import('./clients.ts')).fetchPublic(this, url);

  /** Where the state is. @param address overrides the configured place @throws UsageError if the place is invalid */
  readonly stateLocation = async (address?: string): Promise<StateLocation> => {
    const { env, flags, config, runtime } = this;
    const { stateLocation } = await import('../state/location.ts');
    const flag = address ?? flags.state;
    let profile: string | undefined;
    if (flag === undefined && !env.PARTNER_STATE) {
      const profiles = await config.read();
      profile = profiles.profiles[resolveProfileName(flags, env, profiles).value]?.state;
    }
    return stateLocation({ flag, env, profile, platform: runtime.platform, home: runtime.home });
  };

  /** The path of this machine's own records: the state file, if the state is a file. @throws UsageError */
  readonly statePath = async (): Promise<string> => (await this.stateLocation()).path;

  /** Opens the log of what must happen at most once: one log for each address. @throws as `stateLocation` */
  readonly log = (address?: string): Promise<Log> => {
    const opened = this.logs.get(address) ?? this.openLog(address);
    this.logs.set(address, opened);
    return opened;
  };

  private async openLog(address: string | undefined): Promise<Log> {
    const { openLog } = await import('../state/open-log.ts');
    const { env, clock, random, redact, addSecret, abortSignal: signal } = this;
    const location = await this.stateLocation(address);
    const log = await openLog({ location, env, clock, random, redact, addSecret, signal });
    this.closers.push(() => log.close());
    return log;
  }
}
