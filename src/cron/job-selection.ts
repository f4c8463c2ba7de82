import { UsageError } from '../errors.ts';
import { type AgentInput, type AgentOptions, parseJobAgent } from './job-agent.ts';

/** How the command line selects a recorded job: by its key or id, or by agent and name. */
export type JobSelection = { readonly key: string } | (AgentInput & { readonly name: string });

/** Parses the selection. @param key the key, if typed @throws UsageError unless the job is named in exactly one way */
export function parseJobSelection(
  { name, ...agent }: AgentOptions & { readonly name?: string | undefined },
  key: string | undefined,
): JobSelection {
  const isNamed = agent.agent !== undefined || name !== undefined;
  if (key && isNamed) throw new UsageError('The job is named twice: by its key, and by --agent and --name.');
  if (key) return { key };
  if (!isNamed)
    throw new UsageError('No job is named.', {
      hint: 'Give its key (`partnerctl cron list --local -o json` shows it), or --agent and --name.',
    });
  if (name === undefined) throw new UsageError('--name is missing.');
  return { ...parseJobAgent(agent), name };
}
