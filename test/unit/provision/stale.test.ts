import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ListedAgent, ListedCronJob } from '../../../src/contract/resources.ts';
import { planSpace, type SpacePlan } from '../../../src/provision/plan.ts';
import { limitToPlanned } from '../../../src/provision/plan-file.ts';
import { jobsByAgent, snapshotOf } from '../../../src/provision/snapshot.ts';

const SCHEDULE = { minute: '0', hour: '9', day_of_week: '*', timezone: 'UTC' };
const agent = (name: string, more: Partial<ListedAgent> = {}): ListedAgent => {
  return { agent_id: `agt_${name}`, name, template_id: `t_${name}`, source_id: null, item: {}, ...more };
};
const job = (owner: string, name: string, instructions = 'Look.'): ListedCronJob => {
  const agents = { agent_id: `agt_${owner}`, agent_text: undefined };
  return { cron_job_id: `${owner} ${name}`, ...agents, name, instructions, schedule: SCHEDULE };
};
const chat = (owner: string, name: string) => {
  return { source_id: `src_${owner}`, source: { name, reply_capable: true, routing_mode: 'agent_inbox' } };
};

const BEFORE = {
  space: { space_id: 's1', name: 'Acme' },
  agents: [agent('a'), agent('c', chat('c', 'Old'))],
  jobs: [job('a', 'old')],
};
type World = typeof BEFORE;

const CHANGES: Readonly<Record<string, (now: World) => Partial<World>>> = {
  none: () => ({}),
  'rename the space': () => ({ space: { space_id: 's1', name: 'Theirs' } }),
  'install an agent': ({ agents }) => ({ agents: [...agents, agent('theirs')] }),
  'remove an agent': ({ agents }) => ({ agents: agents.slice(1) }),
  'change an agent': ({ agents }) => ({ agents: agents.with(1, agent('c', { ...agents[1], name: 'Theirs' })) }),
  'set up a chat': ({ agents }) => ({ agents: agents.with(0, agent('a', chat('a', 'Theirs'))) }),
  'change a chat': ({ agents }) => ({ agents: agents.with(1, agent('c', chat('c', 'Theirs'))) }),
  'create a job': ({ jobs }) => ({ jobs: [...jobs, job('a', 'theirs')] }),
  'change a job': ({ jobs }) => ({ jobs: jobs.with(0, job('a', 'old', 'Look twice.')) }),
  'delete a job': ({ jobs }) => ({ jobs: jobs.slice(1) }),
};

/** What there is once a plan was carried out. */
function carryOut({ steps }: SpacePlan): World {
  const namesOf = (op: string) => steps.flatMap((step) => (step.op === op && step.id === null ? [step.name] : []));
  const chats = namesOf('setup_chat');
  const agents = [...BEFORE.agents, ...namesOf('install_agent').map((name) => agent(name))];
  const jobs = steps.flatMap((step) => (step.op === 'create_job' ? [job(step.agent.wanted.name, step.name)] : []));
  const withChats = agents.map((each) => {
    return { ...each, ...(chats.includes(each.name ?? '') && chat(each.name ?? '', 'Web')) };
  });
  return { ...BEFORE, agents: withChats, jobs: [...BEFORE.jobs, ...jobs] };
}

const cron = [{ name: 'new', instructions: 'Look.', schedule: SCHEDULE }];
const agents = fc.uniqueArray(
  fc.record({ name: fc.constantFrom('a', 'b'), extras: fc.subarray([{ cron }, { chat: { name: 'Web' } }]) }),
  { minLength: 1, selector: ({ name }) => name },
);

test('Exactly what others have changed since a plan makes it stale, whether or not it was carried out', () => {
  const check = (wanted: typeof agents extends fc.Arbitrary<infer A> ? A : never, isDone: boolean, change: string) => {
    const all = wanted.map(({ name, extras }) => ({ name, template_id: `t_${name}`, ...Object.assign({}, ...extras) }));
    const manifest = { external_space_id: 'acme', space: { name: 'Acme' }, agents: all };
    const planOf = (seen: World) =>
      planSpace({ source: '', index: 0, manifest, places: {} }, { ...seen, fact: undefined }, true);
    const plan = planOf(BEFORE);
    const steps = plan.steps.flatMap(({ key, status }) => (status === 'planned' ? [key] : []));
    const planned = { source: '', places: {}, manifest, observed: snapshotOf(plan, jobsByAgent(BEFORE.jobs)), steps };
    const done = isDone ? carryOut(plan) : BEFORE;
    const now = { ...done, ...CHANGES[change]?.(done) };
    const { failures } = limitToPlanned(planOf(now), planned, jobsByAgent(now.jobs));
    expect(failures).toHaveLength(change === 'none' ? 0 : 1);
  };
  fc.assert(fc.property(agents, fc.boolean(), fc.constantFrom(...Object.keys(CHANGES)), check), { numRuns: 500 });
});
