import { join } from 'node:path';
import { type FakeService, type Handler, sendJson, startFakeService } from './fake-service.ts';
import { fastClock, type Ran, type RunOptions, run, tempDirectory } from './run.ts';

/* The specification does not define the list of jobs. These services return lists that it therefore allows. */

export interface Made {
  readonly id: number;
  readonly agent_id: string;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: object;
}

interface Habits {
  /** Converts a job as sent to the job as stored. */
  readonly kept?: (job: Made) => Made;
  /** Converts a stored job to the job as listed. By default, it is listed as stored. */
  readonly shown?: (job: Made) => object;
}

interface JobService extends FakeService {
  readonly made: Made[];
  /** Replaces the next responses. A POST still creates its job. */
  meet(instead: Handler | undefined): void;
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
  };
}

/** A state file, and runs with it in which waits take no time. */
interface StateFile {
  readonly path: string;
  run(service: Pick<FakeService, 'baseUrl'>, args: readonly string[], options?: RunOptions): Promise<Ran>;
}

export function stateFile(): StateFile {
  const path = join(tempDirectory(), 'state.jsonl');
  return {
    path,
    run: ({ baseUrl }, args, options) => {
      const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'pat_x' };
      // A command from a hint already has the flag.
      const argv = args.includes('--state') ? args : [...args, '--state', path];
      return run(argv, { clock: fastClock(), ...options, env });
    },
  };
}
