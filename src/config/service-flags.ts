/** The default of --retries. */
export const DEFAULT_RETRIES = 3;

/** The global options that choose the service and its token. One that is not set is absent. */
export interface ServiceFlags {
  readonly profile?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly tokenFile?: string | undefined;
}
