import { deferred, defineCommand } from '../../cli/command.ts';
import { collect, duration, integer } from '../../cli/options.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { PartialFailure } from '../../errors.ts';
import { type CommandResult, type ReportLine, reportResult } from '../../output/command-result.ts';
import type { Rehearsal, SeedResult } from '../../rehearsal/rehearse.ts';

const MAX_SHOWN = 10;

function seedLines({ seed, killed_at, killed: when, runs, problems }: SeedResult): readonly ReportLine[] {
  const killed = killed_at === null ? '' : `killed ${when} request ${killed_at}, `;
  return [
    { indent: 0, marker: 'x', tone: 'bad', text: `seed ${seed}: ${killed}${runs} runs` },
    ...problems.map(({ message }): ReportLine => ({ indent: 4, text: message })),
  ];
}

function toResult({ seeds, requests, interruption }: Rehearsal, wanted: number): CommandResult {
  const failed = seeds.filter(({ problems }) => problems.length > 0);
  const ended_well = seeds.length - failed.length;
  // The run that is killed always has one repeat.
  const repeated = seeds.filter(({ runs, killed_at }) => runs > (killed_at === null ? 1 : 2)).length;
  const isGood = failed.length === 0;
  const ended = interruption ? `Interrupted after ${seeds.length} of ${wanted} seeds. ` : '';
  const total = `${ended}${ended_well} of ${seeds.length} seeds ended well.`;
  const more = failed.length - MAX_SHOWN;
  const report: readonly ReportLine[] = [
    { indent: 0, tone: isGood && !interruption ? 'good' : 'bad', text: total },
    ...failed.slice(0, MAX_SHOWN).flatMap(seedLines),
    ...(more > 0 ? [{ indent: 0, text: `and ${more} more seeds; -o json shows all` }] : []),
    { indent: 0, text: `Without faults and a rate limit, provision sends ${requests} requests.` },
    { indent: 0, text: `After the kill, ${repeated} of ${seeds.length} seeds needed more than one run.` },
  ];
  return {
    ...reportResult({ seeds, summary: { seeds: seeds.length, ended_well, repeated, requests } }, report),
    failure: interruption ?? (isGood ? undefined : new PartialFailure(total)),
  };
}

export const rehearse = () =>
  defineCommand('rehearse', 'Rehearse a roll-out under faults, before it touches a customer', {
    description:
      'Rehearses provisioning once for each seed, each time in a sandbox of its own that begins with what the configured service has: the spaces of the manifests, their agents, chats, and jobs, and what the state recorded of them. The service gets only reads. Without a service, the rehearsal begins with nothing. A seed determines which requests fail (503, 429, broken connections, cut, slow, and late responses, a balance that runs out), and at which request provision is killed, before or after it is handled; twice as many seeds as there are requests kill it at each of these points. Then provision is repeated, up to five times, with jobs of unknown outcome reconciled as by `cron reconcile --assume-not-created`; their lease passes on the clock of the sandbox. Before each run, the balance is topped up. In the end everything must be there, and nothing twice.',
    scopes: [OPERATIONS.listSpaces.scope, OPERATIONS.listAgents.scope, OPERATIONS.listCronJobs.scope],
    exits: ['partial'],
    json: '{seeds: [{seed, runs, killed_at, killed, problems}], summary: {seeds, ended_well, repeated, requests}}',
    examples: [
      'partnerctl sandbox rehearse customers/  # 100 seeds',
      'partnerctl sandbox rehearse acme.yaml --seeds 8 -o json  # fewer, for a script',
      `partnerctl sandbox rehearse acme.yaml --seeds 20 --settings '{"rate_limit":{"requests":5,"per_seconds":1}}' --run-timeout 2m  # at a service with this rate limit`,
    ],
  })
    .argument('<file...>', 'YAML files, or directories of them')
    .option('--seeds <n>', 'how many seeds', integer(1, 10_000), 100)
    .option('--var <NAME=value>', 'a value for ${NAME} that wins over the environment; repeatable', collect, [])
    .option('--settings <json>', 'what the service is like, as the admin API takes it: see `partnerctl help sandbox`')
    .option('--faults <file>', 'a JSON file of faults to inject before those of the seeds')
    .option('--lose-state', 'delete the state after the run that is killed')
    .option('--run-timeout <duration>', 'the --timeout of each run of provision', duration)
    .action(
      deferred(async (context, files, options) => {
        const { prepareRehearsal } = await import('./shared/rehearsal.ts');
        const { rehearse: rehearseSeeds } = await import('../../rehearsal/rehearse.ts');
        const deps = await prepareRehearsal(context, files, options);
        const show = (done: number) => `Rehearsing: ${done} of ${options.seeds} seeds`;
        context.progress.start(show(0));
        const rehearsal = await rehearseSeeds(deps, (done) => context.progress.update(show(done)));
        return toResult(rehearsal, options.seeds);
      }),
    );
