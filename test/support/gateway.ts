import type { ServerResponse } from 'node:http';
import { CRON_JOBS, type Cron, type CronService, startCronService } from './cron.ts';
import {
  type FakeRequest,
  type FakeService,
  forwardTo,
  type Handler,
  type Passed,
  passOn,
  startFakeService,
} from './fake-service.ts';
import { fastClock, type Ran, type RunOptions, run } from './run.ts';

type Respond = (response: ServerResponse, passed: Passed) => unknown;

/** A fake service in front of a sandbox. It passes everything on, until a test replaces the response to a job request. */
interface Gateway extends FakeService {
  /** Responds to the next POSTs of jobs; without a handler, they are passed on. */
  onPost(handler?: Handler): void;
  /** Responds to the next reads of the job list; without a handler, they are passed on. */
  onList(handler?: Handler): void;
  /** Creates a handler that passes the request on, and responds in its own way once the sandbox has responded. */
  passThen(respond: Respond): Handler;
  /** The POSTs of jobs so far. */
  posts(): FakeRequest[];
}

/** A service behind a gateway, and a state file. */
export interface CronBehindGateway extends CronService {
  readonly gateway: Gateway;
  /** The environment in which the service is reached through the gateway. */
  readonly env: Record<string, string>;
  /** Runs a command with the state file; waits take no time unless a clock is given. */
  run(args: readonly string[], options?: RunOptions): Promise<Ran>;
  readonly make: Cron['make'];
}

/** @param origin the sandbox */
async function startGateway(origin: string): Promise<Gateway> {
  const pass = forwardTo(origin);
  let post: Handler | undefined;
  let list: Handler | undefined;
  const service = await startFakeService(pass);
  const update = (): void =>
    service.respond({ [`POST ${CRON_JOBS}`]: post ?? pass, [`GET ${CRON_JOBS}`]: list ?? pass, '* *': pass });
  return {
    ...service,
    onPost(handler) {
      post = handler;
      update();
    },
    onList(handler) {
      list = handler;
      update();
    },
    passThen: (respond) => async (request, response) => respond(response, await passOn(request, origin)),
    posts: () => service.posts().filter(({ path }) => path.endsWith(CRON_JOBS)),
  };
}

/** Starts a service with an agent behind a gateway. */
export async function startCronBehindGateway(): Promise<CronBehindGateway> {
  const at = await startCronService();
  const { service, cron, path } = at;
  const gateway = await startGateway(new URL(service.sandbox.baseUrl).origin);
  const env = { PARTNER_BASE_URL: gateway.baseUrl, PARTNER_TOKEN: service.token, PARTNER_STATE: path };
  return {
    ...at,
    gateway,
    env,
    run: (args, options = {}) => run(args, { clock: fastClock(), env, ...options }),
    make: cron.make,
  };
}
