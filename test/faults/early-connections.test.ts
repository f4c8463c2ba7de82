import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createCronJob, listCronJobs } from '../../src/api/cron-jobs.ts';
import { createGate } from '../support/fake-service.ts';
import { listen, rawJson } from '../support/tcp-server.ts';
import { client } from './http-client.ts';

const job = (name: string) => ({
  agent_id: 'a1',
  name,
  instructions: 'Sum up.\n',
  schedule: { minute: '0', hour: '9', day_of_week: '*', timezone: 'UTC' },
});

interface Connection {
  readonly socket: Socket;
  /** The names of the jobs that were posted on it; `GET` for a list. */
  readonly requests: string[];
}

/** A service that creates each job once its gate is open, and keeps every connection. */
async function startService() {
  const connections: Connection[] = [];
  const gates = new Map<string, ReturnType<typeof createGate>>();
  const server = createServer((socket) => {
    const connection: Connection = { socket, requests: [] };
    connections.push(connection);
    server.emit('accepted');
    let text = '';
    socket.on('data', async (chunk) => {
      text += String(chunk);
      const name = text.startsWith('GET') ? 'GET' : /"name":"(\w+)"/.exec(text)?.[1];
      if (name === undefined) return;
      text = '';
      connection.requests.push(name);
      await gates.get(name)?.pass();
      socket.write(name === 'GET' ? rawJson([]) : rawJson({ cron_job_id: `cron_${name}` }, '201 Created'));
    });
  });
  const { baseUrl } = await listen(server);
  const { http } = client(baseUrl);
  return {
    connections,
    http,
    /** Delays the POST of a job. @returns the gate */
    hold(name: string) {
      const gate = createGate();
      gates.set(name, gate);
      return gate;
    },
    post: (name: string) => createCronJob(http, job(name), 120_000),
    async accepted(count: number): Promise<void> {
      while (connections.length < count) await once(server, 'accepted');
    },
  };
}

/** Opens two connections early: the fourth and the fifth, while a request is under way and two have ended. */
async function startBusyService() {
  const service = await startService();
  const gate = service.hold('slow');
  const slow = service.post('slow');
  await service.post('first');
  await service.post('second');
  await service.accepted(5);
  return {
    ...service,
    async finish(): Promise<void> {
      gate.open();
      await slow;
    },
  };
}

describe('a connection that is opened before there is a request for it', () => {
  it('is opened only while several requests run', async () => {
    const { connections, post } = await startService();
    for (const name of ['one', 'two', 'three']) await post(name);
    expect(connections.map(({ requests }) => requests)).toEqual([['one'], ['two'], ['three']]);
  });

  it('carries exactly the next request', async () => {
    const { connections, post, finish } = await startBusyService();
    await post('third');
    await post('fourth');
    await finish();
    expect(connections.map(({ requests }) => requests).slice(0, 5)).toEqual([
      ['slow'],
      ['first'],
      ['second'],
      ['third'],
      ['fourth'],
    ]);
  });

  it('is not used if the service closed it, or sent something on it', async () => {
    const { connections, post, http, finish } = await startBusyService();
    const [, , , closed, spoken] = connections;
    if (!closed || !spoken) throw new Error('No connection was opened early.');
    closed.socket.end();
    spoken.socket.write(rawJson({ message: 'Too slow.' }, '408 Request Timeout'));
    await once(closed.socket, 'close');
    // Both have reached the client before this response.
    for await (const _ of listCronJobs(http)) throw new Error('There is no job.');
    expect(await post('third')).toBe('cron_third');
    await finish();
    expect([closed.requests, spoken.requests]).toEqual([[], []]);
    expect(connections.flatMap(({ requests }) => requests).filter((name) => name === 'third')).toHaveLength(1);
  });

  it('is not used after a suspension, in which the service may have closed it', async () => {
    const { connections, post, finish } = await startBusyService();
    const early = connections.slice(3);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    await post('third');
    await finish();
    expect(early.map(({ requests }) => requests)).toEqual([[], []]);
  });

  it('is not opened again for a service that closed one', async () => {
    const { connections, post, http, finish } = await startBusyService();
    const [, , , closed] = connections;
    if (!closed) throw new Error('No connection was opened early.');
    closed.socket.resetAndDestroy();
    // It has reached the client before this response.
    for await (const _ of listCronJobs(http)) throw new Error('There is no job.');
    for (const name of ['third', 'fourth', 'fifth']) await post(name);
    await finish();
    expect(connections.map(({ requests }) => requests)).toEqual([
      ['slow'],
      ['first'],
      ['second'],
      [],
      ['third'],
      ['GET'],
      ['fourth'],
      ['fifth'],
    ]);
  });

  it('is closed if no request comes', async () => {
    const { connections, finish } = await startBusyService();
    const early = connections.slice(3).map(({ socket }) => socket);
    await Promise.all(early.map((socket) => (socket.destroyed ? undefined : once(socket, 'close'))));
    await finish();
    expect(early.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  });
});
