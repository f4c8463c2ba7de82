import type { Context } from '../../../cli/context.ts';
import { readText, refuseTokenOnStdin } from '../../../cli/input.ts';
import type { WantedJob } from '../../../cron/job.ts';
import { InputError } from '../../../errors.ts';
import { AgentFinder } from './job-agent.ts';
import type { JobInput } from './job-input.ts';

/** The job that flags describe. @throws InputError, UsageError; NotFoundError if its agent is not found */
export async function readJobFromFlags(
  context: Context,
  { name, instructions, schedule, agent, space }: JobInput,
): Promise<WantedJob> {
  if (instructions.from === 'stdin') refuseTokenOnStdin(context.flags, 'input');
  const text = await readText(instructions, 'The instructions', () => context.io.stdin, context.abortSignal);
  if (text.trim() === '') {
    throw new InputError('--instructions is blank.', {
      hint: 'Nothing was sent. Describe what the agent does on each run.',
    });
  }
  const agent_id =
    agent.by === 'id' ? agent.value : await new AgentFinder(context, await context.http()).find({ agent, space });
  return { index: 0, source: undefined, job: { agent_id, name, instructions: text, schedule } };
}
