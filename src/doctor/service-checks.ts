import { shellCommand } from '../cli/shell-command.ts';
import { describeFix } from '../contract/unknown-shape.ts';
import { ErrorInSuccessBody, isBalanceTooLow, NotJsonError, type PartnerctlError, ShapeError } from '../errors.ts';
import { type Check, failed, ok, skipped, warning } from './check.ts';
import type { Facts, ListRead, Probe } from './facts.ts';
import { backToProfile } from './local-checks.ts';

export const NO_SERVICE = 'not checked: no service is configured';
const NO_RESPONSE = 'not checked: the service did not respond';
const NO_TOKEN = 'not checked: there is no token to call the service with';

/** In milliseconds. A larger skew breaks token expiry, webhook signatures, and Retry-After dates. */
const MAX_SKEW_MS = 60_000;

/** Whether there was a response, of any status. */
export function hasResponse(probe: Probe | undefined): probe is Probe & { readonly status: number } {
  return probe?.status !== undefined;
}

/** The reason to skip a check that needs a response. */
export function whySkipped({ settings, probe, tokenError }: Facts): string {
  if (settings.value === undefined) return NO_SERVICE;
  return probe === undefined && tokenError ? NO_TOKEN : NO_RESPONSE;
}

/** @param correct `Correct`, or how the sentence that it is part of begins */
function correctUrl(facts: Facts, correct: string): string {
  const from = facts.settings.value?.baseUrl.from ?? 'the base URL';
  return [`${correct} the URL in ${from}.`, backToProfile(facts)].filter(Boolean).join(' ');
}

/** The hint for a base URL that does not lead to the service. */
export function baseUrlHint(facts: Facts): string {
  return correctUrl(facts, 'Correct');
}

/** The hint for a service that does not respond. */
export function unreachableHint(facts: Facts): string {
  const reach = 'Check that the service is running and that this machine can reach it.';
  return `${reach} ${correctUrl(facts, 'If it is elsewhere, correct')}`;
}

/** Whether the service responded, but in a shape that contradicts the contract. A gateway page does not count. */
function contradicts(error: PartnerctlError | undefined): error is ShapeError {
  return error instanceof ShapeError && !(error instanceof ErrorInSuccessBody || error instanceof NotJsonError);
}

/** Whether the service has no such list. */
function isMissing(error: PartnerctlError | undefined): boolean {
  return error?.info.status === 404 || error?.info.status === 405;
}

/** The failure of a list although the first call succeeded, unless another check explains it. */
function laterFailure({ lists }: Facts): PartnerctlError | undefined {
  const isExplained = (error: PartnerctlError) =>
    contradicts(error) || isMissing(error) || [402, 403].includes(error.info.status ?? 0);
  return lists.find(({ error }) => error !== undefined && !isExplained(error))?.error;
}

/** Checks that the base URL leads to this API. The token, its scopes, and the balance have their own checks. */
export function checkService(facts: Facts): Check {
  const { probe } = facts;
  if (!hasResponse(probe)) return skipped('service', whySkipped(facts));
  const { status, error } = probe;
  if (error instanceof NotJsonError) {
    return failed('service', error, `Something else responds there, such as a gateway. ${baseUrlHint(facts)}`);
  }
  if (error === undefined || error instanceof ShapeError || [401, 402, 403].includes(status)) {
    const later = laterFailure(facts);
    return later ? failed('service', later) : ok('service', `responds with ${status}`);
  }
  if (status === 429) return warning('service', error.message, error.info.hint ?? 'Run the command again later.');
  const isElsewhere = status === 404 || status === 405 || (status >= 300 && status < 400);
  const hint = isElsewhere ? `${baseUrlHint(facts)} ${error.info.hint ?? ''}`.trim() : error.info.hint;
  return failed('service', error, hint);
}

function formatSkew(ms: number): string {
  const abs = Math.round(Math.abs(ms) / 1000);
  return abs < 120 ? `${abs} s` : abs < 7200 ? `${Math.round(abs / 60)} min` : `${Math.round(abs / 3600)} h`;
}

/** Compares this machine's clock with the Date header of the response. */
export function checkClock(facts: Facts): Check {
  const { probe } = facts;
  if (!hasResponse(probe)) return skipped('clock', whySkipped(facts));
  const { date, age } = probe.headers;
  const serviceTime = date === undefined ? Number.NaN : Date.parse(date);
  if (Number.isNaN(serviceTime) || age !== undefined)
    return skipped('clock', "not checked: the response does not show the service's time");
  const skew = probe.at - serviceTime;
  if (Math.abs(skew) - probe.ms <= MAX_SKEW_MS) return ok('clock', `within ${MAX_SKEW_MS / 1000} s of the service`);
  const message = `This machine's clock is ${formatSkew(skew)} ${skew > 0 ? 'ahead of' : 'behind'} the service's.`;
  const hint = `Turn on time synchronization, or set this machine's clock to ${new Date(serviceTime).toISOString()}.`;
  return warning('clock', message, hint);
}

/** Whether every read failed with a 403. */
function isForbidden({ probe, lists }: Facts): boolean {
  return probe?.status === 403 && lists.every(({ error }) => error?.info.status === 403);
}

/** Checks that the service accepts the token, with or without the scopes for the lists. */
export function checkToken(facts: Facts): Check {
  const { probe, tokenError, settings } = facts;
  if (settings.value === undefined) return skipped('token', NO_SERVICE);
  if (tokenError) return failed('token', tokenError);
  if (!hasResponse(probe)) return skipped('token', whySkipped(facts));
  const from = settings.value.token?.from ?? '';
  if (probe.status === 401 && probe.error) return failed('token', probe.error);
  if (isForbidden(facts) && probe.error) return failed('token', probe.error);
  const isAccepted = probe.error === undefined || contradicts(probe.error) || probe.status === 403;
  if (isAccepted) return ok('token', `accepted, from ${from}`);
  const reason = isBalanceTooLow(probe.error) ? ': the balance is too low' : '';
  return skipped('token', `not checked: the service responded with ${probe.status}${reason}`);
}

/** Whether the state has records of commands that need the list. */
function isUsed({ recordedAs }: ListRead, { state }: Facts): boolean {
  return Object.keys(state?.value?.types ?? {}).some((type) => type.split('.')[0] === recordedAs);
}

function joinNames(lists: readonly ListRead[]): string {
  return new Intl.ListFormat('en-US').format(lists.map(({ what }) => what));
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Checks the scopes for reads. A missing one is a failure only if the state has records of commands that need it. */
export function checkScopes(facts: Facts): Check {
  const { lists, settings } = facts;
  const read = lists.filter(({ error }) => error === undefined || contradicts(error));
  const missing = lists.filter(({ error }) => error?.info.status === 403);
  if (isForbidden(facts) || read.length + missing.length === 0)
    return skipped('scopes', 'not checked: nothing can be read');
  const may = read.length === 0 ? '' : ` It may read ${joinNames(read)}.`;
  if (missing.length === 0) return ok('scopes', `Write scopes cannot be checked without writing.${may}`);
  const names = missing.map(({ scope, neededBy }) => `${scope} (for ${neededBy})`).join(', ');
  const from = settings.value?.token;
  const use =
    from?.profile === undefined
      ? `use it in place of the one from ${from?.from}`
      : `store it with: ${shellCommand(['login'], { profile: from.profile, tokenFile: '-' })}`;
  const hint = `create a token with these scopes where the organization administers its tokens, and ${use}`;
  const message = `The token has no scope to read ${joinNames(missing)}: ${names}.${may}`;
  const used = missing.find((list) => isUsed(list, facts));
  if (used?.error === undefined) return warning('scopes', message, `If commands need them, ${hint}`);
  const why = `The state has records of commands that need them (${used.recordedAs}).`;
  return { ...failed('scopes', used.error, upperFirst(hint)), message: `${message} ${why}` };
}

/** Fails if a call was refused for the balance (402), because no call shows the balance itself. */
export function checkBalance(facts: Facts): Check {
  const { probe, lists } = facts;
  const tooLow = [probe?.error, ...lists.map(({ error }) => error)].find(isBalanceTooLow);
  if (tooLow) return failed('balance', tooLow);
  if (hasResponse(probe) && probe.error === undefined) {
    return ok(
      'balance',
      'at least 1 USD: below that, the service refuses every call. No call shows the balance itself.',
    );
  }
  return skipped('balance', 'not checked: no call shows the balance, and none succeeded');
}

/** Compares the contract with the responses so far. */
export function checkContractValues({ leaves, lists, probe, session }: Facts): Check {
  const errors = [probe?.error, ...lists.map(({ error }) => error)];
  const contradiction = errors.find(contradicts);
  if (contradiction) return failed('contract', contradiction);
  const missing = lists.find(({ error }) => isMissing(error));
  if (missing?.error) {
    const { message, hint } = failed('contract', missing.error);
    return warning('contract', `${missing.what} cannot be read: ${message}`, hint ?? '');
  }
  if (leaves.length === 0) return skipped('contract', NO_SERVICE);
  if (session === 'ignored') {
    const message =
      'The history of a session that does not exist has messages: the service ignores which session is requested.';
    return warning('contract', message, describeFix({ leaf: 'messages.history.session_id', value: 'query:<name>' }));
  }
  const counts = (['assumed', 'imported', 'override'] as const).map((source) => {
    const count = leaves.filter((leaf) => leaf.source === source).length;
    return `${count} ${source === 'override' ? 'overridden' : source}`;
  });
  const values = `${counts.join(', ')} (partnerctl contract show)`;
  const isTested = lists.some(({ error }) => error === undefined);
  if (!isTested) return skipped('contract', `${values}; not checked: nothing can be read`);
  return ok('contract', `${values}; no response contradicts them`);
}
