import type { Check } from './check.ts';
import { type DoctorContext, gatherFacts } from './gather.ts';
import { checkProfiles, checkProgram, checkSettings, checkState } from './local-checks.ts';
import { checkAnswers } from './service-checks.ts';

/** Gathers the facts, and checks them. @throws what is no PartnerctlError */
export async function diagnose(context: DoctorContext): Promise<readonly Check[]> {
  const facts = await gatherFacts(context);
  const local = [checkProgram(facts), checkProfiles(facts), checkSettings(facts)];
  return [...local, ...checkAnswers(facts), checkState(facts)];
}
