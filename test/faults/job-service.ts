import { join } from 'node:path';
import { partnerctl } from '../support/api-client.ts';
import { type FakeService, type Handler, sendJson, startFakeService } from '../support/fake-service.ts';
import { type Ran, type RunOptions, tempDirectory } from '../support/run.ts';

/* The specification does not define the list of jobs. These services return lists that it therefore allows. */

export interface Made {
  readonly id: number;
  readonly agent_id: string;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: object;
}

export interface Habits {
  /** Converts a job as sent to the job as stored. */
  readonly kept?: (job: Made) => Made;
  /** Converts a stored job to the job as listed. By default, it is listed as stored. */
  readonly shown?: (job: Made) => object;
}

export interface JobService extends FakeService {
  readonly made: Made[];
  /** Replaces the next responses. A POST still creates its job. */
  meet(instead: Handler | undefined): void;
  posts(): number;
}

/** A service that numbers jobs from 1 and creates a job for every POST. */
export async function jobService({ kept = (job) => job, shown = (job) => job }: Habits = {}): Promise<JobService> {
  const made: Made[] = [];
  let instead: Handler | undefined;
  const server = await startFakeService((request, response, count) => {
    const isPost = request.method === 'POST';
    if (isPost) made.push(kept({ id: made.length + 1, ...JSON.parse(request.body) }));
    if (instead) return instead(request, response, count);
    return isPost ? sendJson(response, made.at(-1), 201) : sendJson(response, made.map(shown));
  });
  return {
    ...server,
    made,
    meet: (next) => {
      instead = next;
    },
    posts: () => server.requests.filter(({ method }) => method === 'POST').length,
  };
}

export interface StateFile {
  readonly path: string;
  run(service: FakeService, args: readonly string[], options?: RunOptions): Promise<Ran>;
}

export function stateFile(): StateFile {
  const path = join(tempDirectory(), 'state.jsonl');
  return {
    path,
    run: (service, args, options) => partnerctl(service.baseUrl, [...args, '--state', path], options),
  };
}
