import { sendJson, startFakeService } from '../support/fake-service.ts';
import { describeService } from './document.ts';
import { bigNumbers, Facts, prefixed } from './facts.ts';
import type { Fault } from './faults.ts';
import type { Answer } from './pages.ts';
import { respond } from './respond.ts';
import { isWire, listStyle, type Service, type Wire } from './service.ts';

const NINETEEN_DIGITS = /(?<=[[:,]\s*)\d{19}\b/g;

/** Parses JSON, with numbers of 19 digits as texts: JavaScript cannot hold them. */
export function parseJson(text: string): unknown {
  return JSON.parse(text.replaceAll(NINETEEN_DIGITS, '"$&"'));
}

/** A service that is being served. */
export interface Server {
  readonly service: Service;
  readonly baseUrl: string;
  readonly documentUrl: string;
  facts: Facts;
  /** What it responded since the last `reset`, without its document and its faults. */
  answers: Answer[];
  /** The paths of the requests since then that created something, or would have, had it not been there. */
  writes: string[];
  /** The fault that it has, and how often that happened since then. */
  fault: Fault | undefined;
  faults: number;
  /** The number of jobs that came with the fault. */
  added: number;
  /** Gives it the data that it began with. */
  reset(): void;
  stop(): Promise<void>;
}

/** Returns what tests know of a service that is about to be served. @param size the number of items on a page */
export function newServer(service: Service, size: number) {
  const newFacts = () => new Facts(service.ids ?? prefixed, size);
  const server = {
    service,
    facts: newFacts(),
    answers: [] as Answer[],
    writes: [] as string[],
    fault: undefined as Fault | undefined,
    faults: 0,
    added: 0,
    reset() {
      server.facts = newFacts();
      Object.assign(server, { answers: [], writes: [], faults: 0, added: 0 });
    },
  };
  return server;
}

/** Serves a declared service on a loopback port, and its OpenAPI document, until the test ends. */
export async function serve(service: Service): Promise<Server> {
  const server = newServer(service, listStyle(service, 'space').size);
  const { baseUrl, port, stop } = await startFakeService(async (request, response) => {
    const url = new URL(request.path, `http://127.0.0.1:${port}`);
    if (url.pathname === '/openapi.json') return sendJson(response, describeService(service));
    const body = await readBody(request.bodyBytes, request.headers['content-type'] ?? '');
    const read = () => respond(service, server.facts, { method: request.method, url, body });
    let answer = read();
    const { fault } = server;
    if (fault && isStruck(fault, answer, server.faults)) {
      server.faults += 1;
      const instead = fault.kind.instead?.(service);
      if (typeof instead === 'function') return instead(request, response, server.faults);
      const before = server.answers.findLast(({ page }) => page?.resource === fault.resource);
      const { length } = server.facts.jobs;
      fault.kind.change?.(server.facts, fault.resource);
      server.added = server.facts.jobs.length - length;
      answer = (instead === 'again' && before) || read();
    }
    server.answers.push(answer);
    const { status, headers } = answer;
    if (answer.isWrite) server.writes.push(url.pathname);
    if (answer.body === undefined) return response.writeHead(status, headers).end();
    const text = JSON.stringify(answer.body);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    return response.end(service.ids === bigNumbers ? text.replaceAll(/"(\d{19})"/g, '$1') : text);
  });
  return Object.assign(server, { baseUrl, stop, documentUrl: new URL('/openapi.json', baseUrl).href });
}

function isStruck({ kind, resource, page }: Fault, answer: Answer, times: number): boolean {
  const isHere = answer.page?.resource === resource && answer.page.number === page;
  return isHere && (times === 0 || (kind.isOnce === undefined && kind.change === undefined));
}

async function readBody(bytes: Buffer, type: string): Promise<Wire> {
  if (type.startsWith('multipart/form-data')) {
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData();
    const entries = [...form].map(([name, value]) => [
      name,
      typeof value === 'string' ? value : { filename: value.name, size: value.size },
    ]);
    return Object.fromEntries(entries);
  }
  const value = bytes.length === 0 ? {} : parseJson(bytes.toString());
  return isWire(value) ? value : {};
}
