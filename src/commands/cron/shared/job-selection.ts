import { type AgentInput, agentFlags } from '../../../cli/agent-args.ts';
import type { Args } from '../../../cli/command.ts';
import { UsageError } from '../../../errors.ts';
import { parseJobAgent } from './job-agent.ts';

/** How the command line selects a recorded job: by its key or id, or by agent and name. */
export type JobSelection = { readonly key: string } | (AgentInput & { readonly name: string });

export const JOB_SELECTION_FLAGS = [
  ...agentFlags('in place of the key, with --name: '),
  { usage: '--name <name>', description: 'in place of the key, with --agent: the name of the job' },
] as const;

/** Parses the selection. @param key the key, if typed @throws UsageError unless the job is named in exactly one way */
export function parseJobSelection(args: Args, key: string | undefined): JobSelection {
  const named = args.value('agent') !== undefined || args.value('name') !== undefined;
  if (key && named) throw new UsageError('The job is named twice: by its key, and by --agent and --name.');
  if (key) return { key };
  if (!named)
    throw new UsageError('No job is named.', {
      hint: 'Give its key (`partnerctl cron list --local -o json` shows it), or --agent and --name.',
    });
  const name = args.value('name');
  if (!name) throw new UsageError('--name is missing.');
  return { ...parseJobAgent(args), name };
}
