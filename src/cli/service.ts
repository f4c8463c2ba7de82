import type { TraceEvent } from '../api/attempt.ts';
import type { TokenOrigin } from '../api/call-errors.ts';
import type { FetchOptions } from '../api/fetch-document.ts';
import { Http } from '../api/http.ts';
import { DEFAULT_RETRIES } from '../api/retry.ts';
import { Transport } from '../api/transport.ts';
import { isLoopback } from '../config/base-url.ts';
import type { ContractKey } from '../config/contract-file.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import type { Profiles } from '../config/profiles.ts';
import { proxyFor } from '../config/proxy.ts';
import { readToken } from '../config/read-token.ts';
import { contractProfile, crossServiceToken, resolveService, type ServiceSettings } from '../config/settings.ts';
import type { Contract } from '../contract/contract.ts';
import { CredentialsError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment, Io } from '../platform/io.ts';
import { shellCommand } from './shell-command.ts';
import { createTracer, type TraceOutput } from './trace.ts';

/** What connections to services need. */
export interface ServiceDeps {
  readonly flags: GlobalFlags;
  readonly env: Environment;
  readonly io: Io;
  readonly clock: Clock;
  readonly random: () => number;
  readonly interrupt: AbortSignal;
  /** Aborts on interruption and at the deadline. */
  readonly ended: AbortSignal;
  readonly userAgent: string;
  /** The command's deadline in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  /** Writes a line to stderr, even with --quiet, without wrapping it. */
  readonly log: (text: string) => Promise<void>;
  readonly show: (traced: TraceOutput) => void;
  /** Replaces secrets in a text. */
  readonly redact: (text: string) => string;
  /** Reads the contract of a service. */
  readonly readContract: (key: ContractKey) => Promise<Contract>;
  readonly onWarning: (text: string) => void;
}

/** A service and the token for it. */
export interface ServiceAccess {
  readonly baseUrl: string;
  readonly token: string;
  readonly tokenOrigin?: TokenOrigin | undefined;
  readonly contract: Contract;
}

function createTrace({ flags, show, redact }: ServiceDeps): (event: TraceEvent) => void {
  const tracer = createTracer(flags.debug ? 'debug' : flags.verbose ? 'verbose' : 'silent', redact);
  return (event) => show(tracer(event));
}

/** Prepares a download without a token. The caller must close the transport. */
export function connectPublicly(url: URL, parts: ServiceDeps): { transport: Transport; options: FetchOptions } {
  const { env, clock, random, interrupt, userAgent, deadline } = parts;
  const transport = new Transport({ origin: url.origin, proxy: proxyFor(url.href, env) });
  const options = { transport, clock, random, interrupt, userAgent, deadline, trace: createTrace(parts) };
  return { transport, options };
}

/** Creates a client for a service. The caller must close the transport. */
export function connect(access: ServiceAccess, parts: ServiceDeps): { http: Http; transport: Transport } {
  const { flags, env, clock, random, interrupt, userAgent, deadline, redact, onWarning } = parts;
  const { baseUrl } = access;
  const transport = new Transport({ origin: new URL(baseUrl).origin, proxy: proxyFor(baseUrl, env) });
  const http = new Http({
    ...access,
    transport,
    userAgent,
    clock,
    random,
    interrupt,
    retries: flags.retries ?? DEFAULT_RETRIES,
    deadline,
    timeoutMs: flags.timeout,
    trace: createTrace(parts),
    redact,
    onWarning,
  });
  return { http, transport };
}

/**
 * Determines the service, its token, and its contract from the flags, the environment, and the profiles.
 * @throws UsageError if no service is configured; CredentialsError if no token is, or if the token is for another
 * service
 */
export async function findService(profiles: Profiles, parts: ServiceDeps): Promise<ServiceAccess> {
  const { flags, env, io, ended, log } = parts;
  const settings = resolveService(flags, env, profiles);
  const { baseUrl, profile, token: source, shadowed } = settings;
  if (flags.verbose || flags.debug) {
    await log(`* service ${baseUrl.value} from ${baseUrl.from}, token from ${source?.from ?? 'nowhere'}`);
    for (const line of shadowed) await log(`* ${line}`);
  }
  await guardStoredToken(settings, profiles, parts);
  if (!flags.quiet) await noteOverrides(settings, profiles, log);
  const key = { profile: contractProfile(flags, env, profiles), baseUrl: baseUrl.value };
  const login = shellCommand(['login'], {
    ...(profile.from !== 'the current profile' && { profile: profile.value }),
    ...(flags.baseUrl !== undefined && { baseUrl: flags.baseUrl }),
  });
  const readers = { stdin: () => io.stdin, signal: ended };
  const [token, contract] = await Promise.all([readToken(source, readers, login), parts.readContract(key)]);
  return { baseUrl: baseUrl.value, token, tokenOrigin: source, contract };
}

/** Notes which variables override the service or the token of a profile that was chosen by name. */
async function noteOverrides(settings: ServiceSettings, profiles: Profiles, log: ServiceDeps['log']): Promise<void> {
  const { overridingVariables: variables, profile } = settings;
  // `guardStoredToken` writes the same note.
  if (variables.length === 0 || crossServiceToken(settings, profiles) !== undefined) return;
  const verb = variables.length === 1 ? 'overrides' : 'override';
  const what = { PARTNER_BASE_URL: 'base URL', PARTNER_TOKEN: 'token' };
  const values = variables.map((name) => what[name]).join(' and the ');
  const names = variables.join(' and ');
  await log(
    `note: ${names} ${verb} the ${values} of profile "${profile.value}". To use the profile, run: unset ${variables.join(' ')}`,
  );
}

/** Prevents sending a profile's token to a service other than the profile's own. @throws CredentialsError */
async function guardStoredToken(settings: ServiceSettings, profiles: Profiles, parts: ServiceDeps): Promise<void> {
  const tokenService = crossServiceToken(settings, profiles);
  if (tokenService === undefined) return;
  const { baseUrl, profile } = settings;
  const why = `The token of profile "${profile.value}" is for ${tokenService}, but ${baseUrl.from} is ${baseUrl.value}.`;
  const advice =
    baseUrl.from === 'PARTNER_BASE_URL' ? "To use the profile's service, run: unset PARTNER_BASE_URL" : undefined;
  if (!isLoopback(new URL(baseUrl.value))) {
    throw new CredentialsError('A stored token is not sent to another service.', {
      why,
      hint: `Set PARTNER_TOKEN to a token for that service, or run \`partnerctl login --profile <name>\` for it.${advice === undefined ? '' : ` ${advice}`}`,
    });
  }
  if (!parts.flags.quiet) await parts.log(['note:', why, advice].filter(Boolean).join(' '));
}
