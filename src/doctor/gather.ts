import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { isReadableByOthers, type Profiles, profilesPath } from '../config/profiles.ts';
import { proxyFor } from '../config/proxy.ts';
import { resolveService, type ServiceSettings, type Sourced } from '../config/settings.ts';
import { isSameService, nameProfile } from '../config/token-sources.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { LocalError, PartnerctlError } from '../errors.ts';
import type { Log } from '../state/log.ts';
import type { Facts, Probe, Result, StateFacts } from './facts.ts';
import { probeLists, READ_LIMITS } from './probe-lists.ts';

/** The time limit of each step, in milliseconds. */
const LIMIT_MS = 20_000;

/**
 * Runs a step within the time limit. A step that --timeout ends fails like any other: what was found so far is reported.
 * @throws the reason of an interruption, and any error that is not a PartnerctlError
 */
async function attempt<Value>(context: Context, what: string, act: () => Promise<Value>): Promise<Result<Value>> {
  const { abortSignal, signals, progress, clock } = context;
  signals.interrupt.throwIfAborted();
  progress.start(`Checking ${what}`);
  const done = new AbortController();
  const limit = clock.sleep(LIMIT_MS, AbortSignal.any([done.signal, abortSignal])).then(
    () => {
      throw new LocalError(`Checking ${what} took longer than ${LIMIT_MS / 1000} s.`);
    },
    () => new Promise<never>(() => undefined),
  );
  try {
    return { value: await Promise.race([act(), limit]) };
  } catch (error) {
    signals.interrupt.throwIfAborted();
    if (error instanceof PartnerctlError) return { error };
    throw error;
  } finally {
    done.abort();
  }
}

async function findAddresses(host: string): Promise<Facts['lookup']> {
  try {
    return { addresses: (await lookup(host, { all: true })).map(({ address }) => address) };
  } catch (error) {
    return { code: error instanceof Error && 'code' in error ? String(error.code) : String(error) };
  }
}

/** The profile's base URL, if a flag or the environment overrides it with a different service. */
function overriddenUrl({ profile, baseUrl }: ServiceSettings, { profiles }: Profiles): Sourced<string> | undefined {
  const own = Object.hasOwn(profiles, profile.value) ? profiles[profile.value]?.base_url : undefined;
  if (own === undefined || isSameService(own, baseUrl.value)) return undefined;
  return { value: own, from: nameProfile(profile.value) };
}

/** Reads the first page of a list that the service has, to see whether and how it responds. */
async function probe(http: Http, context: Context): Promise<Probe> {
  const lists = [OPERATIONS.listSpaces, OPERATIONS.listCronJobs];
  const operation = lists.find(({ leaf }) => http.contract.operation(leaf) !== undefined) ?? OPERATIONS.listSpaces;
  const { clock } = context;
  const started = clock.now();
  let received: Pick<Probe, 'status' | 'headers'> = { status: undefined, headers: {} };
  const timing = () => ({ at: clock.now(), ms: clock.now() - started });
  try {
    const response = await http.call(operation, {
      ...READ_LIMITS,
      onRefusal: ({ status, headers }) => {
        received = { status, headers };
      },
    });
    received = { status: response.status, headers: response.headers };
    const responded = timing();
    response.json();
    return { ...received, error: undefined, ...responded };
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    return { ...received, error, ...timing() };
  }
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

async function inspectState(context: Context): Promise<StateFacts> {
  const location = await context.stateLocation();
  const log = await context.log();
  if (location.kind !== 'file') await log.check();
  const entries = await log.inspect();
  const types = new Map<string, number>();
  for (const entry of entries ?? []) {
    if (entry.kind === 'record') types.set(entry.record.type, (types.get(entry.record.type) ?? 0) + 1);
  }
  return {
    location,
    exists: entries !== undefined,
    isWritable: location.kind !== 'file' || (await canWrite(log)),
    records: [...types.values()].reduce((sum, count) => sum + count, 0),
    types: Object.fromEntries(types),
    damaged: (entries ?? []).filter((entry) => entry.kind === 'damaged'),
  };
}

/** Reads the profiles, and resolves the settings from flags, environment, and profile. */
async function gatherSettings(context: Context) {
  const { config, flags, env, runtime } = context;
  const stored = await attempt(context, 'the profiles', () => config.read());
  const settings = await attempt(context, 'the settings', async () => {
    if (stored.error) throw stored.error;
    return resolveService(flags, env, stored.value);
  });
  const profiles: Facts['profiles'] = stored.error
    ? stored
    : {
        value: {
          names: Object.keys(stored.value.profiles),
          isExposed: isReadableByOthers(config.directory, runtime.platform),
        },
      };
  const overridden = settings.value && stored.value && overriddenUrl(settings.value, stored.value);
  return { profiles, settings, overridden };
}

/** Examines the proxy, DNS, the connection, and which lists the service lets this token read. */
async function gatherService(context: Context, settings: ServiceSettings) {
  const { value: url } = settings.baseUrl;
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  const proxy = await attempt(context, 'the proxy', async () => proxyFor(url, context.env));
  const isName = isIP(host) === 0 && !proxy.value;
  const found = isName ? await attempt(context, `the name ${host}`, () => findAddresses(host)) : undefined;
  const network = { proxy, lookup: found?.error ? { code: 'ETIMEDOUT' } : found?.value };
  const http = await attempt(context, 'the token', () => context.http());
  if (http.error) return { ...network, tokenError: proxy.error ? undefined : http.error };
  const reader = http.value;
  const attempted = await attempt(context, `the connection to ${url}`, () => probe(reader, context));
  const noResponse = { status: undefined, headers: {}, at: context.clock.now(), ms: 0 };
  const probed = attempted.error ? { ...noResponse, error: attempted.error } : attempted.value;
  const read = probed.status === undefined ? undefined : await probeLists(reader, probed);
  return { ...network, tokenError: undefined, probe: probed, ...read, leaves: reader.contract.leaves() };
}

/**
 * Gathers the input of the checks. Sends only reads, and writes nothing.
 * @param minimumNode the oldest supported version of Node.js
 * @throws the reason of an interruption
 */
export async function gatherFacts(context: Context, minimumNode: string): Promise<Facts> {
  const { env, runtime, config } = context;
  const { version, nodeVersion } = runtime;
  const local = await gatherSettings(context);
  const service = local.settings.value && (await gatherService(context, local.settings.value));
  const state = context.abortSignal.aborted
    ? undefined
    : await attempt(context, 'the state', () => inspectState(context));
  return {
    version,
    nodeVersion,
    minimumNode,
    isCi: Boolean(env.CI),
    profilesPath: profilesPath(config.directory),
    ...local,
    proxy: undefined,
    lookup: undefined,
    tokenError: undefined,
    probe: undefined,
    lists: [],
    session: undefined,
    leaves: [],
    ...service,
    state,
  };
}
