import { cut, type Handler, json, reset } from '../support/fake-service.ts';
import type { Facts, Listed } from './facts.ts';
import type { Service } from './service.ts';

/** What happens at one page of a list. */
export interface FaultKind {
  readonly name: string;
  /** The numbers of the pages at which it is played. */
  readonly pages: readonly number[];
  /** Whether it looks like a service that does not allow the question for more. */
  readonly isRejection?: true;
  /** Whether a second request for the page gets it. */
  readonly isOnce?: true;
  /** What is sent instead of the page; `again` is the page before. */
  readonly instead?: (service: Service) => Handler | 'again';
  /** What happens to the list before the page is read, once, and only where the list states its total. */
  readonly change?: (facts: Facts, resource: Listed) => void;
}

/** A fault at one page of the list of a resource. */
export interface Fault {
  readonly kind: FaultKind;
  readonly resource: Listed;
  readonly page: number;
}

const GATEWAY = '<html><head><title>404 Not Found</title></head><body>nginx</body></html>';

/** An error in the body of the service. Its status is its own only where the service itself speaks. */
function failing(status: number, own = false): (service: Service) => Handler {
  return ({ error, errorStatus }) => {
    const sentence = 'The database is away.';
    const body = error?.({ status, code: 'failed', sentence }) ?? { detail: sentence };
    return json(body, own ? (errorStatus ?? status) : status);
  };
}

/** The list of the tests: of agents, those of the space that is asked for. */
function indexOfFirst(facts: Facts, resource: Listed): number {
  const isOwn = (space: unknown): boolean => resource !== 'agent' || space === facts.space.space_id;
  return facts.listed(resource).findIndex(({ space_id }) => isOwn(space_id));
}

function add(facts: Facts, resource: Listed): void {
  if (resource === 'space') facts.addAnotherSpace();
  if (resource === 'agent') facts.addAnotherAgent();
  if (resource === 'cron_job') facts.addAnotherJob();
}

export const FAULTS: readonly FaultKind[] = [
  { name: 'nothing', pages: [2] },
  { name: 'a 500', pages: [1, 2, 3], instead: failing(500) },
  { name: 'a 501', pages: [2, 3], instead: failing(501) },
  { name: 'a 503', pages: [1, 2, 3], instead: failing(503) },
  { name: 'a 503, once', pages: [1, 2, 3], isOnce: true, instead: failing(503) },
  { name: 'a 400', pages: [2, 3], isRejection: true, instead: failing(400, true) },
  {
    name: 'a 404 of a gateway',
    pages: [2, 3],
    instead: () => (_, response) => response.writeHead(404, { 'content-type': 'text/html' }).end(GATEWAY),
  },
  { name: 'a reset', pages: [1, 2, 3], instead: () => reset },
  { name: 'a cut body', pages: [1, 2, 3], instead: () => cut('{"results":[{"id":') },
  {
    name: 'an error in a 200',
    pages: [2, 3],
    isRejection: true,
    instead: () => json({ success: false, error: 'The database is away.' }),
  },
  { name: 'the page before again', pages: [2, 3], instead: () => 'again' },
  { name: 'an item more at the end', pages: [2, 3], change: add },
  {
    name: 'an item more at the front',
    pages: [2, 3],
    change(facts, resource) {
      add(facts, resource);
      facts.listed(resource).splice(indexOfFirst(facts, resource), 0, ...facts.listed(resource).splice(-1));
    },
  },
  {
    name: 'an item less',
    pages: [2, 3],
    change: (facts, resource) => void facts.listed(resource).splice(indexOfFirst(facts, resource), 1),
  },
];
