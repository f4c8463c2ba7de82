import type { Http } from '../api/http.ts';
import type { Clock } from '../clock.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import { isReadableByOthers, type Profiles, profilesPath } from '../config/profiles.ts';
import { type ProxySettings, proxyFor } from '../config/proxy.ts';
import { resolveService, type ServiceSettings, type Sourced } from '../config/settings.ts';
import { isSameService, nameProfile } from '../config/token-sources.ts';
import { LocalError, PartnerctlError } from '../errors.ts';
import type { Environment, StateLocation } from '../state/location.ts';
import type { Log } from '../state/log.ts';
import { type Probe, probeService } from './probe.ts';

/** What the checks look at. */
export interface DoctorDeps {
  readonly version: string;
  readonly nodeVersion: string;
  readonly platform: NodeJS.Platform;
  /** The directory that holds the profiles. */
  readonly configDirectory: string;
  readonly flags: GlobalFlags;
  readonly env: Environment;
  readonly clock: Clock;
  readonly interrupt: AbortSignal;
  /** Aborts on interruption and on --timeout. */
  readonly ended: AbortSignal;
  readonly readProfiles: () => Promise<Profiles>;
  readonly http: () => Promise<Http>;
  readonly stateLocation: () => Promise<StateLocation>;
  readonly log: () => Promise<Log>;
  /** Called before each step. @param what what it looks at */
  readonly onStep: (what: string) => void;
}

/** A value, or the error that prevented finding it. */
type Result<Value> =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: PartnerctlError };

/** What was found in the state. */
export interface StateFacts {
  readonly location: StateLocation;
  readonly exists: boolean;
  readonly isWritable: boolean;
  /** The type of each record. */
  readonly types: readonly string[];
  /** The lines that cannot be used. */
  readonly damaged: readonly { readonly line: number; readonly why: string }[];
}

/** The input of the checks. A field is undefined if an earlier failure, or --timeout, prevented finding it. */
export interface Facts {
  readonly version: string;
  readonly nodeVersion: string;
  readonly isCi: boolean;
  readonly profilesPath: string;
  readonly profiles: Result<{ readonly names: readonly string[]; readonly isExposed: boolean }>;
  readonly settings: Result<ServiceSettings>;
  /** The profile's base URL, if a flag or the environment overrides it with a different service. */
  readonly overridden: Sourced<string> | undefined;
  readonly proxy: Result<ProxySettings | undefined> | undefined;
  /** Undefined if there is a token. */
  readonly tokenError: PartnerctlError | undefined;
  readonly probe: Probe | undefined;
  readonly state: Result<StateFacts> | undefined;
}

/** Runs a step. @throws the reason of an interruption, and any error that is not a PartnerctlError */
async function attempt<Value>(
  { interrupt, onStep }: DoctorDeps,
  what: string,
  act: () => Promise<Value>,
): Promise<Result<Value>> {
  interrupt.throwIfAborted();
  onStep(what);
  try {
    return { value: await act() };
  } catch (error) {
    interrupt.throwIfAborted();
    if (error instanceof PartnerctlError) return { error };
    throw error;
  }
}

function overriddenUrl({ profile, baseUrl }: ServiceSettings, { profiles }: Profiles): Sourced<string> | undefined {
  const own = Object.hasOwn(profiles, profile.value) ? profiles[profile.value]?.base_url : undefined;
  if (own === undefined || isSameService(own, baseUrl.value)) return undefined;
  return { value: own, from: nameProfile(profile.value) };
}

/** Reads the profiles, and resolves the settings from flags, environment, and profile. */
async function gatherSettings(deps: DoctorDeps) {
  const { configDirectory, platform, flags, env } = deps;
  const stored = await attempt(deps, 'the profiles', deps.readProfiles);
  if (stored.error) return { profiles: stored, settings: stored, overridden: undefined };
  const settings = await attempt(deps, 'the settings', async () => resolveService(flags, env, stored.value));
  const isExposed = isReadableByOthers(configDirectory, platform);
  return {
    profiles: { value: { names: Object.keys(stored.value.profiles), isExposed } },
    settings,
    overridden: settings.value && overriddenUrl(settings.value, stored.value),
  };
}

const NO_SERVICE = { proxy: undefined, tokenError: undefined, probe: undefined };

/** Examines the proxy, the token, the connection, and what the service lets this token read. */
async function gatherService(deps: DoctorDeps, { value: url }: Sourced<string>) {
  const proxy = await attempt(deps, 'the proxy', async () => proxyFor(url, deps.env));
  if (proxy.error) return { ...NO_SERVICE, proxy };
  const http = await attempt(deps, 'the token', deps.http);
  if (http.error) return { ...NO_SERVICE, proxy, tokenError: http.error };
  deps.onStep(`the connection to ${url}`);
  const probe = await probeService(http.value, deps.clock);
  deps.interrupt.throwIfAborted();
  return { proxy, tokenError: undefined, probe };
}

/** Whether records can be read and written. A state that cannot be read is an error of its own. */
async function canWrite(log: Log): Promise<boolean> {
  try {
    await log.check();
    return true;
  } catch (error) {
    if (error instanceof LocalError) return false;
    throw error;
  }
}

async function inspectState(deps: DoctorDeps): Promise<StateFacts> {
  const location = await deps.stateLocation();
  const log = await deps.log();
  const isFile = location.kind === 'file';
  if (!isFile) await log.check();
  const entries = await log.inspect();
  return {
    location,
    exists: entries !== undefined,
    isWritable: !isFile || (await canWrite(log)),
    types: (entries ?? []).flatMap((entry) => (entry.kind === 'record' ? [entry.record.type] : [])),
    damaged: (entries ?? []).filter((entry) => entry.kind === 'damaged'),
  };
}

/** Gathers the input of the checks. Sends only reads, and writes nothing. @throws the reason of an interruption */
export async function gatherFacts(deps: DoctorDeps): Promise<Facts> {
  const { version, nodeVersion, env, configDirectory, ended } = deps;
  const local = await gatherSettings(deps);
  const service = local.settings.value ? await gatherService(deps, local.settings.value.baseUrl) : NO_SERVICE;
  const state = ended.aborted ? undefined : await attempt(deps, 'the state', () => inspectState(deps));
  const own = { version, nodeVersion, isCi: Boolean(env.CI), profilesPath: profilesPath(configDirectory) };
  return { ...own, ...local, ...service, state };
}
