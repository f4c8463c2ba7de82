import type { TraceEvent } from '../api/attempt.ts';
import type { TokenOrigin } from '../api/call-errors.ts';
import type { Http } from '../api/http.ts';
import type { Clock } from '../clock.ts';
import type { ContractKey } from '../config/contract-file.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import type { Keychain } from '../config/keychain.ts';
import type { Profiles, ProfilesChange } from '../config/profiles.ts';
import type { Progress } from '../output/progress.ts';
import type { PromptLine, PromptLineOptions } from '../output/prompt-line.ts';
import type { StateLocation } from '../state/state-location.ts';
import type { OtherMachine, StateStore } from '../state/store.ts';
import type { Environment, Io } from './io.ts';

/** The signals that end a command. */
export type TerminationSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export interface Signals {
  /** Aborts on the first termination signal, with an InterruptedError. */
  readonly interrupt: AbortSignal;
  /** Redirects signals to `listener` (for a child process) until the caller calls the returned function. */
  takeOver(listener: (signal: TerminationSignal) => void): () => void;
  /**
   * Sets what is written to stderr before a second Ctrl-C ends the program at once, until the caller calls the returned
   * function. @param describe returns a line, or undefined to write nothing
   */
  beforeExit(describe: () => string | undefined): () => void;
}

/** Everything a command may use. Loads expensive modules on first use. */
export interface Context {
  readonly io: Io;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signals: Signals;
  /** Aborts on the first termination signal and on --timeout, with the error that ends the command. */
  readonly abortSignal: AbortSignal;
  readonly flags: GlobalFlags;
  /** Whether the command may ask questions: stdin and stderr are terminals, and neither CI nor --no-input is set. */
  readonly isInteractive: boolean;
  readonly progress: Progress;
  readonly runtime: {
    readonly version: string;
    readonly nodeVersion: string;
    readonly platform: NodeJS.Platform;
    /** The user's home directory. */
    readonly home: string;
  };
  /** The command that started this program: the path of node and the path of the script. */
  readonly selfCommand: readonly string[];
  /** Writes a line to stderr, unless --quiet is on. */
  notice(text: string): Promise<void>;
  /** Writes a warning to stderr, even with --quiet. */
  warn(text: string): Promise<void>;
  /** Redacts `text` from all later output. */
  addSecret(text: string): void;
  /** Replaces all secrets that this process knows, in any spelling. */
  redact(text: string): string;
  /** Asks for a secret and hides the input. Requires `isInteractive`. */
  askSecret(question: string): Promise<string>;
  /**
   * Asks for a line of text. Requires `isInteractive`.
   * @param check returns true, or what is wrong with the text
   */
  askText(question: string, check: (text: string) => string | true): Promise<string>;
  /** Asks a yes/no question; the default is no. Requires `isInteractive`. */
  confirm(question: string): Promise<boolean>;
  /** Opens an input line that allows output above it. Requires `isInteractive`. */
  openPrompt(options: Pick<PromptLineOptions, 'label' | 'history' | 'onHistory'>): Promise<PromptLine>;
  /** Whether text on stderr is colored. */
  readonly hasColor: boolean;
  readonly config: {
    /** The directory that holds the profiles. */
    readonly directory: string;
    read(): Promise<Profiles>;
    /** Changes the profiles on disk, whatever other processes do meanwhile. @throws what `change` throws, LocalError */
    update(change: ProfilesChange): Promise<void>;
  };
  /** Opens the keychain of the operating system. */
  openKeychain(): Promise<Keychain>;
  /** The configured base URL, or undefined if none is configured. Does not require a token. */
  baseUrl(): Promise<string | undefined>;
  /** The profile and the configured base URL, by which the contract is stored. @throws UsageError if none is configured */
  contractKey(): Promise<ContractKey>;
  /**
   * Creates a client for the configured service.
   * @param observe is told of its requests, with their secrets
   * @throws UsageError, CredentialsError
   */
  http(observe?: (event: TraceEvent) => void): Promise<Http>;
  /** Creates a client for a service and token that are not configured yet. @param origin where the token comes from */
  httpTo(baseUrl: string, token: string, origin: TokenOrigin): Promise<Http>;
  /** Downloads a public document without sending a token. @throws as `fetchDocument` */
  fetchDocument(url: URL): Promise<string>;
  /** The directory for private data. The state file must not hold it, because people share that file. */
  privateDirectory(): Promise<string>;
  /**
   * Where the state is, and the setting that chose it.
   * @param address another place than the configured one
   * @throws UsageError if no setting names a usable place
   */
  stateLocation(address?: string): Promise<StateLocation>;
  /** The file that keeps this machine's own records: the state file, if the state is a file. @throws UsageError */
  statePath(): Promise<string>;
  /**
   * Opens the store of the records that guard against duplicates.
   * @param address another place than the configured one
   * @param machine keeps everything that stays on this machine elsewhere, as if it were another machine
   * @throws UsageError
   */
  stateStore(address?: string, machine?: OtherMachine): Promise<StateStore>;
}
