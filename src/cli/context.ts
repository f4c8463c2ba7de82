import type { TokenOrigin } from '../api/call.ts';
import type { Http } from '../api/http.ts';
import type { ContractKey } from '../config/contract-file.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import type { Profiles, ProfilesChange } from '../config/profiles.ts';
import type { Progress } from '../output/progress.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment, Io } from '../platform/io.ts';
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

/** Everything a command may use. Loads expensive modules on first use. */
export interface Context extends Pick<RuntimeDeps, 'io' | 'terminal' | 'env' | 'clock' | 'random' | 'signals'> {
  readonly runtime: RuntimeDeps;
  readonly flags: GlobalFlags;
  readonly progress: Progress;
  /** Redacts `text` from all later output. */
  addSecret(text: string): void;
  /** Lets all later output show a secret: what a command issues is its answer, even if PARTNER_TOKEN holds it too. */
  revealSecret(text: string): void;
  /** Replaces all secrets added so far, in all their encodings. */
  redact(text: string): string;
  /** Aborts on the first termination signal and on --timeout, with the error that ends the command. */
  readonly abortSignal: AbortSignal;
  /** The end of the command's time (--timeout), in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  /** Whether the command may ask questions: stdin and stderr are terminals, and neither CI nor --no-input is set. */
  readonly isInteractive: boolean;
  /** Writes a line to stderr, cleaned of terminal controls, even with --quiet. */
  writeLine(text: string): Promise<void>;
  /** Writes a line to stderr, unless --quiet is set. */
  notice(text: string): Promise<void>;
  /** Writes `warning: ` and a text to stderr, even with --quiet. */
  warn(text: string): Promise<void>;
  /**
   * Formats a command line to paste into a shell, with the global options that select service and state.
   * @param operands the last arguments; they may start with `-`
   */
  command(words: readonly string[], operands?: readonly string[]): string;
  /** Asks a yes/no question; the default is no. Requires `isInteractive`. */
  confirm(question: string): Promise<boolean>;
  /**
   * Requires the confirmation of a write through a protected profile. Call it before anything is sent.
   * @param confirmed the value of --confirm
   * @throws UsageError if it names another profile, or is missing where the user cannot be asked
   */
  confirmWrite(confirmed: string | undefined): Promise<void>;
  readonly config: {
    /** The directory that holds the profiles. */
    readonly directory: string;
    read(): Promise<Profiles>;
    /** Changes the profiles on disk. @throws as `updateProfiles` */
    update(change: ProfilesChange): Promise<void>;
  };
  /** The configured base URL, or undefined if none is configured. Does not require a token. */
  baseUrl(): Promise<string | undefined>;
  /** The profile and the base URL that the contract is stored under. @throws UsageError if no base URL is configured */
  contractKey(): Promise<ContractKey>;
  /**
   * Creates a client for the configured service. Its connections close when the command ends.
   * @throws UsageError if no service is configured, CredentialsError if no token is, or it is for another service
   */
  http(): Promise<Http>;
  /** Creates a client for a service and a token that are not configured. */
  httpTo(baseUrl: string, token: string, tokenOrigin: TokenOrigin): Promise<Http>;
  /** Downloads a public document without sending a token. @throws as `fetchDocument` */
  fetchDocument(url: URL): Promise<string>;
  /** Where the state is. @param address overrides the configured place @throws UsageError if the place is invalid */
  stateLocation(address?: string): Promise<StateLocation>;
  /** The path of this machine's own records: the state file, if the state is a file. @throws UsageError */
  statePath(): Promise<string>;
  /** Opens the log of what must happen at most once: one log for each address. @throws as `stateLocation` */
  log(address?: string): Promise<Log>;
}
