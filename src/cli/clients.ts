import type { TokenOrigin } from '../api/call.ts';
import { Http } from '../api/http.ts';
import { Transport } from '../api/transport.ts';
import { type ContractKey, readContract } from '../config/contract-file.ts';
import { nameProfile, type ProfileStore } from '../config/profiles.ts';
import { proxyFor } from '../config/proxy.ts';
import { readToken, type TokenContext } from '../config/read-token.ts';
import { DEFAULT_RETRIES } from '../config/service-flags.ts';
import { resolveService, type SettingsContext } from '../config/settings.ts';
import { Contract } from '../contract/contract.ts';
import { CredentialsError, RunFailure } from '../errors.ts';
import type { Redactor } from '../output/redact.ts';
import { writeLine } from '../output/sink.ts';
import type { Clock } from '../platform/clock.ts';
import type { Environment, Io } from '../platform/io.ts';
import type { GlobalFlags } from './options.ts';
import { createTrace, type TraceContext } from './trace.ts';

/** What a client needs of a command. */
interface ClientContext extends SettingsContext, TokenContext, TraceContext {
  readonly flags: GlobalFlags;
  readonly env: Environment;
  readonly io: Io;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signals: { readonly interrupt: AbortSignal };
  readonly runtime: { readonly version: string; readonly nodeVersion: string; readonly platform: NodeJS.Platform };
  readonly config: ProfileStore;
  readonly deadline: number | undefined;
  /** What to do when the command ends. */
  readonly closers: (() => unknown)[];
  readonly redactor: Redactor;
  warn(text: string): Promise<void>;
  command(words: readonly string[]): string;
}

/** What every client of a command is created with. */
function clientOptions(context: ClientContext, { origin, href }: URL) {
  const { env, flags, clock, random, deadline, signals, redactor, runtime } = context;
  const transport = new Transport({ origin, proxy: proxyFor(href, env) });
  context.closers.push(() => transport.close());
  return {
    ...{ transport, clock, random, deadline, redact: redactor.redact, timeoutMs: flags.timeout },
    ...{ interrupt: signals.interrupt, trace: createTrace(context) },
    userAgent: `partnerctl/${runtime.version} (node ${runtime.nodeVersion}; ${runtime.platform})`,
  };
}

/** Creates a client for a service and a token that need not be configured. */
export async function openHttp(
  context: ClientContext,
  service: ContractKey,
  token: string,
  tokenOrigin: TokenOrigin,
): Promise<Http> {
  const { flags, warn } = context;
  const { baseUrl } = service;
  context.redactor.add(token);
  return new Http({
    ...clientOptions(context, new URL(baseUrl)),
    ...{ baseUrl, token, tokenOrigin },
    contract: new Contract(await readContract(context, service)),
    retries: flags.retries ?? DEFAULT_RETRIES,
    onWarning: (text) => void warn(text),
  });
}

/** As `Context.http`. With -v, says on stderr which settings win. */
export async function openConfigured(context: ClientContext): Promise<Http> {
  const { flags, io } = context;
  const { profile, baseUrl, token, tokenService } = resolveService(context);
  if (flags.verbose || flags.debug) {
    const used = token ? `token from ${token.from}` : 'no token';
    await writeLine(io.stderr, `* service ${baseUrl.value} from ${baseUrl.from}, ${used}`);
  }
  if (tokenService !== undefined) {
    throw new CredentialsError('A stored token is not sent to another service.', {
      why: `The token of ${nameProfile(profile.value)} is for ${tokenService}, but ${baseUrl.from} is ${baseUrl.value}.`,
      hint: 'Set PARTNER_TOKEN to a token for that service, or run `partnerctl login --profile <name>` for it.',
    });
  }
  if (!token) {
    throw new CredentialsError('No token is configured.', {
      hint: `Set PARTNER_TOKEN, give --token-file <path>, or run \`${context.command(['login'])}\`.`,
    });
  }
  const own = profile.stored?.base_url?.replace(/\/+$/, '');
  const isOverridden = own !== undefined && own !== baseUrl.value && baseUrl.from === 'PARTNER_BASE_URL';
  if (flags.profile !== undefined && isOverridden) {
    await context.warn(`PARTNER_BASE_URL (${baseUrl.value}) overrides ${nameProfile(profile.value)} (${own}).`);
  }
  const text = await readToken(token, context);
  return openHttp(context, { profile: profile.value, baseUrl: baseUrl.value }, text, token);
}

const ACCEPT = 'application/json, application/yaml, application/vnd.oai.openapi, text/yaml, */*;q=0.1';

/** As `Context.fetchDocument` (spec §9). Follows no redirect: the error names its target. @throws PartnerctlError by the status */
export async function fetchDocument(context: ClientContext, url: URL): Promise<string> {
  const { origin, pathname, search } = url;
  const http = new Http({ ...clientOptions(context, url), baseUrl: origin, token: undefined, retries: 0 });
  const request = { method: 'GET', path: pathname + search, headers: { accept: ACCEPT } } as const;
  const { response, error } = await http.exchange({ name: `GET ${pathname}`, safety: 'safe', request });
  if (error === undefined) return response.body;
  throw new RunFailure(`Cannot download ${origin + pathname}.`, error, {
    why: [error.message, error.info.why].filter(Boolean).join('\n'),
    hint: 'Check the address, or download the document yourself, and import the file: no token is sent for it.',
  });
}
