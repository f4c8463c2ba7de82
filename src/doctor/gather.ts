import type { Http } from '../api/http.ts';
import type { ProfileStore } from '../config/profiles.ts';
import { proxyFor } from '../config/proxy.ts';
import type { ServiceFlags } from '../config/service-flags.ts';
import { profileInUse, resolveService } from '../config/settings.ts';
import { PartnerctlError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import type { StateLocation } from '../state/location.ts';
import type { Log } from '../state/log.ts';
import { readService } from './read-service.ts';

/** What the checks need of a command. */
export interface DoctorContext {
  readonly version: string;
  readonly nodeVersion: string;
  readonly config: ProfileStore;
  readonly flags: ServiceFlags;
  readonly env: Environment;
  readonly signals: { readonly interrupt: AbortSignal };
  /** Aborts at an interrupt, and when the time of the command is up. */
  readonly abortSignal: AbortSignal;
  readonly progress: { start(text: string): void };
  http(): Promise<Http>;
  stateLocation(): Promise<StateLocation>;
  log(): Promise<Log>;
}

/** A value, or the error that prevented finding it. */
type Result<Value> =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: PartnerctlError };

/** A check reports the current state. Few items show their shape and, usually, that of the second page. */
const LIMITS = { retries: 0, timeoutMs: 10_000, maxItems: 50 };

/** The input of the checks. A field is undefined if an earlier failure, or --timeout, prevented finding it. */
export type Facts = Awaited<ReturnType<typeof gatherFacts>>;

/** Runs a step. @throws the reason of an interruption, and any error that is not a PartnerctlError */
async function attempt<Value>(
  { signals: { interrupt }, progress }: DoctorContext,
  what: string,
  act: () => Value | Promise<Value>,
): Promise<Result<Value>> {
  interrupt.throwIfAborted();
  progress.start(`Checking ${what}`);
  try {
    return { value: await act() };
  } catch (error) {
    interrupt.throwIfAborted();
    if (error instanceof PartnerctlError) return { error };
    throw error;
  }
}

async function inspectState(context: DoctorContext) {
  const location = await context.stateLocation();
  const log = await context.log();
  await log.check();
  await log.read();
  const { exists, records } = await log.inspect();
  return { location, exists, records: records.length };
}

/** Gathers the input of the checks. Sends only reads, and writes nothing. @throws the reason of an interruption */
export async function gatherFacts(context: DoctorContext) {
  const { version, nodeVersion, env, config, flags, abortSignal } = context;
  const resolve = () => ({ ...resolveService(flags, env, config), profile: profileInUse(flags, env, config) });
  const settings = await attempt(context, 'the settings', resolve);
  const url = settings.value?.baseUrl.value;
  const proxy = url === undefined ? undefined : await attempt(context, 'the proxy', () => proxyFor(url, env));
  const isReady = proxy !== undefined && !proxy.error;
  const http = isReady ? await attempt(context, 'the token', () => context.http()) : undefined;
  const client = http?.value;
  const read = client && (await attempt(context, `the connection to ${url}`, () => readService(client, LIMITS)));
  const state = abortSignal.aborted ? undefined : await attempt(context, 'the state', () => inspectState(context));
  return {
    ...{ version, nodeVersion, isCi: Boolean(env.CI) },
    ...{ settings, proxy, tokenError: http?.error, lists: read?.value, state },
  };
}
