import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestLine } from './exit-codes.ts';
import type { Fault, Step } from './fault.ts';
import { bytesOf, type ReceivedRequest, readHead, readRequest, type ServiceResponse } from './http-message.ts';

/** The delay between its 504 and when a request is carried out: 2 to 5 s on the clock of the commands, which runs faster. */
const LATE_MS = { min: 100, max: 250 };
/** How long lists are stale after a write: 5 s on that clock. */
const STALE_MS = 250;

export interface ProxyOptions {
  /** The service's origin. */
  readonly target: string;
  /** The target of faulty responses. */
  readonly elsewhere: string;
}

/** A fault to inject. */
export interface ArmedFault {
  readonly fault: Fault;
  /** The number of the faulty request among those that can have the fault, from 1. */
  readonly at: number;
  /** The responses to reads from before the command started. */
  readonly stale: (path: string) => ServiceResponse;
}

/** A request of which nothing was read. */
const UNREAD: RequestLine = { method: '', path: '' };

const NO_RESPONSE: ServiceResponse = { status: 0, headers: {}, body: Buffer.alloc(0) };

/** Whether a request of this method can have the fault. */
export function canHave({ only }: Fault, { method }: RequestLine): boolean {
  return only === undefined || (only === 'reads') === (method === 'GET');
}

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host']);

function withoutHopByHop(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));
}

/**
 * A server in front of the service that speaks HTTP/1.1 over bare sockets. It counts requests, forwards them, and spoils one of
 * them, or all from one on, as its fault says.
 */
export class FaultProxy {
  /** The requests whose head arrived, in order. */
  requests: RequestLine[] = [];
  /** The requests that had the fault; those of which nothing was read have no method. */
  faulty: RequestLine[] = [];
  private readonly options: ProxyOptions;
  /** The time until which reads are stale, in milliseconds since the epoch; undefined before the first one. */
  private staleUntil: number | undefined;
  private armed: ArmedFault | undefined;
  private readonly sockets = new Set<Socket>();
  /** The connections that are served, and the requests that are carried out late. */
  private readonly pending = new Set<Promise<unknown>>();
  private server: Server | undefined;
  private port = 0;

  constructor(options: ProxyOptions) {
    this.options = options;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  async start(): Promise<void> {
    // A refused port must not be assigned to another process meanwhile: these are below those that the system assigns.
    while (this.server === undefined) await this.listen(randomInt(10_000, 32_000)).catch(() => undefined);
  }

  /** Makes a fault happen, and restarts the count of requests. */
  arm(armed: ArmedFault): void {
    this.requests = [];
    this.faulty = [];
    this.staleUntil = undefined;
    this.armed = armed;
    if (this.refusesNext()) this.refuse();
  }

  /** Ends the fault, but lets reads be stale for as long as they would have been. */
  keepStale(fault: Fault): void {
    if (this.armed) this.armed = { ...this.armed, fault, at: 1 };
  }

  /** Ends the fault, closes the connections, and waits until nothing more can reach the service. */
  async heal(): Promise<void> {
    this.armed = undefined;
    for (const socket of this.sockets) socket.destroy();
    await Promise.all(this.pending);
    this.pending.clear();
    if (!this.server) await this.listen(this.port);
  }

  async close(): Promise<void> {
    await this.heal();
    this.server?.close();
  }

  private async listen(port: number): Promise<void> {
    const server = createServer((socket) => this.accept(socket));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    this.server = server;
    this.port = port;
  }

  private refuse(): void {
    this.faulty.push(UNREAD);
    this.server?.close();
    this.server = undefined;
  }

  /** Whether a request has the fault. @param number its number among those that can have it */
  private isFaulty(number: number, request = UNREAD): boolean {
    if (!this.armed) return false;
    const { fault, at } = this.armed;
    if (request !== UNREAD && !canHave(fault, request)) return false;
    return fault.lasting ? number >= at : number === at;
  }

  private isStaleAt(number: number): boolean {
    const { armed } = this;
    if (!armed?.fault.stale) return false;
    if (armed.fault.only !== 'writes' && number >= armed.at) this.staleUntil ??= Date.now() + STALE_MS;
    return this.staleUntil !== undefined && Date.now() < this.staleUntil;
  }

  private refusesNext(): boolean {
    return this.armed?.fault.connection === 'refuse' && this.isFaulty(this.requests.length + 1);
  }

  private accept(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => undefined);
    const broken = this.armed?.fault.connection;
    if (broken !== undefined && this.isFaulty(this.requests.length + 1)) {
      this.faulty.push(UNREAD);
      this.requests.push(UNREAD);
      // One that is to be refused may have been accepted before.
      if (broken !== 'silence') socket.resetAndDestroy();
      return;
    }
    this.pending.add(this.serve(socket));
  }

  /** Reads requests from a connection, one after the other, and responds to each. */
  private async serve(socket: Socket): Promise<void> {
    let bytes: Buffer = Buffer.alloc(0);
    let number: number | undefined;
    let closesUnderNext = false;
    for await (const chunk of readable(socket)) {
      bytes = Buffer.concat([bytes, chunk]);
      if (closesUnderNext) {
        this.faulty.push(UNREAD);
        socket.resetAndDestroy();
        return;
      }
      const head = readHead(bytes);
      if (head && number === undefined) {
        this.requests.push({ method: head.method, path: head.path });
        number = this.countOfEligible();
      }
      if (head && number !== undefined && this.armed?.fault.resetsInRequest && this.isFaulty(number, head)) {
        this.faulty.push(head);
        socket.resetAndDestroy();
        return;
      }
      const read = readRequest(bytes);
      if (!read || number === undefined) continue;
      bytes = bytes.subarray(read.length);
      closesUnderNext = this.armed?.fault.closesKeptAlive === true && this.isFaulty(number + 1);
      await this.answer(socket, read.request, number);
      number = undefined;
    }
  }

  /** The number of requests so far that can have the fault. */
  private countOfEligible(): number {
    const fault = this.armed?.fault;
    return fault ? this.requests.filter((request) => canHave(fault, request)).length : this.requests.length;
  }

  private async answer(socket: Socket, request: ReceivedRequest, number: number): Promise<void> {
    const { armed } = this;
    const fault = armed?.fault;
    const isStale = request.method === 'GET' && this.isStaleAt(number);
    if (fault?.steps && this.isFaulty(number, request)) {
      this.faulty.push(request);
      if (fault.stale) this.staleUntil = Date.now() + STALE_MS;
      if (fault.carriedOut === 'late') this.pending.add(this.forwardLater(request));
      const response = fault.carriedOut === 'first' ? await this.forward(request) : NO_RESPONSE;
      await perform(socket, fault.steps({ request, response, elsewhere: this.options.elsewhere }));
      return;
    }
    if (isStale) this.faulty.push(request);
    const response = isStale && armed ? armed.stale(request.path) : await this.forward(request);
    const needsOwnConnection = fault?.connection !== undefined;
    if (this.refusesNext()) this.refuse();
    await write(socket, bytesOf(response, { connection: needsOwnConnection ? 'close' : 'keep-alive' }));
    if (needsOwnConnection) socket.end();
  }

  private async forwardLater(request: ReceivedRequest): Promise<void> {
    await sleep(randomInt(LATE_MS.min, LATE_MS.max));
    await this.forward(request);
  }

  private async forward({ method, path, headers, body }: ReceivedRequest): Promise<ServiceResponse> {
    const sent = httpRequest(new URL(path, this.options.target), {
      method,
      // A separate connection: the service closes idle ones while a stall lasts.
      agent: false,
      headers: { ...withoutHopByHop(headers), ...(body.length > 0 && { 'content-length': body.length }) },
    });
    sent.end(body);
    const [response] = await once(sent, 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    const received: Record<string, string> = response.headers;
    return { status: response.statusCode, headers: withoutHopByHop(received), body: Buffer.concat(chunks) };
  }
}

/** The chunks of a socket, until it ends in any way. */
async function* readable(socket: Socket): AsyncGenerator<Buffer> {
  try {
    yield* socket;
  } catch {
    // The program closed the connection.
  }
}

function write(socket: Socket, bytes: Buffer | string): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.write(bytes, () => resolve());
  });
}

async function perform(socket: Socket, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (step.do === 'write') await write(socket, step.bytes);
    else if (step.do === 'pause') await sleep(step.ms);
    else if (step.do === 'end') socket.end();
    else socket.resetAndDestroy();
  }
}
