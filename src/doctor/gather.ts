import type { Http } from '../api/http.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import { isReadableByOthers, type Profiles, profilesPath } from '../config/profiles.ts';
import { type ProxySettings, proxyFor } from '../config/proxy.ts';
import { resolveService, type ServiceSettings, type Sourced } from '../config/settings.ts';
import { PartnerctlError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment } from '../platform/io.ts';
import type { StateLocation } from '../state/location.ts';
import type { Log } from '../state/log.ts';
import { type Probe, probeService } from './probe.ts';

/** What the checks need of a command. */
export interface DoctorContext {
  readonly version: string;
  readonly nodeVersion: string;
  readonly platform: NodeJS.Platform;
  /** The directory that holds the profiles, and the profiles. */
  readonly config: { readonly directory: string; read(): Promise<Profiles> };
  readonly flags: GlobalFlags;
  readonly env: Environment;
  readonly clock: Clock;
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

/** What was found in the state. */
interface StateFacts {
  readonly location: StateLocation;
  /** The number of records; undefined if there is no state yet. */
  readonly records: number | undefined;
  /** The first line that cannot be used. */
  readonly damage: { readonly line: number; readonly why: string } | undefined;
}

/** The input of the checks. A field is undefined if an earlier failure, or --timeout, prevented finding it. */
export interface Facts {
  readonly version: string;
  readonly nodeVersion: string;
  readonly isCi: boolean;
  readonly profilesPath: string;
  readonly profiles: Result<{ readonly names: readonly string[]; readonly isExposed: boolean }>;
  readonly settings: Result<ServiceSettings>;
  readonly proxy: Result<ProxySettings | undefined> | undefined;
  /** Undefined if there is a token. */
  readonly tokenError: PartnerctlError | undefined;
  readonly probe: Probe | undefined;
  readonly state: Result<StateFacts> | undefined;
}

/** Runs a step. @throws the reason of an interruption, and any error that is not a PartnerctlError */
async function attempt<Value>(
  { signals: { interrupt }, progress }: DoctorContext,
  what: string,
  act: () => Promise<Value>,
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

/** Reads the profiles, and resolves the settings from flags, environment, and profile. */
async function gatherSettings(context: DoctorContext) {
  const { config, platform, flags, env } = context;
  const stored = await attempt(context, 'the profiles', () => config.read());
  if (stored.error) return { profiles: stored, settings: stored };
  const settings = await attempt(context, 'the settings', async () => resolveService(flags, env, stored.value));
  const isExposed = isReadableByOthers(config.directory, platform);
  return { profiles: { value: { names: Object.keys(stored.value.profiles), isExposed } }, settings };
}

const NO_SERVICE = { proxy: undefined, tokenError: undefined, probe: undefined };

/** Examines the proxy, the token, the connection, and what the service lets this token read. */
async function gatherService(context: DoctorContext, { value: url }: Sourced<string>) {
  const proxy = await attempt(context, 'the proxy', async () => proxyFor(url, context.env));
  if (proxy.error) return { ...NO_SERVICE, proxy };
  const http = await attempt(context, 'the token', () => context.http());
  if (http.error) return { ...NO_SERVICE, proxy, tokenError: http.error };
  context.progress.start(`Checking the connection to ${url}`);
  const probe = await probeService(http.value, context.clock);
  context.signals.interrupt.throwIfAborted();
  return { proxy, tokenError: undefined, probe };
}

async function inspectState(context: DoctorContext): Promise<StateFacts> {
  const location = await context.stateLocation();
  const log = await context.log();
  await log.check();
  const { exists, records, damaged } = await log.inspect();
  return { location, records: exists ? records.length : undefined, damage: damaged[0] };
}

/** Gathers the input of the checks. Sends only reads, and writes nothing. @throws the reason of an interruption */
export async function gatherFacts(context: DoctorContext): Promise<Facts> {
  const { version, nodeVersion, env, config, abortSignal } = context;
  const local = await gatherSettings(context);
  const service = local.settings.value ? await gatherService(context, local.settings.value.baseUrl) : NO_SERVICE;
  const state = abortSignal.aborted ? undefined : await attempt(context, 'the state', () => inspectState(context));
  const own = { version, nodeVersion, isCi: Boolean(env.CI), profilesPath: profilesPath(config.directory) };
  return { ...own, ...local, ...service, state };
}
