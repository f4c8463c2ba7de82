import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { InterruptedError } from '../../src/errors.ts';
import { appendRecord } from '../../src/state/append.ts';
import { start } from '../e2e/program.ts';
import { CERTIFICATE, KEY } from '../helpers/certificate.ts';
import { type Cron, createWords, cronOn, logContent } from '../helpers/cron.ts';
import { json, sendJson, startFakeService } from '../helpers/fake-service.ts';
import { fastClock, handSignals, type Ran, type RunOptions, tempDirectory } from '../helpers/run.ts';
import { service } from '../helpers/service.ts';
import { findClosedPort, listen, UNRESOLVABLE_HOST } from '../helpers/tcp-server.ts';
import { CRON_JOBS, jobBody, scheduleBody } from '../sandbox/cron.ts';
import { partnerctl, withinLimit } from './client.ts';
import { type Front, front, type Trouble } from './front.ts';

interface Place {
  readonly cron: Cron;
  readonly front: Front;
  /** The state file. */
  readonly path: string;
  run(words: readonly string[], options?: RunOptions): Promise<Ran>;
  /** Makes a job beside the program. @returns its id */
  make(more: Record<string, unknown>): Promise<string>;
  /** What the service answers to who asks for its list. */
  listed(): Promise<unknown>;
  /** Another agent than the one of `cron`. */
  readonly other: string;
}

const RECONCILE = ['cron', 'reconcile', '-o', 'json'];

/** A service behind a gateway, and a state file. */
async function place(): Promise<Place> {
  const it = await service();
  const cron = await cronOn(it);
  const gate = await front(new URL(it.sandbox.baseUrl).origin);
  const path = join(tempDirectory(), 'state.jsonl');
  const [space] = await it.spaces();
  const body = { template_id: 'tmpl_sales', name: 'Sales' };
  const { json } = await it.partner('POST', '/automation/agent-templates/provision-space/', {
    body: { external_space_id: space?.external_space_id, space: { name: space?.name }, agents: [body] },
  });
  return {
    cron,
    front: gate,
    path,
    run: (words, options = {}) =>
      partnerctl(gate.baseUrl, [...words, '--state', path], { ...options, env: { PARTNER_TOKEN: it.token } }),
    make: async (more) => {
      const made = await it.partner('POST', CRON_JOBS, { body: jobBody(cron.agent_id, more) });
      expect(made.status).toBe(201);
      return made.json.cron_job_id;
    },
    listed: async () => (await it.partner('GET', CRON_JOBS)).json,
    other: json.agents[0].agent_id,
  };
}

const LOST: readonly [string, Trouble, 'limited'?][] = [
  ['a reset', { after: (response) => response.socket?.resetAndDestroy() }],
  ['no answer within --timeout', { after: () => undefined }, 'limited'],
  [
    'a body that is cut',
    {
      after: (response, { status, text }) => {
        response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length });
        response.write(text.slice(0, 9), () => response.destroy());
      },
    },
  ],
  ['a 502 of a proxy', { after: (response) => sendJson(response, { detail: 'Bad gateway' }, 502) }],
  ['a 503 with Retry-After', { after: (response) => sendJson(response, {}, 503, { 'retry-after': '1' }) }],
  ['a redirect', { after: (response) => response.writeHead(303, { location: '/v1/elsewhere' }).end() }],
  [
    'a 201 with a page',
    { after: (response) => response.writeHead(201, { 'content-type': 'text/html' }).end('<title>Welcome</title>') },
  ],
  ['a 201 without an id', { after: (response) => sendJson(response, { ok: true }, 201) }],
];

describe('a job whose answer is lost, by', () => {
  it.each(LOST)('%s: exit 9 until it is reconciled, and never posted again', async (_, trouble, limited) => {
    const { cron, front, path, run, make, other, lost } = await withinLimit(async (ms) => {
      const at = await place();
      await at.make({ name: 'daily', agent_id: at.other });
      await at.make({ name: 'weekly' });
      let answered = (): void => undefined;
      const answering = new Promise<void>((resolve) => {
        answered = resolve;
      });
      at.front.meet({
        after: (response, answer) => {
          answered();
          return trouble.after?.(response, answer);
        },
      });
      // Time that is to be up has to pass.
      const lost = limited
        ? await at.run(at.cron.create('daily', '--timeout', `${ms}ms`), { clock: systemClock })
        : await at.run(at.cron.create('daily'));
      if (at.front.posts().length === 0) return undefined;
      // The service may only just be making it when the time is up.
      await answering;
      at.front.meet(undefined);
      return { ...at, lost };
    });
    expect(lost.code).toBe(9);
    expect(lost.json()).toMatchObject({ cron_job_id: null, status: 'unknown', name: 'daily' });
    expect(lost.stderr).toContain('cron reconcile');
    const made = (await cron.jobs()).filter(({ name, agent_id }) => name === 'daily' && agent_id === cron.agent_id);
    expect(made).toHaveLength(1);
    await make({ name: 'daily', agent_id: other });
    await make({ name: 'monthly' });

    for (const more of [[], ['--ensure'], ['--dry-run']]) {
      expect((await run(cron.create('daily', ...more))).code).toBe(9);
    }
    expect(front.posts()).toHaveLength(1);

    const [job] = made;
    const reconciled = await run(RECONCILE);
    expect({ code: reconciled.code, stderr: reconciled.stderr }).toEqual({ code: 0, stderr: '' });
    expect(reconciled.json()).toMatchObject([{ cron_job_id: job?.cron_job_id, status: 'adopted', name: 'daily' }]);
    const there = await run(cron.create('daily', '--ensure'));
    expect(there.code).toBe(0);
    expect(there.json()).toMatchObject({ cron_job_id: job?.cron_job_id, status: 'exists' });
    expect((await run(cron.create('daily'))).code).toBe(5);
    expect(front.posts()).toHaveLength(1);
    expect(await logContent(path)).toMatchObject({ ids: [job?.cron_job_id], damage: [] });
  });

  it('Ctrl-C, after which no answer comes for some seconds: exit 9, and reconciling finds it', async () => {
    const { cron, front, run } = await place();
    const signals = handSignals();
    front.meet({ after: () => signals.abort(new InterruptedError('Interrupted.')) });
    const lost = await run(cron.create('daily'), { signals });
    front.meet(undefined);
    expect(lost.code).toBe(9);
    expect(lost.stderr).toContain('Waiting briefly for the response');
    expect(lost.json()).toMatchObject({ cron_job_id: null, status: 'unknown' });
    expect((await run(cron.create('daily', '--ensure'))).code).toBe(9);
    const ids = await cron.idsOf('daily');
    expect((await run(RECONCILE)).json()).toMatchObject([{ cron_job_id: ids[0], status: 'adopted' }]);
    expect(ids).toHaveLength(1);
  });

  it('Ctrl-C before the POST: exit 130, nothing is written, and the next create makes it', async () => {
    const { cron, front, path, run } = await place();
    const signals = handSignals();
    front.meetList(() => signals.abort(new InterruptedError('Interrupted.')));
    expect((await run(cron.create('daily'), { signals })).code).toBe(130);
    front.meetList(undefined);
    expect((await logContent(path)).records).toEqual([]);
    expect((await run(cron.create('daily'))).code).toBe(0);
    expect(front.posts()).toHaveLength(1);
  });

  it('the kill of its process, while it is being reconciled: it is not taken as missing from a list that is older', async () => {
    const { cron, front, path, run, make } = await place();
    // With another one that is open, the list is read.
    front.meet({ instead: (response) => response.socket?.resetAndDestroy() });
    expect((await run(cron.create('weekly'))).code).toBe(9);
    let arrived = (): void => undefined;
    const posted = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    front.meet({ instead: () => arrived() });
    const env = { PARTNER_BASE_URL: front.baseUrl, PARTNER_TOKEN: 'pat_1', PARTNER_STATE: path };
    front.meetList((response) => sendJson(response, []));
    const child = start(cron.create('daily'), { env });
    await posted;
    front.meetList(async (response) => {
      front.meetList(undefined);
      child.kill('SIGKILL');
      await child;
      await make({ name: 'daily', instructions: 'Sum up the day.', ...scheduleBody('0 9 1-5') });
      sendJson(response, []);
    });
    const assuming = await run([...RECONCILE, '--assume-not-created', '--grace', '1ms'], { clock: systemClock });
    front.meet(undefined);
    expect(assuming.code).toBe(0);
    expect(assuming.json()).toMatchObject([
      { name: 'weekly', status: 'released' },
      { name: 'daily', status: 'adopted' },
    ]);
    expect((await run(cron.create('daily'))).code).toBe(5);
    expect(await cron.idsOf('daily')).toHaveLength(1);
  });

  it('the kill of its process, a while before it is reconciled: the time of grace begins when the end is seen', async () => {
    const { cron, front, path, run, make } = await place();
    let arrived = (): void => undefined;
    const posted = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    front.meet({ instead: () => arrived() });
    front.meetList((response) => sendJson(response, []));
    const env = { PARTNER_BASE_URL: front.baseUrl, PARTNER_TOKEN: 'pat_1', PARTNER_STATE: path };
    const child = start(cron.create('daily'), { env });
    await posted;
    child.kill('SIGKILL');
    await child;
    // The service is slow: a minute later it is still at work, and done a little after that.
    front.meetList(async (response) => {
      front.meetList(undefined);
      await make({ name: 'daily', instructions: 'Sum up the day.', ...scheduleBody('0 9 1-5') });
      sendJson(response, []);
    });
    const clock = fastClock(Date.now() + 60_000);
    const reconciled = await run([...RECONCILE, '--assume-not-created'], { clock });
    expect(reconciled.json()).toMatchObject([{ name: 'daily', status: 'adopted' }]);
    expect(clock.slept).toEqual([expect.closeTo(10_000, -3)]);
  });
});

describe('a request that never left does not block:', () => {
  it('the connection of the POST was refused', async () => {
    const path = join(tempDirectory(), 'state.jsonl');
    let gone = true;
    let posts = 0;
    const server = createServer((request, response) => {
      // Nobody is there any more when the POST comes.
      if (gone) server.close();
      if (request.method === 'GET') return sendJson(response, [], 200, gone ? { connection: 'close' } : {});
      posts += 1;
      sendJson(response, { cron_job_id: 'c1' }, 201);
    });
    const port = await findClosedPort();
    const listening = async (): Promise<void> => {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    };
    const create = () =>
      partnerctl(`http://127.0.0.1:${port}/v1`, createWords('a1', 'daily', '--state', path, '--retries', '1'));
    await listening();
    const refused = await create();
    expect(refused.code).toBe(8);
    expect(refused.error().hint).toContain('The job was not created');
    expect((await logContent(path)).records.map(({ kind }) => kind)).toEqual(['reserved', 'released']);
    gone = false;
    await listening();
    const created = await create();
    expect(created.json()).toMatchObject({ cron_job_id: 'c1', status: 'created' });
    expect(posts).toBe(1);
    server.close();
  });

  it('the TLS handshake of the POST failed', async () => {
    const directory = tempDirectory();
    const [path, authority] = [join(directory, 'state.jsonl'), join(directory, 'authority.pem')];
    writeFileSync(authority, CERTIFICATE);
    let posts = 0;
    const server = createTlsServer({ cert: CERTIFICATE, key: KEY }, (request, response) => {
      if (request.method === 'GET') {
        sendJson(response, [], 200, { connection: 'close' });
        // No cipher of an RSA key goes with this certificate.
        if (spoilt)
          server.setSecureContext({ cert: CERTIFICATE, key: KEY, maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA' });
        return;
      }
      posts += 1;
      sendJson(response, { cron_job_id: 'c1' }, 201);
    });
    server.on('tlsClientError', () => undefined);
    let spoilt = true;
    const { baseUrl } = await listen(server, 'https');
    const env = {
      PARTNER_BASE_URL: baseUrl,
      PARTNER_TOKEN: 'pat_1',
      NODE_EXTRA_CA_CERTS: authority,
      PARTNER_STATE: path,
    };
    const create = () => start(createWords('a1', 'daily', '--retries', '1'), { env });
    const failed = await create();
    expect(failed.exitCode, failed.stderr).toBe(8);
    expect(failed.stderr).toContain('The job was not created');
    // The reason alone, without OpenSSL's places in its own source.
    expect(failed.stderr).not.toMatch(/error:[0-9A-F]{8}|\.c:\d/);
    expect((await logContent(path)).records.map(({ kind }) => kind)).toEqual(['reserved', 'released']);
    spoilt = false;
    server.setSecureContext({ cert: CERTIFICATE, key: KEY });
    const created = await create();
    expect(created.exitCode, created.stderr).toBe(0);
    expect(posts).toBe(1);
  });

  it.each([
    ['no service at all', async () => `http://127.0.0.1:${await findClosedPort()}/v1`],
    ['no such host', async () => `https://${UNRESOLVABLE_HOST}/v1`],
    ['a certificate that is not trusted', async () => (await startFakeService(json([]), { tls: true })).baseUrl],
  ])('%s: exit 8, and nothing is written', async (_, baseUrl) => {
    const path = join(tempDirectory(), 'state.jsonl');
    const at = await baseUrl();
    for (const more of [[], ['--ensure']]) {
      const failed = await partnerctl(at, createWords('a1', 'daily', '--state', path, '--retries', '0', ...more));
      expect(failed.code).toBe(8);
    }
    expect((await logContent(path)).records).toEqual([]);
  });
});

describe('the list of the service', () => {
  it.each([
    [403, '{"message":"No."}'],
    [404, '{"message":"No."}'],
    [405, '{"message":"No."}'],
    [204, ''],
    [200, ''],
  ])('cannot be read (%i %s): said once, and the file guards alone', async (status, body) => {
    const { cron, front, path, run } = await place();
    front.meetList((response) => response.writeHead(status, { 'content-type': 'application/json' }).end(body));
    const created = await run(cron.create('daily'));
    expect(created.code).toBe(0);
    expect(created.stderr.match(/Only the state file prevents duplicates/g)).toHaveLength(1);
    expect((await run(cron.create('daily'))).code).toBe(5);
    expect((await run(cron.create('daily', '--ensure'))).json()).toMatchObject({ status: 'exists' });
    expect(front.posts()).toHaveLength(1);
    expect((await logContent(path)).ids).toEqual(await cron.idsOf('daily'));
  });

  it.each<[string, number, (response: ServerResponse) => unknown]>([
    ['a 425', 1, (response) => sendJson(response, { message: 'Not yet.' }, 425)],
    ['a 409', 1, (response) => sendJson(response, { message: 'Not now.' }, 409)],
    ['a page of a gateway', 8, (response) => response.writeHead(200).end('<title>Back soon</title>')],
    ['a 200 that speaks of an error', 8, (response) => sendJson(response, { error: 'database is down' })],
    ['a 200 that failed, with a list', 8, (response) => sendJson(response, { success: false, results: [] })],
    ['an answer that ends half-way', 8, (response) => response.writeHead(200, { connection: 'close' }).end('[{"cron_')],
  ])('answers once with %s, and the state file is gone: nothing is created twice', async (_, code, instead) => {
    const { cron, front, path, run } = await place();
    const created = (await run(cron.create('daily'))).json<{ cron_job_id: string }>();
    rmSync(path);
    front.meetList(instead);
    const failed = await run(cron.create('daily'));
    front.meetList(undefined);
    expect(failed.code).toBe(code);
    expect((await logContent(path)).records).toEqual([]);
    expect((await run(cron.create('daily'))).json()).toMatchObject({ ...created, status: 'adopted' });
    expect(front.posts()).toHaveLength(1);
  });

  it.each([
    [403, 3],
    [404, 4],
    [400, 1],
  ])(
    'ends with a %i after its first page, and the state file is gone: nothing is created twice',
    async (status, code) => {
      const { cron, front, path, run } = await place();
      const created = (await run(cron.create('daily'))).json<{ cron_job_id: string }>();
      rmSync(path);
      let pages = 0;
      front.meetList((response) => {
        pages += 1;
        if (pages > 1) return sendJson(response, { message: 'No.' }, status);
        return sendJson(response, { results: [{ cron_job_id: 'c1', agent_id: 'a1', name: 'other' }], next: '?page=2' });
      });
      const failed = await run(cron.create('daily'));
      front.meetList(undefined);
      expect(failed.code).toBe(code);
      expect((await run(cron.create('daily'))).json()).toMatchObject({ ...created, status: 'adopted' });
      expect(front.posts()).toHaveLength(1);
    },
  );
});

describe('what is changed by hand', () => {
  it('is left as it is when the file says something else than what was agreed to', async () => {
    const { cron, front, path, run } = await place();
    front.meet({ after: (response) => response.socket?.resetAndDestroy() });
    const lost = await run(cron.create('daily'));
    front.meet(undefined);
    const [job] = await cron.jobs();
    const [reserved] = (await logContent(path)).records;
    const settled = { type: 'cron.released', at: new Date().toISOString(), id: 'later', reservation: reserved?.id };
    front.meetList(async (response) => {
      await appendRecord(path, { ...settled, key: reserved?.key, why: 'assumed_not_created' });
      sendJson(response, [job]);
    });
    const words = [
      'cron',
      'adopt',
      job?.cron_job_id ?? '',
      '--key',
      lost.json<{ key: string }>().key,
      '--yes',
      '-o',
      'json',
    ];
    const ran = await run(words);
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain('changed while you were asked');
    expect((await logContent(path)).records.map(({ kind }) => kind)).not.toContain('adopted');
  });
});

it('a job that the list shows without its agent blocks one of its name and content, until it is said whose it is', async () => {
  const { cron, front, run, make, listed } = await place();
  const id = await make({ name: 'daily', instructions: 'Sum up the day.', ...scheduleBody('0 9 1-5') });
  const { results } = (await listed()) as { readonly results: readonly Record<string, unknown>[] };
  front.meetList((response) => {
    sendJson(
      response,
      results.map(({ agent_id: _, ...job }) => job),
    );
  });
  const blocked = await run(cron.create('daily'));
  expect(blocked.code).toBe(5);
  expect(blocked.json()).toMatchObject({ cron_job_id: null, status: 'blocked' });
  expect(blocked.stderr).toContain(`cron adopt ${id} --agent ${cron.agent_id} --name daily`);
  expect(front.posts()).toEqual([]);
  expect((await run(['cron', 'adopt', id, '--agent', cron.agent_id, '--name', 'daily', '--yes'])).code).toBe(0);
  expect((await run(cron.create('daily', '--ensure'))).json()).toMatchObject({ cron_job_id: id, status: 'exists' });
});
