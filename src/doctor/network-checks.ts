import type { PartnerctlError } from '../errors.ts';
import { type Check, failed, ok, skipped, warning } from './check.ts';
import type { Facts, Probe } from './facts.ts';
import { baseUrlHint, hasResponse, NO_SERVICE, unreachableHint, whySkipped } from './service-checks.ts';

const DNS_CODE = /^(ENOTFOUND|EAI_)/;
const TLS_CODE = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO|HOSTNAME_MISMATCH)/;

/** The error code of a failed connection; undefined if there was a response. */
function failureCode(probe: Probe | undefined): string | undefined {
  if (probe?.error === undefined || probe.status !== undefined) return undefined;
  const { details } = probe.error.info;
  const reason = typeof details === 'object' && details !== null && 'reason' in details ? details.reason : undefined;
  return typeof reason === 'string' ? reason : '';
}

function hostOf({ settings }: Facts): string {
  return settings.value === undefined ? '' : new URL(settings.value.baseUrl.value).hostname;
}

/** Shows the proxy, and fails if it is invalid or cannot be reached. */
export function checkProxy({ proxy, probe }: Facts): Check {
  if (proxy === undefined) return skipped('proxy', NO_SERVICE);
  if (proxy.error) return failed('proxy', proxy.error);
  if (proxy.value === undefined) return ok('proxy', 'none');
  const { url, from, noProxy } = proxy.value;
  const message = `${new URL(url).host} from ${from}${noProxy === '' ? '' : `, not for ${noProxy} (NO_PROXY)`}`;
  if (!probe?.error || !failureCode(probe)?.startsWith('PROXY_')) return ok('proxy', message);
  return failed('proxy', probe.error, `Set ${from} to the URL of a working proxy. ${probe.error.info.hint ?? ''}`);
}

/** Checks that the service's host name resolves. Only a warning if the connection works all the same. */
export function checkDns(facts: Facts): Check {
  const { lookup, proxy } = facts;
  if (facts.settings.value === undefined) return skipped('dns', NO_SERVICE);
  if (lookup === undefined) {
    return skipped('dns', proxy?.value ? 'the proxy resolves the name' : 'the base URL has no name to resolve');
  }
  if ('addresses' in lookup) return ok('dns', `${hostOf(facts)} resolves to ${lookup.addresses.join(', ')}`);
  const { probe } = facts;
  const message = `The name ${hostOf(facts)} cannot be resolved (${lookup.code}).`;
  if (probe?.error && DNS_CODE.test(failureCode(probe) ?? '')) {
    return { ...failed('dns', probe.error, baseUrlHint(facts)), message };
  }
  return warning('dns', message, baseUrlHint(facts));
}

/** The check that reports an error code of the connection, if it is not `connection`. */
function ownerOf(code: string): 'dns' | 'tls' | 'proxy' | undefined {
  if (code.startsWith('PROXY_')) return 'proxy';
  return DNS_CODE.test(code) ? 'dns' : TLS_CODE.test(code) ? 'tls' : undefined;
}

/** Checks that the service responds. */
export function checkConnection(facts: Facts): Check {
  const { probe } = facts;
  if (hasResponse(probe)) return ok('connection', `responded in ${Math.round(probe.ms)} ms`);
  const code = failureCode(probe);
  if (probe?.error === undefined || code === undefined) return skipped('connection', whySkipped(facts));
  const owner = ownerOf(code);
  if (owner === 'tls') return ok('connection', 'established');
  if (owner !== undefined) return skipped('connection', `not checked: ${owner} failed`);
  return failed('connection', probe.error, unreachableHint(facts));
}

function tlsHint(code: string, error: PartnerctlError, extra: string | undefined): string {
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return error.info.hint ?? '';
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return "Check this machine's clock. If it is right, the operator of the service must renew the certificate.";
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'Use a host name in the base URL that the certificate covers.';
  const current = extra === undefined ? '' : ` It is now ${extra}, which does not contain that certificate.`;
  return `If you trust the authority that issued it, set NODE_EXTRA_CA_CERTS to a file with the authority's certificate.${current}`;
}

/** Checks the service's certificate. @param extra the value of NODE_EXTRA_CA_CERTS */
export function checkTls(facts: Facts, extra: string | undefined): Check {
  const { settings, probe } = facts;
  if (settings.value === undefined) return skipped('tls', NO_SERVICE);
  if (settings.value.baseUrl.value.startsWith('http:')) return skipped('tls', 'plain http, on this machine only');
  if (hasResponse(probe)) return ok('tls', 'the certificate is trusted');
  const code = failureCode(probe);
  if (probe?.error === undefined || code === undefined || !TLS_CODE.test(code))
    return skipped('tls', whySkipped(facts));
  return failed('tls', probe.error, tlsHint(code, probe.error, extra));
}
