import { describeFix } from '../contract/unknown-shape.ts';
import {
  isBalanceTooLow,
  isUnexpectedShape,
  NotJsonError,
  type PartnerctlError,
  RunFailure,
  ShapeError,
} from '../errors.ts';
import { shellQuote } from '../platform/text.ts';
import type { Facts } from './gather.ts';
import { describeUnproved, joinNames, type Probe } from './read-service.ts';

interface Finding {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly message: string;
  readonly hint: string | null;
  /** The error that a command would end with; only for a failed check. */
  readonly failure?: PartnerctlError;
}

export interface Check extends Finding {
  readonly name: string;
}

type Answered = Probe & { readonly status: number };

/** In milliseconds. A larger skew breaks token expiry, webhook signatures, and Retry-After dates. */
const MAX_SKEW_MS = 60_000;

/** An earlier check failed, or no response shows it. */
const SKIPPED: Finding = { status: 'skipped', message: 'not checked', hint: null };

function ok(message: string): Finding {
  return { status: 'ok', message, hint: null };
}

function warning(message: string, hint: string | undefined): Finding {
  return { status: 'warning', message, hint: hint ?? null };
}

function failed(error: PartnerctlError, hint = error.info.hint): Finding {
  return { status: 'failed', message: error.message, hint: hint ?? null, failure: error };
}

function checkProfiles({ profiles, profilesPath, isExposed }: Facts): Finding {
  if (profiles.error) return failed(profiles.error);
  const hint = `Run: chmod -R go= ${shellQuote(profilesPath)}`;
  if (isExposed) return warning(`Other users can read the tokens in ${profilesPath}.`, hint);
  const names = profiles.value;
  return ok(names.length === 0 ? `none in ${profilesPath}` : `${names.join(', ')} (${profilesPath})`);
}

function checkSettings({ settings, profiles }: Facts): Finding {
  if (profiles.error) return SKIPPED;
  if (settings.error) return failed(settings.error);
  const { baseUrl, profile, token } = settings.value;
  const protection = profile?.stored?.protected ? ', which is protected' : '';
  const named = profile ? `profile "${profile.value}" from ${profile.from}${protection}` : 'no profile';
  const source = token ? `token from ${token.from}` : 'no token';
  return ok(`${baseUrl.value} from ${baseUrl.from}, ${source}, ${named}`);
}

/** Checks that the state can be read and written, and that every line is intact. Warns if CI does not share it. */
function checkState({ state, isCi, profiles, settings }: Facts): Finding {
  // The profile may name the state.
  if (state === undefined || (state.error && profiles.error?.message === state.error.message)) return SKIPPED;
  if (state.error) return failed(state.error);
  const { location, exists, records } = state.value;
  const { kind, address, from } = location;
  const where = kind === 'file' ? 'a file: guards this machine only' : 'shared';
  const message = `${address} (${from}): ${where}; ${exists ? `records: ${records}` : 'it does not exist yet'}`;
  if (!isCi || kind !== 'file' || records > 0 || settings.error) return ok(message);
  const hint = 'Share one state with --state postgres://… or git+ssh://…#branch: partnerctl help state';
  return warning(`${message}. In CI, it guards this run alone.`, hint);
}

function checkConnection({ settings, proxy, probe }: Facts): Finding {
  if (proxy?.error) return failed(proxy.error);
  if (settings.value === undefined || probe === undefined) return SKIPPED;
  if (probe.status === undefined && probe.error) return failed(probe.error);
  const through = proxy?.value ? `, through ${new URL(proxy.value.url).host} (${proxy.value.from})` : '';
  const { host } = new URL(settings.value.baseUrl.value);
  return ok(`${host} responded in ${Math.round(probe.ms)} ms${through}`);
}

function isMissing(error: PartnerctlError | undefined): boolean {
  return error?.info.status === 404 || error?.info.status === 405;
}

/** Checks that the base URL leads to this API. The token, its scopes, and the balance have their own checks. */
function checkService({ status, error, lists }: Answered, { settings }: Facts): Finding {
  const elsewhere = `Something else responds there. Correct the URL in ${settings.value?.baseUrl.from}.`;
  if (error instanceof NotJsonError) return failed(error, elsewhere);
  if (error === undefined || error instanceof ShapeError || [401, 402, 403].includes(status)) {
    const isExplained = (each: PartnerctlError) =>
      isUnexpectedShape(each) || isMissing(each) || [402, 403].includes(each.info.status ?? 0);
    const later = lists.find((list) => list.error !== undefined && !isExplained(list.error))?.error;
    return later ? failed(later) : ok(`responds with ${status}`);
  }
  if (status === 429) return warning(error.message, error.info.hint);
  const isElsewhere = isMissing(error) || (status >= 300 && status < 400);
  return failed(error, isElsewhere ? `${elsewhere} ${error.info.hint ?? ''}`.trim() : undefined);
}

function checkClock({ headers: { date = '', age }, at, ms }: Answered): Finding {
  const skew = at - Date.parse(date);
  // A cache sends an old date.
  if (Number.isNaN(skew) || age !== undefined) return SKIPPED;
  if (Math.abs(skew) - ms <= MAX_SKEW_MS) return ok(`within ${MAX_SKEW_MS / 1000} s of the service`);
  const seconds = Math.round(Math.abs(skew) / 1000);
  const message = `This machine's clock is ${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} the service's.`;
  const hint = `Turn on time synchronization, or set this machine's clock to ${new Date(date).toISOString()}.`;
  return warning(message, hint);
}

function isForbidden({ status, lists }: Answered): boolean {
  return status === 403 && lists.every(({ error }) => error?.info.status === 403);
}

function checkToken(probe: Answered, { settings }: Facts): Finding {
  const { error, status } = probe;
  if (error && (status === 401 || isForbidden(probe))) return failed(error);
  const isAccepted = error === undefined || isUnexpectedShape(error) || status === 403;
  return isAccepted ? ok(`accepted, from ${settings.value?.token?.from}`) : SKIPPED;
}

/** Checks the scopes for reads. A missing one may be one that this token is not meant to have. */
function checkScopes(probe: Answered, { settings }: Facts): Finding {
  const { lists } = probe;
  const read = lists.filter(({ error }) => error === undefined || isUnexpectedShape(error));
  const missing = lists.filter(({ error }) => error?.info.status === 403);
  if (isForbidden(probe) || read.length + missing.length === 0) return SKIPPED;
  if (missing.length === 0) return ok(`may read ${joinNames(read)}`);
  const names = missing.map(({ operation }) => operation.scope).join(', ');
  const use = settings.value?.token?.replaceHint ?? '';
  const hint = `Create a token with these scopes where the organization administers its tokens. ${use}`;
  return warning(`The token has no scope to read ${joinNames(missing)}: ${names}.`, hint);
}

/** Fails if a call was refused for the balance (402): no call shows the balance itself. */
function checkBalance({ error, lists }: Answered): Finding {
  const tooLow = [error, ...lists.map((list) => list.error)].find(isBalanceTooLow);
  if (tooLow) return failed(tooLow);
  return error === undefined ? ok('at least 1 USD') : SKIPPED;
}

function checkContract({ error: firstError, lists, session }: Answered): Finding {
  const contradiction = [firstError, ...lists.map(({ error }) => error)].find(isUnexpectedShape);
  if (contradiction) return failed(contradiction);
  const missing = lists.find(({ error }) => isMissing(error));
  if (missing?.error) {
    const { message, info } = missing.error;
    return warning(`${missing.operation.what} cannot be read: ${message}`, info.hint);
  }
  if (session === 'ignored') {
    const message =
      'The history of a session that does not exist has messages: the service ignores which session is requested.';
    return warning(message, describeFix({ leaf: 'messages.history.session_id', value: 'query:<name>' }));
  }
  const unproved = lists.filter(({ isWhole }) => isWhole === false);
  if (unproved.length > 0) {
    const { message, hint } = describeUnproved(unproved);
    return warning(message, hint);
  }
  return lists.some(({ error }) => error === undefined) ? ok('no response contradicts it') : SKIPPED;
}

/** Checks everything, in the order to show. */
export function checkAll(facts: Facts): readonly Check[] {
  const { version, nodeVersion, probe, tokenError } = facts;
  const check = (ofAnswer: (answered: Answered, facts: Facts) => Finding): Finding =>
    probe?.status === undefined ? SKIPPED : ofAnswer({ ...probe, status: probe.status }, facts);
  const findings = {
    program: ok(`partnerctl ${version}, Node.js ${nodeVersion}`),
    profiles: checkProfiles(facts),
    settings: checkSettings(facts),
    connection: checkConnection(facts),
    service: check(checkService),
    clock: check(checkClock),
    token: tokenError ? failed(tokenError) : check(checkToken),
    scopes: check(checkScopes),
    balance: check(checkBalance),
    contract: check(checkContract),
    state: checkState(facts),
  };
  return Object.entries(findings).map(([name, finding]) => ({ name, ...finding }));
}

/** Returns the error to exit with, by the first failed check; undefined if none failed. */
export function failureOf(checks: readonly Check[]): PartnerctlError | undefined {
  const failures = checks.filter(({ failure }) => failure !== undefined);
  const [first] = failures;
  if (!first?.failure) return undefined;
  const names = failures.map(({ name }) => name);
  return new RunFailure(`Failed checks: ${names.join(', ')}.`, first.failure, {
    why: first.failure.message,
    hint: first.hint ?? undefined,
    details: { failed: names },
    cause: first.failure,
  });
}
