import { Http } from '../api/http.ts';
import { DEFAULT_RETRIES } from '../api/retry.ts';
import { createTransport, type Transport } from '../api/transport.ts';
import type { Clock } from '../clock.ts';
import { isLoopback } from '../config/base-url.ts';
import type { GlobalFlags } from '../config/flags.ts';
import type { Profiles } from '../config/profiles.ts';
import { proxyFor } from '../config/proxy.ts';
import { crossServiceToken, resolveService, type ServiceSettings } from '../config/settings.ts';
import { fetchToken } from '../config/token.ts';
import { CredentialsError } from '../errors.ts';
import type { Environment, Io } from './io.ts';
import { createTracer, type TraceOutput } from './trace.ts';

/** What a connection needs from the context. */
export interface ServiceParts {
  readonly flags: GlobalFlags;
  readonly env: Environment;
  readonly io: Io;
  readonly clock: Clock;
  readonly random: () => number;
  readonly interrupt: AbortSignal;
  /** Aborted by Ctrl-C and by the deadline. */
  readonly ended: AbortSignal;
  readonly userAgent: string;
  /** The command's deadline in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  /** A line for people on stderr. */
  readonly say: (text: string) => Promise<void>;
  readonly show: (traced: TraceOutput) => void;
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
}

/** Opens a connection to a service. The caller closes the transport. */
export function connect(baseUrl: string, token: string, parts: ServiceParts): { http: Http; transport: Transport } {
  const { flags, env, clock, random, interrupt, userAgent, deadline, show, redact } = parts;
  const transport = createTransport({ origin: new URL(baseUrl).origin, proxy: proxyFor(baseUrl, env) });
  const tracer = createTracer(flags.debug ? 'debug' : flags.verbose ? 'verbose' : 'silent', redact);
  const http = new Http({
    transport,
    baseUrl,
    token,
    userAgent,
    clock,
    random,
    interrupt,
    retries: flags.retries ?? DEFAULT_RETRIES,
    deadline,
    trace: (event) => show(tracer(event)),
    redact,
  });
  return { http, transport };
}

/** A token out of a profile does not leave this machine for another service than the profile's. */
async function guardToken(settings: ServiceSettings, profiles: Profiles, parts: ServiceParts): Promise<void> {
  const home = crossServiceToken(settings, profiles);
  if (home === undefined) return;
  const { baseUrl, profile } = settings;
  const facts = `the token of profile ${profile.value} belongs to ${home}, and ${baseUrl.from} names ${baseUrl.value}`;
  if (!isLoopback(new URL(baseUrl.value))) {
    throw new CredentialsError('A stored token is not sent to another service.', {
      why: facts,
      hint: 'Give the token for that service with PARTNER_TOKEN or --token-file, or make a profile for it with `partnerctl login --profile <name>`.',
    });
  }
  if (!parts.flags.quiet) await parts.say(`note: ${facts}.`);
}

/**
 * The address and the token that the flags, the environment and the profiles name.
 * @throws UsageError when no service is configured, CredentialsError when no token is, or it must not be sent there
 */
export async function findService(
  profiles: Profiles,
  parts: ServiceParts,
): Promise<{ baseUrl: string; token: string }> {
  const { flags, env, io, ended, say } = parts;
  const settings = resolveService(flags, env, profiles);
  const { baseUrl, token: source, shadowed } = settings;
  if (flags.verbose || flags.debug) {
    await say(`* service ${baseUrl.value} from ${baseUrl.from}, token from ${source?.from ?? 'nowhere'}`);
    for (const line of shadowed) await say(`* ${line}`);
  }
  await guardToken(settings, profiles, parts);
  return { baseUrl: baseUrl.value, token: await fetchToken(source, io.stdin, ended) };
}
