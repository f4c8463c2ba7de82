import { deferred, defineCommand } from '../../cli/command.ts';
import { SPACE_HELP } from '../../cli/options.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import type { JobRow } from '../../cron/job-rows.ts';
import { type ReportLine, reportResult } from '../../output/command-result.ts';
import type { SpaceView } from '../../provision/show-space.ts';

type Agent = SpaceView['agents'][number];

function named(name: string | undefined, details: readonly (string | null | undefined)[]): string {
  return [name ?? '(no name)', ...details].filter((part) => part).join('  ');
}

function chatText({ source_id }: Agent): string | undefined {
  if (source_id === undefined) return undefined;
  return source_id === null ? 'no chat' : `chat ${source_id}`;
}

function jobLine({ name, cron_job_id, description, next, state }: JobRow): ReportLine {
  const run = next && state !== 'gone' ? `next ${next}` : undefined;
  return { indent: 4, text: named(name, [cron_job_id, description, run, state]) };
}

function toLines({ space, agents, jobs }: SpaceView): readonly ReportLine[] {
  return [
    { indent: 0, text: named(space.name, [space.external_space_id, space.space_id, space.description]) },
    ...agents.flatMap((agent) => [
      { indent: 2, text: named(agent.name, [agent.agent_id, agent.template_id, chatText(agent)]) },
      ...agent.jobs.map(jobLine),
    ]),
    ...(agents.length === 0 ? [{ indent: 2, text: 'no agents' }] : []),
    ...(jobs === undefined ? [{ indent: 2, text: 'jobs: not known' }] : []),
  ];
}

function toJson({ space, agents, jobs }: SpaceView): object {
  return {
    space: space.item,
    agents: agents.map((agent) => agent.item),
    chat: agents.flatMap(({ agent_id, name, source_id }) => (source_id ? [{ source_id, agent_id, name }] : [])),
    cron: jobs?.map(({ json }) => json) ?? null,
  };
}

export const show = () =>
  defineCommand('show', 'Show the agents, chats, and jobs of a space', {
    scopes: [OPERATIONS.listSpaces.scope, OPERATIONS.listAgents.scope, OPERATIONS.listCronJobs.scope],
    json: '{space, agents, chat: [{source_id, agent_id, name}], cron}',
    examples: [
      'partnerctl spaces show ext:acme-001  # everything of one customer',
      'partnerctl spaces show spc_123 -o json --query cron  # its jobs, by space_id',
      "partnerctl spaces show 'name:Acme' -o json --query 'chat[].source_id'  # its chat sources, for a script",
    ],
  })
    .argument('<space>', SPACE_HELP)
    .action(
      deferred(async (context, space) => {
        const { showSpace } = await import('../../provision/show-space.ts');
        const view = await showSpace(context, space);
        return reportResult(toJson(view), toLines(view));
      }),
    );
