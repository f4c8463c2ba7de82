import { isUnexpectedShape, NotJsonError, type PartnerctlError, RunFailure } from '../errors.ts';
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

function checkSettings({ settings }: Facts): Finding {
  if (settings.error) return failed(settings.error);
  const { baseUrl, profile, token } = settings.value;
  const protection = profile?.stored?.protected ? ', which is protected' : '';
  const named = profile ? `profile "${profile.value}" from ${profile.from}${protection}` : 'no profile';
  const source = token ? `token from ${token.from}` : 'no token';
  return ok(`${baseUrl.value} from ${baseUrl.from}, ${source}, ${named}`);
}

/** Checks that the state can be read and written, and that every line is intact. Warns if CI does not share it. */
function checkState({ state, isCi, settings }: Facts): Finding {
  // The profile may name the state.
  if (state === undefined || (state.error && settings.error?.message === state.error.message)) return SKIPPED;
  if (state.error) return failed(state.error);
  const { location, exists, records } = state.value;
  const { kind, address, from } = location;
  const where = kind === 'file' ? 'a file: guards this machine only' : 'shared';
  const message = `${address} (${from}): ${where}; ${exists ? `records: ${records}` : 'it does not exist yet'}`;
  if (!isCi || kind !== 'file' || records > 0 || settings.error) return ok(message);
  const hint = 'Share one state with --state postgres://… or git+ssh://…#branch: partnerctl help state';
  return warning(`${message}. In CI, it guards this run alone.`, hint);
}

/** Whether a list is missing, or not where the contract has it. */
function isMissing(error: PartnerctlError): boolean {
  return error.info.status === 404 || error.info.status === 405;
}

/** Whether an error is about one list: the checks of the scopes and of the contract tell it. */
function isOfOneList(error: PartnerctlError): boolean {
  return isUnexpectedShape(error) || isMissing(error) || error.info.status === 403;
}

/** Checks the connection, that the base URL leads to this API, the token, and the balance: what every command needs. */
function checkService({ settings, proxy, tokenError, lists = [] }: Facts): Finding {
  const broken = proxy?.error ?? tokenError;
  if (broken) return failed(broken);
  const [first] = lists;
  if (settings.value === undefined || first === undefined) return SKIPPED;
  const { baseUrl, token } = settings.value;
  const { error } = first;
  const { status = 200, hint = '' } = error?.info ?? {};
  if (error && status === 429) return warning(error.message, hint);
  if (error && (error instanceof NotJsonError || isMissing(error) || (status >= 300 && status < 400)))
    return failed(error, `Something else responds there. Correct the URL in ${baseUrl.from}. ${hint}`.trim());
  const errors = lists.flatMap((list) => list.error ?? []);
  const isForbidden = errors.length === lists.length && errors.every((each) => each.info.status === 403);
  const failure = isForbidden ? error : errors.find((each) => !isOfOneList(each));
  if (failure) return failed(failure);
  const through = proxy?.value ? `, through ${new URL(proxy.value.url).host} (${proxy.value.from})` : '';
  return ok(`${new URL(baseUrl.value).host} accepts the token from ${token?.from}${through}`);
}

/** Checks the scopes for reads. A missing one may be one that this token is not meant to have. */
function checkScopes(lists: readonly ListRead[], { settings }: Facts): Finding {
  const missing = lists.filter(({ error }) => error?.info.status === 403);
  if (missing.length === 0) return ok(`may read ${joinNames(lists)}`);
  const names = missing.map(({ operation }) => operation.scope).join(', ');
  const use = settings.value?.token?.replaceHint ?? '';
  const hint = `Create a token with these scopes where the organization administers its tokens. ${use}`;
  return warning(`The token has no scope to read ${joinNames(missing)}: ${names}.`, hint);
}

function checkContract(lists: readonly ListRead[]): Finding {
  const contradicted = lists.find(({ error }) => isUnexpectedShape(error));
  if (contradicted?.error) return failed(contradicted.error);
  const missing = lists.find(({ error }) => error && isMissing(error));
  if (missing?.error) {
    const { message, info } = missing.error;
    return warning(`${missing.operation.what} cannot be read: ${message}`, info.hint);
  }
  const unproved = lists.filter(({ isWhole }) => isWhole === false);
  if (unproved.length === 0) return ok('no response contradicts it');
  const { message, hint } = describeUnproved(unproved);
  return warning(message, hint);
}

/** Checks everything, in the order to show. */
export function checkAll(facts: Facts): readonly Check[] {
  const { version, nodeVersion, lists = [] } = facts;
  const service = checkService(facts);
  const ofLists = (check: typeof checkScopes): Finding => (service.status === 'ok' ? check(lists, facts) : SKIPPED);
  const findings = {
    program: ok(`partnerctl ${version}, Node.js ${nodeVersion}`),
    settings: checkSettings(facts),
    service,
    scopes: ofLists(checkScopes),
    contract: ofLists(checkContract),
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
