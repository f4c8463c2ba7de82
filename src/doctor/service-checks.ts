import { describeFix } from '../contract/unknown-shape.ts';
import { isBalanceTooLow, isUnexpectedShape, NotJsonError, type PartnerctlError, ShapeError } from '../errors.ts';
import { type Check, failed, ok, skipped, warning } from './check.ts';
import type { Facts } from './gather.ts';
import type { ListRead, Probe } from './probe.ts';

/** In milliseconds. A larger skew breaks token expiry, webhook signatures, and Retry-After dates. */
const MAX_SKEW_MS = 60_000;

/** A probe with a response, of any status. */
type Answered = Probe & { readonly status: number };

/** Whether the service has no such list. */
function isMissing(error: PartnerctlError | undefined): boolean {
  return error?.info.status === 404 || error?.info.status === 405;
}

/** Checks that the service responds: the proxy, DNS, TCP, and TLS, whose errors name the cause. */
function checkConnection({ settings, proxy, probe }: Facts): Check {
  if (proxy?.error) return failed('connection', proxy.error);
  if (settings.value === undefined || probe === undefined) return skipped('connection');
  if (probe.status === undefined && probe.error) return failed('connection', probe.error);
  const through = proxy?.value ? `, through ${new URL(proxy.value.url).host} (${proxy.value.from})` : '';
  const { host } = new URL(settings.value.baseUrl.value);
  return ok('connection', `${host} responded in ${Math.round(probe.ms)} ms${through}`);
}

/** Checks that the base URL leads to this API. The token, its scopes, and the balance have their own checks. */
function checkService({ settings }: Facts, { status, error, lists }: Answered): Check {
  const elsewhere = `Something else responds there. Correct the URL in ${settings.value?.baseUrl.from}.`;
  if (error instanceof NotJsonError) return failed('service', error, elsewhere);
  if (error === undefined || error instanceof ShapeError || [401, 402, 403].includes(status)) {
    const isExplained = (each: PartnerctlError) =>
      isUnexpectedShape(each) || isMissing(each) || [402, 403].includes(each.info.status ?? 0);
    const later = lists.find((list) => list.error !== undefined && !isExplained(list.error))?.error;
    return later ? failed('service', later) : ok('service', `responds with ${status}`);
  }
  if (status === 429) return warning('service', error.message, error.info.hint);
  const isElsewhere = isMissing(error) || (status >= 300 && status < 400);
  return failed('service', error, isElsewhere ? `${elsewhere} ${error.info.hint ?? ''}`.trim() : undefined);
}

/** Compares this machine's clock with the Date header of the response. */
function checkClock(_: Facts, { headers: { date = '', age }, at, ms }: Answered): Check {
  const skew = at - Date.parse(date);
  // A cache sends an old date.
  if (Number.isNaN(skew) || age !== undefined) return skipped('clock');
  if (Math.abs(skew) - ms <= MAX_SKEW_MS) return ok('clock', `within ${MAX_SKEW_MS / 1000} s of the service`);
  const seconds = Math.round(Math.abs(skew) / 1000);
  const message = `This machine's clock is ${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} the service's.`;
  const hint = `Turn on time synchronization, or set this machine's clock to ${new Date(date).toISOString()}.`;
  return warning('clock', message, hint);
}

/** Whether every read failed with a 403. */
function isForbidden({ status, lists }: Answered): boolean {
  return status === 403 && lists.every(({ error }) => error?.info.status === 403);
}

/** Checks that the service accepts the token, with or without the scopes for the lists. */
function checkToken({ settings }: Facts, probe: Answered): Check {
  const { error, status } = probe;
  if (error && (status === 401 || isForbidden(probe))) return failed('token', error);
  const isAccepted = error === undefined || isUnexpectedShape(error) || status === 403;
  return isAccepted ? ok('token', `accepted, from ${settings.value?.token?.from}`) : skipped('token');
}

function joinNames(lists: readonly ListRead[]): string {
  return new Intl.ListFormat('en-US').format(lists.map(({ what }) => what));
}

/** Checks the scopes for reads. A missing one may be one that this token is not meant to have. */
function checkScopes({ settings }: Facts, probe: Answered): Check {
  const { lists } = probe;
  const read = lists.filter(({ error }) => error === undefined || isUnexpectedShape(error));
  const missing = lists.filter(({ error }) => error?.info.status === 403);
  if (isForbidden(probe) || read.length + missing.length === 0) return skipped('scopes');
  if (missing.length === 0) return ok('scopes', `may read ${joinNames(read)}`);
  const names = missing.map(({ scope }) => scope).join(', ');
  const use = settings.value?.token?.replaceHint ?? '';
  const hint = `Create a token with these scopes where the organization administers its tokens. ${use}`;
  return warning('scopes', `The token has no scope to read ${joinNames(missing)}: ${names}.`, hint);
}

/** Fails if a call was refused for the balance (402): no call shows the balance itself. */
function checkBalance(_: Facts, { error, lists }: Answered): Check {
  const tooLow = [error, ...lists.map((list) => list.error)].find(isBalanceTooLow);
  if (tooLow) return failed('balance', tooLow);
  return error === undefined ? ok('balance', 'at least 1 USD') : skipped('balance');
}

/** Compares the contract with the responses so far. */
function checkContract(_: Facts, { error: firstError, lists, session }: Answered): Check {
  const contradiction = [firstError, ...lists.map(({ error }) => error)].find(isUnexpectedShape);
  if (contradiction) return failed('contract', contradiction);
  const missing = lists.find(({ error }) => isMissing(error));
  if (missing?.error) {
    const { message, info } = missing.error;
    return warning('contract', `${missing.what} cannot be read: ${message}`, info.hint);
  }
  if (session === 'ignored') {
    const message =
      'The history of a session that does not exist has messages: the service ignores which session is requested.';
    return warning('contract', message, describeFix({ leaf: 'messages.history.session_id', value: 'query:<name>' }));
  }
  const isRead = lists.some(({ error }) => error === undefined);
  return isRead ? ok('contract', 'no response contradicts it') : skipped('contract');
}

/** Checks the connection, and what the service answered. */
export function checkAnswers(facts: Facts): readonly Check[] {
  const { probe, tokenError } = facts;
  const connection = checkConnection(facts);
  if (probe !== undefined && probe.status !== undefined) {
    const answered = { ...probe, status: probe.status };
    const checks = [checkService, checkClock, checkToken, checkScopes, checkBalance, checkContract];
    return [connection, ...checks.map((check) => check(facts, answered))];
  }
  const token = tokenError ? failed('token', tokenError) : skipped('token');
  const skip = (...names: readonly string[]) => names.map((name) => skipped(name));
  return [connection, ...skip('service', 'clock'), token, ...skip('scopes', 'balance', 'contract')];
}
