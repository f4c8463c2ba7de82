import pkg from '../../package.json' with { type: 'json' };
import type { Check } from './check.ts';
import { type DoctorDeps, gatherFacts } from './gather.ts';
import { checkProfiles, checkProgram, checkSettings, checkState } from './local-checks.ts';
import { checkAnswers } from './service-checks.ts';

/** The oldest Node.js that the program runs on. */
const MINIMUM_NODE = pkg.engines.node.replace(/^[^\d]*/, '');

/** Gathers the facts, and checks them. @throws what is no PartnerctlError */
export async function diagnose(deps: DoctorDeps): Promise<readonly Check[]> {
  const facts = await gatherFacts(deps);
  const local = [checkProgram(facts, MINIMUM_NODE), checkProfiles(facts), checkSettings(facts)];
  return [...local, ...checkAnswers(facts), checkState(facts)];
}

/** How many checks ended how. */
export function summarize(checks: readonly Check[]): Readonly<Record<Check['status'], number>> {
  const count = (wanted: Check['status']) => checks.filter(({ status }) => status === wanted).length;
  return { ok: count('ok'), warning: count('warning'), failed: count('failed'), skipped: count('skipped') };
}
