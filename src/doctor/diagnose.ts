import { type PartnerctlError, RunFailure } from '../errors.ts';
import type { Check, CheckStatus } from './check.ts';
import type { Facts } from './facts.ts';
import { checkNode, checkProfiles, checkProgram, checkSettings, checkState } from './local-checks.ts';
import { checkConnection, checkDns, checkProxy, checkTls } from './network-checks.ts';
import {
  checkBalance,
  checkClock,
  checkContractValues,
  checkScopes,
  checkService,
  checkToken,
} from './service-checks.ts';

/**
 * Evaluates the facts, causes before consequences. Pure.
 * @param extraAuthorities the value of NODE_EXTRA_CA_CERTS
 */
export function diagnose(facts: Facts, extraAuthorities: string | undefined): readonly Check[] {
  return [
    checkProgram(facts),
    checkNode(facts),
    checkProfiles(facts),
    checkSettings(facts),
    checkProxy(facts),
    checkDns(facts),
    checkConnection(facts),
    checkTls(facts, extraAuthorities),
    checkService(facts),
    checkClock(facts),
    checkToken(facts),
    checkScopes(facts),
    checkBalance(facts),
    checkContractValues(facts),
    checkState(facts),
  ];
}

/** Counts the checks by their status. */
export function summarize(checks: readonly Check[]): Readonly<Record<CheckStatus, number>> {
  const count = (wanted: CheckStatus) => checks.filter(({ status }) => status === wanted).length;
  return { ok: count('ok'), warning: count('warning'), failed: count('failed'), skipped: count('skipped') };
}

/** Returns the error to exit with: the first failed check decides its type and exit code. Undefined if no check failed. */
export function failureOf(checks: readonly Check[]): PartnerctlError | undefined {
  const failures = checks.flatMap(({ name, hint, failure }) => (failure ? [{ name, hint, failure }] : []));
  const [first] = failures;
  if (first === undefined) return undefined;
  const names = failures.map(({ name }) => name);
  const count = names.length === 1 ? '1 check' : `${names.length} checks`;
  return new RunFailure(`${count} failed: ${names.join(', ')}.`, first.failure, {
    why: first.failure.message,
    hint: first.hint ?? undefined,
    details: { failed: names },
    cause: first.failure,
  });
}
