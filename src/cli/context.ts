import type { Http } from '../api/http.ts';
import type { Clock } from '../clock.ts';
import type { GlobalFlags } from '../config/flags.ts';
import type { Profiles } from '../config/profiles.ts';
import type { Progress } from '../output/progress.ts';
import type { PromptLine, PromptLineOptions } from '../output/prompt-line.ts';
import type { StateLocation } from '../state/state-file.ts';
import type { Environment, Io } from './io.ts';

/** Signals that end a command. */
export type TerminationSignal = 'SIGINT' | 'SIGTERM';

export interface Signals {
  /** Aborted by the first Ctrl-C or SIGTERM, with an InterruptedError. */
  readonly interrupt: AbortSignal;
  /** Passes signals to `listener` (for a child process) instead, until the returned function is called. */
  takeOver(listener: (signal: TerminationSignal) => void): () => void;
}

/** Everything a command may touch. Whatever costs time to load is loaded on first use. */
export interface Context {
  readonly io: Io;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signals: Signals;
  /** Aborted by the first Ctrl-C or SIGTERM and by --timeout, with the error that ends the command. */
  readonly abortSignal: AbortSignal;
  readonly flags: GlobalFlags;
  /** Whether questions can be asked: stdin and stderr are terminals, no CI, no --no-input. */
  readonly isInteractive: boolean;
  readonly progress: Progress;
  /** The command that started this program: node and the script. */
  readonly selfCommand: readonly string[];
  /** Writes a line to stderr, unless --quiet is on. */
  notice(text: string): Promise<void>;
  /** Writes a warning to stderr, even with --quiet. */
  warn(text: string): Promise<void>;
  /** Redacts `text` from everything written from now on. */
  addSecret(text: string): void;
  /** Asks for a text without showing it. Requires `isInteractive`. */
  askSecret(question: string): Promise<string>;
  /** Asks a yes/no question; the default is no. Requires `isInteractive`. */
  confirm(question: string): Promise<boolean>;
  /** Opens a prompt with room for output above it. Requires `isInteractive`. */
  openPrompt(options: Pick<PromptLineOptions, 'label' | 'history' | 'onHistory'>): Promise<PromptLine>;
  /** Whether text on stderr is colored. */
  readonly hasColor: boolean;
  readonly config: {
    /** The directory of the profiles. */
    readonly directory: string;
    read(): Promise<Profiles>;
    write(profiles: Profiles): Promise<void>;
  };
  /** The configured base URL, or undefined if there is none. Needs no token. */
  baseUrl(): Promise<string | undefined>;
  /** A client for the configured service. @throws UsageError, CredentialsError */
  http(): Promise<Http>;
  /** A client for a service and token that are not configured yet. */
  httpTo(baseUrl: string, token: string): Promise<Http>;
  /** The directory for private files, which do not belong in the state file because people share that. */
  privateDirectory(): Promise<string>;
  /** The state file and the setting that chose it. @throws UsageError if no setting names a usable path */
  stateLocation(): Promise<StateLocation>;
  /** The path of the state file. @throws UsageError if no setting names a usable path */
  statePath(): Promise<string>;
}
