import type { Http } from '../api/http.ts';
import type { Clock } from '../clock.ts';
import type { Profiles } from '../config/profiles.ts';
import type { GlobalFlags } from '../config/settings.ts';
import type { Progress } from '../output/progress.ts';
import type { PromptLine, PromptLineOptions } from '../output/prompt-line.ts';
import type { StateLocation } from '../state/location.ts';
import type { Environment, Io } from './io.ts';

/** Signals that end a command. */
export type TerminationSignal = 'SIGINT' | 'SIGTERM';

export interface Signals {
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly interrupt: AbortSignal;
  /** Takes the signals over, for a command whose child they are for, until the returned function is called. */
  takeOver(listener: (signal: TerminationSignal) => void): () => void;
}

/** Everything a command may touch. What costs time to load is loaded at the first call. */
export interface Context {
  readonly io: Io;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signals: Signals;
  /** Aborted by the first Ctrl-C and by the command's deadline, with the error to end with. */
  readonly abortSignal: AbortSignal;
  readonly flags: GlobalFlags;
  /** Whether a question may be asked: a terminal on both sides, no CI, no --no-input. */
  readonly isInteractive: boolean;
  readonly progress: Progress;
  /** How this program is started: node and the script. */
  readonly selfCommand: readonly string[];
  /** A line for people on stderr, left out with --quiet. */
  notice(text: string): Promise<void>;
  /** A line on stderr that --quiet does not silence. */
  warn(text: string): Promise<void>;
  /** Keeps a text out of everything that is written from here on. */
  addSecret(text: string): void;
  /** Asks for a text that is not shown while it is typed. Only where `interactive`. */
  askSecret(question: string): Promise<string>;
  /** Asks for a yes; no by default. Only where `interactive`. */
  confirm(question: string): Promise<boolean>;
  /** Opens a prompt with room above it for what happens meanwhile. Only where `interactive`. */
  openPrompt(options: Pick<PromptLineOptions, 'label' | 'history' | 'onHistory'>): Promise<PromptLine>;
  /** Whether what a person reads is coloured. */
  readonly hasColor: boolean;
  readonly config: {
    /** Where the profiles are kept. */
    readonly directory: string;
    read(): Promise<Profiles>;
    write(profiles: Profiles): Promise<void>;
  };
  /** The base address of the service that the settings name; undefined where they name none. No token is needed. */
  baseUrl(): Promise<string | undefined>;
  /** The service, with the token that the settings name. @throws UsageError, CredentialsError */
  http(): Promise<Http>;
  /** A service and token other than the configured ones, for a login that is still to be checked. */
  httpTo(baseUrl: string, token: string): Promise<Http>;
  /** Where things are kept that are no part of the state file, which people pass on. */
  privateDirectory(): Promise<string>;
  /** Where the state file is, and what decided it. @throws UsageError where nothing names a place for it */
  stateLocation(): Promise<StateLocation>;
  /** Path of the state file. */
  statePath(): Promise<string>;
}
