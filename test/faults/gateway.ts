import type { ServerResponse } from 'node:http';
import {
  type FakeRequest,
  type FakeService,
  forwardTo,
  type Handler,
  startFakeService,
} from '../support/fake-service.ts';
import { CRON_JOBS } from '../support/sandbox-cron.ts';

/** The service's response to a request that was passed on. */
interface PassedResponse {
  readonly status: number;
  readonly text: string;
}

export type Respond = (response: ServerResponse, passed: PassedResponse) => unknown;

/** A fake service in front of a sandbox. It passes everything on, until a test replaces the response to a job request. */
export interface Gateway extends FakeService {
  /** Responds to the next POSTs of jobs; without a handler, they are passed on. */
  onPost(handler?: Handler): void;
  /** Responds to the next reads of the job list; without a handler, they are passed on. */
  onList(handler?: Handler): void;
  /** Creates a handler that passes the request on, and responds in its own way once the sandbox has responded. */
  passThen(respond: Respond): Handler;
  /** The POSTs of jobs so far. */
  posts(): FakeRequest[];
}

/** @param origin the sandbox */
export async function startGateway(origin: string): Promise<Gateway> {
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
    passThen: (respond) => async (request, response) => {
      const { authorization = '' } = request.headers;
      const passed = await fetch(new URL(request.path, origin), {
        method: request.method,
        headers: { authorization, 'content-type': 'application/json' },
        body: request.body,
      });
      await respond(response, { status: passed.status, text: await passed.text() });
    },
    posts: () => service.requests.filter(({ method, path }) => method === 'POST' && path.endsWith(CRON_JOBS)),
  };
}
