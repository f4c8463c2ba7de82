import {
  isBalanceTooLow,
  isUnexpectedShape,
  NotJsonError,
  type PartnerctlError,
  RunFailure,
  ShapeError,
} from '../errors.ts';
import type { Facts } from './gather.ts';
import { describeUnproved, joinNames, type ListRead } from './read-service.ts';

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

/** What the service answered to the reading of its lists. */
interface Answered {
  readonly lists: readonly ListRead[];
  /** Of the first list. */
  readonly error: PartnerctlError | undefined;
  readonly errors: readonly PartnerctlError[];
  readonly hasResponded: boolean;
}

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

function checkProfiles({ profiles, profilesPath }: Facts): Finding {
  if (profiles.error) return failed(profiles.error);
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

function checkConnection({ settings, proxy }: Facts, { error, hasResponded }: Answered): Finding {
  if (proxy?.error) return failed(proxy.error);
  if (error && !hasResponded) return failed(error);
  if (settings.value === undefined || !hasResponded) return SKIPPED;
  const through = proxy?.value ? `, through ${new URL(proxy.value.url).host} (${proxy.value.from})` : '';
  return ok(`${new URL(settings.value.baseUrl.value).host} responded${through}`);
}

function isMissing(error: PartnerctlError | undefined): boolean {
  return error?.info.status === 404 || error?.info.status === 405;
}

/** Checks that the base URL leads to this API. The token, its scopes, the balance, and the contract have their own checks. */
function checkService({ settings }: Facts, { error, errors }: Answered): Finding {
  const elsewhere = `Something else responds there. Correct the URL in ${settings.value?.baseUrl.from}.`;
  if (error instanceof NotJsonError) return failed(error, elsewhere);
  const { status = 200, hint = '' } = error?.info ?? {};
  if (error && status === 429) return warning(error.message, hint);
  if (error && (isMissing(error) || (status >= 300 && status < 400)))
    return failed(error, `${elsewhere} ${hint}`.trim());
  const isExplained = (each: PartnerctlError) =>
    isUnexpectedShape(each) || isMissing(each) || [401, 402, 403].includes(each.info.status ?? 0);
  const other = errors.find((each) => !isExplained(each));
  return other ? failed(other) : ok('responds with JSON');
}

function isForbidden({ lists }: Answered): boolean {
  return lists.every(({ error }) => error?.info.status === 403);
}

function checkToken({ settings }: Facts, answered: Answered): Finding {
  const { error } = answered;
  if (error && (error.info.status === 401 || isForbidden(answered))) return failed(error);
  const isAccepted = error === undefined || isUnexpectedShape(error) || error.info.status === 403;
  return isAccepted ? ok(`accepted, from ${settings.value?.token?.from}`) : SKIPPED;
}

/** Checks the scopes for reads. A missing one may be one that this token is not meant to have. */
function checkScopes({ settings }: Facts, answered: Answered): Finding {
  const { lists } = answered;
  const read = lists.filter(({ error }) => error === undefined || isUnexpectedShape(error));
  const missing = lists.filter(({ error }) => error?.info.status === 403);
  if (isForbidden(answered) || read.length + missing.length === 0) return SKIPPED;
  if (missing.length === 0) return ok(`may read ${joinNames(read)}`);
  const names = missing.map(({ operation }) => operation.scope).join(', ');
  const use = settings.value?.token?.replaceHint ?? '';
  const hint = `Create a token with these scopes where the organization administers its tokens. ${use}`;
  return warning(`The token has no scope to read ${joinNames(missing)}: ${names}.`, hint);
}

/** Fails if a call was refused for the balance (402): no call shows the balance itself. */
function checkBalance(_: Facts, { error, errors }: Answered): Finding {
  const tooLow = errors.find(isBalanceTooLow);
  if (tooLow) return failed(tooLow);
  return error === undefined ? ok('at least 1 USD') : SKIPPED;
}

function checkContract(_: Facts, { lists, errors }: Answered): Finding {
  const contradiction = errors.find(isUnexpectedShape);
  if (contradiction) return failed(contradiction);
  const missing = lists.find(({ error }) => isMissing(error));
  if (missing?.error) {
    const { message, info } = missing.error;
    return warning(`${missing.operation.what} cannot be read: ${message}`, info.hint);
  }
  const unproved = lists.filter(({ isWhole }) => isWhole === false);
  if (unproved.length > 0) {
    const { message, hint } = describeUnproved(unproved);
    return warning(message, hint);
  }
  return lists.some(({ error }) => error === undefined) ? ok('no response contradicts it') : SKIPPED;
}

function toAnswered(lists: readonly ListRead[]): Answered {
  const [first] = lists;
  const error = first?.error;
  const hasResponded = error === undefined || error.info.status !== undefined || error instanceof ShapeError;
  return {
    lists,
    error,
    errors: lists.flatMap((list) => list.error ?? []),
    hasResponded: first !== undefined && hasResponded,
  };
}

/** Checks everything, in the order to show. */
export function checkAll(facts: Facts): readonly Check[] {
  const { version, nodeVersion, tokenError, lists = [] } = facts;
  const answered = toAnswered(lists);
  const check = (find: (facts: Facts, answered: Answered) => Finding): Finding =>
    answered.hasResponded ? find(facts, answered) : SKIPPED;
  const findings = {
    program: ok(`partnerctl ${version}, Node.js ${nodeVersion}`),
    profiles: checkProfiles(facts),
    settings: checkSettings(facts),
    connection: checkConnection(facts, answered),
    service: check(checkService),
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
