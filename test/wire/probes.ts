import type { Ran } from '../support/run.ts';
import { type Fact, type Facts, type Listed, SESSION } from './facts.ts';
import { createJob, type Operation, type Problem, type Step, valueAt } from './operations.ts';
import { parseJson, type Server } from './server.ts';
import { isSilent, isWire, pathOf, show } from './service.ts';

/* What is judged by the whole list: reads that show it, and guards that act on it. */

/** A read or a guard, and the list in which its fault is. */
export interface Probe {
  readonly resource: Listed;
  readonly operation: Operation;
}

/** What a warning says of a list that may not be whole. */
const WARNING = /partnerctl contract set \w+\.\w+\.next none/;
/** What is said where the service itself has no such list, so that only the state is known. */
const NO_LIST = /cannot read the list of \w+ .*\(40[345]\)/;
/** Lists with fewer items that say nothing of pages are taken as whole. */
const FULL_PAGE = 10;

/** A read of a list shows all that was there all the time, or warns where the service lets nobody find out. */
function read(resource: Listed, argv: (facts: Facts) => readonly string[]): Probe {
  const list = ({ facts }: Server): Fact[] =>
    facts
      .listed(resource)
      .filter(
        ({ space_id, source_id, session_id }) =>
          (resource !== 'agent' || space_id === facts.space.space_id) &&
          (resource !== 'message' || (source_id === facts.source.source_id && session_id === SESSION)),
      );
  return {
    resource,
    operation(server) {
      const before = list(server);
      const check: Step['check'] = ({ stdout, stderr }) => {
        const shown = new Set(itemsIn(stdout, resource).map((item) => JSON.stringify(nameOf(server, resource, item))));
        const wanted = list(server).filter((fact) => before.includes(fact));
        const missing = wanted.filter((fact) => {
          const wire = resource === 'message' ? fact : show(server.service, resource, fact);
          return !shown.has(JSON.stringify(nameOf(server, resource, wire)));
        });
        const isRefusing = server.service.isStrict || server.fault?.kind.isRejection;
        const isOpen = isSilent(server.service, resource) && isRefusing && wanted.length >= FULL_PAGE;
        return [
          ...(missing.length === 0 ? [] : [lacking(`${missing.length} of ${wanted.length} are missing`)]),
          ...(WARNING.test(stderr) && !isOpen ? [{ text: 'it warns of a list that can be read to its end' }] : []),
        ];
      };
      return [{ argv: argv(server.facts), check }];
    },
  };
}

const lacking = (text: string): Problem => ({ text, excuse: WARNING });

function itemsIn(stdout: string, resource: Listed): unknown[] {
  if (resource === 'message') return stdout.split('\n').flatMap((line) => (line === '' ? [] : [parseJson(line)]));
  const items = parseJson(stdout);
  return Array.isArray(items) ? items : [];
}

/** What tells an item from the others: its id, or the text of a message. */
function nameOf({ service }: Server, resource: Listed, item: unknown): unknown {
  return valueAt(item, resource === 'message' ? 'text' : (pathOf(service, resource, `${resource}_id`) ?? ''));
}

function guard(resource: Listed, step: (facts: Facts) => Omit<Step, 'isGuard'>): Probe {
  return { resource, operation: ({ facts }) => [{ ...step(facts), isGuard: true }] };
}

const nothingSent: Step['check'] = (_, { writes }) => writes.map((path) => ({ text: `it sends to ${path}` }));

/** The plan of what is there has nothing to do. */
function isUnchanged(ran: Ran, server: Server): readonly Problem[] {
  const plan = parseJson(ran.stdout);
  const spaces: readonly unknown[] = isWire(plan) && Array.isArray(plan.spaces) ? plan.spaces : [];
  const actions = spaces.map((space) => (isWire(space) ? space.action : space));
  return [
    ...nothingSent(ran, server),
    ...(String(actions) === 'none' ? [] : [{ text: `the action for what is there is ${actions}`, excuse: NO_LIST }]),
  ];
}

const PROBES: Readonly<Record<string, Probe>> = {
  'spaces list': read('space', () => ['spaces', 'list', '-o', 'json']),
  'agents list': read('agent', ({ space }) => ['agents', 'list', String(space.space_id), '-o', 'json']),
  'cron list': read('cron_job', () => ['cron', 'list', '-o', 'json']),
  'chat tail': read('message', ({ source }) => [
    ...['chat', 'tail', '--source', String(source.source_id), '--session', SESSION],
    ...['--from-start', '--no-follow', '-o', 'ndjson'],
  ]),
  'cron create': guard('cron_job', ({ jobs }) => {
    const { agent_id, name } = jobs.at(-1) ?? {};
    return { argv: createJob(agent_id, name), code: 5, check: nothingSent };
  }),
  provision: guard('space', () => ({ argv: ['provision', '@last.yaml', '-o', 'json'], check: nothingSent })),
  plan: guard('agent', () => ({ argv: ['plan', '@last.yaml', '-o', 'json'], check: isUnchanged })),
};

/** The probes that a service can be tested with: a list of jobs may not exist, nor the external id of a space. */
export function probesOf({ service }: Server): [string, Probe][] {
  const isListed = pathOf(service, 'space', 'external_space_id') !== null;
  return Object.entries(PROBES).filter(
    ([name, { resource }]) =>
      (resource !== 'cron_job' || service.noJobList === undefined) &&
      (isListed || !['provision', 'plan'].includes(name)) &&
      !Object.hasOwn(service.impossible ?? {}, name),
  );
}
