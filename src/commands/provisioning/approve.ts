import type { Context } from '../../cli/context.ts';
import { UsageError } from '../../errors.ts';
import type { SpacePlan, Step } from '../../provision/plan.ts';
import { counted, totalOf } from './report.ts';

/** As many new spaces are provisioned without a question. */
const FEW = 20;

/**
 * Returns what decides whether plans are carried out: spaces and agents cannot be deleted.
 * @throws UsageError if there are more new ones than --max-creates, or the user declines. Nothing was sent then
 */
export function approver(
  context: Context,
  { maxCreates = Number.POSITIVE_INFINITY, yes = false }: { readonly maxCreates?: number; readonly yes?: boolean },
) {
  return async (plans: readonly SpacePlan[]): Promise<void> => {
    const planned = plans.flatMap(({ steps }) => steps).filter(({ status }) => status === 'planned');
    const count = (wanted: Step['op']) => planned.filter(({ op }) => op === wanted).length;
    const [spaces, agents] = [count('create_space'), count('install_agent')];
    if (Math.max(spaces, agents) > maxCreates) {
      const things = [...counted(spaces, 'space'), ...counted(agents, 'agent')].join(' and ');
      throw new UsageError(`This would create ${things}, and --max-creates is ${maxCreates}.`, {
        why: 'Nothing was sent.',
        hint: 'Select some of them with --only, or allow more.',
      });
    }
    if (spaces <= FEW || yes) return;
    const { confirm } = context.prompts;
    if (!confirm) return;
    context.progress.stop();
    if (await confirm(`${totalOf(plans, 'planned')} Go on?`)) return;
    throw new UsageError('Not confirmed. Nothing was sent.', { hint: 'To answer in advance, add --yes.' });
  };
}
