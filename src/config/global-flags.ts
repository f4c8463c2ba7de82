/** The default of --retries. */
export const DEFAULT_RETRIES = 3;

/** The global options, which cli/program.ts declares, as commander parses them. One that is not set is absent. */
export interface GlobalFlags {
  readonly profile?: string;
  readonly baseUrl?: string;
  readonly tokenFile?: string;
  readonly output?: string;
  readonly query?: string;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  readonly color: string;
  /** Whether questions are allowed: false with --no-input. */
  readonly input: boolean;
  /** The time limit of the whole command in milliseconds. */
  readonly timeout?: number;
  readonly retries?: number;
  readonly state?: string;
  /** Whether tables shorten nothing. */
  readonly wide: boolean;
}
