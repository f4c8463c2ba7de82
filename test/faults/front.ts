import type { ServerResponse } from 'node:http';
import { type FakeRequest, type FakeService, startFakeService } from '../helpers/fake-service.ts';
import { CRON_JOBS } from '../sandbox/cron.ts';

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** What becomes of a POST for a job: it is answered in place of the service, or its answer is spoilt afterwards. */
export interface Trouble {
  readonly instead?: (response: ServerResponse) => unknown;
  readonly after?: (response: ServerResponse, answer: Answer) => unknown;
}

export interface Front extends FakeService {
  /** What the next POSTs for a job meet. */
  meet(trouble: Trouble | undefined): void;
  /** What every reading of the list meets: an answer in place of the list. */
  meetList(instead: ((response: ServerResponse) => unknown) | undefined): void;
  /** The POSTs for jobs that came in. */
  posts(): FakeRequest[];
}

/** A gateway in front of a service, which passes requests on as they are. */
export async function front(origin: string): Promise<Front> {
  let trouble: Trouble | undefined;
  let list: ((response: ServerResponse) => unknown) | undefined;
  const isPost = ({ method, path }: FakeRequest): boolean => method === 'POST' && path.endsWith(CRON_JOBS);

  async function passOn({ method, path, headers, body }: FakeRequest): Promise<Answer> {
    const { authorization = '', 'content-type': type = 'application/json' } = headers;
    const answer = await fetch(new URL(path, origin), {
      method,
      headers: { authorization, 'content-type': type },
      ...(body !== '' && { body }),
    });
    return { status: answer.status, text: await answer.text() };
  }

  function send(response: ServerResponse, { status, text }: Answer): void {
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  }

  const server = await startFakeService(async (request, response) => {
    const { instead, after } = (isPost(request) && trouble) || {};
    const inPlace = request.method === 'GET' && request.path.includes(CRON_JOBS) ? list : instead;
    if (inPlace) return inPlace(response);
    const answer = await passOn(request);
    return after ? after(response, answer) : send(response, answer);
  });
  return {
    ...server,
    meet: (next) => {
      trouble = next;
    },
    meetList: (next) => {
      list = next;
    },
    posts: () => server.requests.filter(isPost),
  };
}
