import type { TokenOrigin } from '../api/call.ts';
import { Http } from '../api/http.ts';
import { Transport } from '../api/transport.ts';
import { readContract } from '../config/contract-file.ts';
import { DEFAULT_RETRIES } from '../config/global-flags.ts';
import { NO_PROFILES, nameProfile, readProfiles } from '../config/profiles.ts';
import { proxyFor } from '../config/proxy.ts';
import { readToken } from '../config/read-token.ts';
import { namesServiceAndToken, resolveProfileName, resolveService, type ServiceSettings } from '../config/settings.ts';
import { Contract } from '../contract/contract.ts';
import { CredentialsError } from '../errors.ts';
import type { Context } from './context.ts';
import { createTrace } from './trace.ts';

/** @throws CredentialsError if a profile's token would be sent to another service than the profile's own */
function refuseForeignToken({ tokenService, baseUrl, profile }: ServiceSettings): void {
  if (tokenService === undefined) return;
  throw new CredentialsError('A stored token is not sent to another service.', {
    why: `The token of ${nameProfile(profile.value)} is for ${tokenService}, but ${baseUrl.from} is ${baseUrl.value}.`,
    hint: 'Set PARTNER_TOKEN to a token for that service, or run `partnerctl login --profile <name>` for it.',
  });
}

/** Says on stderr which settings win. */
async function explain({ baseUrl, token, shadowed }: ServiceSettings, { writeLine }: Context): Promise<void> {
  const used = token ? `token from ${token.from}` : 'no token';
  await writeLine(`* service ${baseUrl.value} from ${baseUrl.from}, ${used}`);
  for (const line of shadowed) await writeLine(`* ${line}`);
}

type Clients = Pick<Context, 'http' | 'httpTo' | 'fetchDocument'> & { close(): Promise<void> };

/** Creates the clients of a command. `close` closes all their connections. */
export function createClients(context: Context): Clients {
  const { flags, env, io, clock, random, signals, abortSignal, deadline, config, runtime, warn, redact } = context;
  const transports: Transport[] = [];
  const common = {
    ...{ clock, random, deadline, interrupt: signals.interrupt, trace: createTrace(context) },
    userAgent: `partnerctl/${runtime.version} (node ${runtime.nodeVersion}; ${runtime.platform})`,
  };

  function openTransport({ origin, href }: URL): Transport {
    const transport = new Transport({ origin, proxy: proxyFor(href, env) });
    transports.push(transport);
    return transport;
  }

  async function open(baseUrl: string, profile: string, token: string, tokenOrigin: TokenOrigin): Promise<Http> {
    context.addSecret(token);
    return new Http({
      ...common,
      ...{ baseUrl, token, tokenOrigin, redact },
      contract: new Contract(await readContract(config.directory, { profile, baseUrl }, warn)),
      transport: openTransport(new URL(baseUrl)),
      retries: flags.retries ?? DEFAULT_RETRIES,
      timeoutMs: flags.timeout,
      onWarning: (text) => void warn(text),
    });
  }

  return {
    async http() {
      const isVerbose = flags.verbose || flags.debug;
      // Without a profile in use, only hints and -v need the profiles: a damaged file does not matter.
      const isNeeded = !namesServiceAndToken(flags, env) || isVerbose;
      const profiles = await (isNeeded ? config.read() : readProfiles(config.directory).catch(() => NO_PROFILES));
      const settings = resolveService(flags, env, profiles);
      const { profile, baseUrl, token } = settings;
      if (isVerbose) await explain(settings, context);
      refuseForeignToken(settings);
      if (!token) {
        throw new CredentialsError('No token is configured.', {
          hint: `Set PARTNER_TOKEN, give --token-file <path>, or run \`${context.command(['login'])}\`.`,
        });
      }
      const text = await readToken(token, { stdin: () => io.stdin, signal: abortSignal });
      return open(baseUrl.value, profile.value, text, token);
    },
    async httpTo(baseUrl, token, tokenOrigin) {
      return open(baseUrl, resolveProfileName(flags, env, await config.read()).value, token, tokenOrigin);
    },
    async fetchDocument(url) {
      const { fetchDocument } = await import('../api/fetch-document.ts');
      const options = { token: undefined, retries: 0, timeoutMs: flags.timeout, redact };
      return fetchDocument(
        new Http({ ...common, ...options, baseUrl: url.origin, transport: openTransport(url) }),
        url,
      );
    },
    async close() {
      await Promise.all(transports.map((transport) => transport.close()));
    },
  };
}
