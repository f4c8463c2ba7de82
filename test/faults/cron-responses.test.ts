import { rmSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { InterruptedError } from '../../src/errors.ts';
import { appendRecord } from '../../src/state/append.ts';
import { partnerctl, withinLimit } from '../support/api-client.ts';
import { CERTIFICATE, KEY } from '../support/certificate.ts';
import { type Cron, createArgs, createCronAgent, readJobLog } from '../support/cron.ts';
import { createGate, type Handler, json, reset, sendJson, startFakeService } from '../support/fake-service.ts';
import { start } from '../support/program.ts';
import { fastClock, manualSignals, type Ran, type RunOptions, tempDirectory } from '../support/run.ts';
import { CRON_JOBS, jobBody, scheduleBody } from '../support/sandbox-cron.ts';
import { service } from '../support/service.ts';
import { findClosedPort, listen, UNRESOLVABLE_HOST } from '../support/tcp-server.ts';
import { type Gateway, type Respond, startGateway } from './gateway.ts';

interface Setup {
  readonly cron: Cron;
  readonly gateway: Gateway;
  /** The path of the state file. */
  readonly path: string;
  run(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** Creates a job at the service directly, and returns its id. */
  make(more: Record<string, unknown>): Promise<string>;
  /** The job list of the service. */
  listed(): Promise<unknown>;
  /** The id of an agent other than that of `cron`. */
  readonly other: string;
}

const RECONCILE = ['cron', 'reconcile', '-o', 'json'];

/** A service behind a gateway, and a state file. */
async function setUp(): Promise<Setup> {
  const it = await service();
  const cron = await createCronAgent(it);
  const gateway = await startGateway(new URL(it.sandbox.baseUrl).origin);
  const path = join(tempDirectory(), 'state.jsonl');
  const [space] = await it.spaces();
  const body = { template_id: 'tmpl_sales', name: 'Sales' };
  const { json } = await it.partner('POST', '/automation/agent-templates/provision-space/', {
    body: { external_space_id: space?.external_space_id, space: { name: space?.name }, agents: [body] },
  });
  return {
    cron,
    gateway,
    path,
    run: (args, options = {}) =>
      partnerctl(gateway.baseUrl, [...args, '--state', path], { ...options, env: { PARTNER_TOKEN: it.token } }),
    make: async (more) => {
      const made = await it.partner('POST', CRON_JOBS, { body: jobBody(cron.agent_id, more) });
      expect(made.status).toBe(201);
      return made.json.cron_job_id;
    },
    listed: async () => (await it.partner('GET', CRON_JOBS)).json,
    other: json.agents[0].agent_id,
  };
}

const resetResponse: Respond = (response) => response.socket?.resetAndDestroy();

const LOST: readonly [string, Respond, 'limited'?][] = [
  ['a reset', resetResponse],
  ['no response within --timeout', () => undefined, 'limited'],
  [
    'a body that is cut',
    (response, { status, text }) => {
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': text.length });
      response.write(text.slice(0, 9), () => response.destroy());
    },
  ],
  ['a 502 of a proxy', (response) => sendJson(response, { detail: 'Bad gateway' }, 502)],
  ['a 503 with Retry-After', (response) => sendJson(response, {}, 503, { 'retry-after': '1' })],
  ['a redirect', (response) => response.writeHead(303, { location: '/v1/elsewhere' }).end()],
  [
    'a 201 with a page',
    (response) => response.writeHead(201, { 'content-type': 'text/html' }).end('<title>Welcome</title>'),
  ],
];

describe('a job whose response is lost', () => {
  it.each(LOST)('by %s is unknown until it is reconciled, and never posted again', async (_, respond, limited) => {
    const { cron, gateway, path, run, make, other, lost } = await withinLimit(async (ms) => {
      const at = await setUp();
      await at.make({ name: 'daily', agent_id: at.other });
      await at.make({ name: 'weekly' });
      const answered = createGate();
      at.gateway.onPost(
        at.gateway.passThen((response, passed) => {
          answered.open();
          return respond(response, passed);
        }),
      );
      // A deadline needs a clock that runs.
      const lost = limited
        ? await at.run(at.cron.create('daily', '--timeout', `${ms}ms`), { clock: systemClock })
        : await at.run(at.cron.create('daily'));
      if (at.gateway.posts().length === 0) return undefined;
      // The service may still be creating the job at the deadline.
      await answered.pass();
      at.gateway.onPost();
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
    expect(gateway.posts()).toHaveLength(1);

    const [job] = made;
    const reconciled = await run(RECONCILE);
    expect({ code: reconciled.code, stderr: reconciled.stderr }).toEqual({ code: 0, stderr: '' });
    expect(reconciled.json()).toMatchObject([{ cron_job_id: job?.cron_job_id, status: 'adopted', name: 'daily' }]);
    const there = await run(cron.create('daily', '--ensure'));
    expect(there.code).toBe(0);
    expect(there.json()).toMatchObject({ cron_job_id: job?.cron_job_id, status: 'exists' });
    expect((await run(cron.create('daily'))).code).toBe(5);
    expect(gateway.posts()).toHaveLength(1);
    expect(await readJobLog(path)).toMatchObject({ ids: [job?.cron_job_id], damage: [] });
  });

  it('after Ctrl-C is unknown, and reconciling finds it', async () => {
    const { cron, gateway, run } = await setUp();
    const signals = manualSignals();
    gateway.onPost(gateway.passThen(() => signals.abort(new InterruptedError('Interrupted.'))));
    const lost = await run(cron.create('daily'), { signals });
    gateway.onPost();
    expect(lost.code).toBe(9);
    expect(lost.stderr).toContain('Waiting briefly for the response');
    expect(lost.json()).toMatchObject({ cron_job_id: null, status: 'unknown' });
    expect((await run(cron.create('daily', '--ensure'))).code).toBe(9);
    const ids = await cron.idsOf('daily');
    expect((await run(RECONCILE)).json()).toMatchObject([{ cron_job_id: ids[0], status: 'adopted' }]);
    expect(ids).toHaveLength(1);
  });

  it('is not reserved by a run that Ctrl-C ends before the POST', async () => {
    const { cron, gateway, path, run } = await setUp();
    const signals = manualSignals();
    gateway.onList(() => signals.abort(new InterruptedError('Interrupted.')));
    expect((await run(cron.create('daily'), { signals })).code).toBe(130);
    gateway.onList();
    expect((await readJobLog(path)).records).toEqual([]);
    expect((await run(cron.create('daily'))).code).toBe(0);
    expect(gateway.posts()).toHaveLength(1);
  });

  it('by a kill during a reconcile does not count as missing from a list that was read before', async () => {
    const { cron, gateway, path, run, make } = await setUp();
    // The list is read because another job is unknown.
    gateway.onPost(reset);
    expect((await run(cron.create('weekly'))).code).toBe(9);
    const posted = createGate();
    gateway.onPost(() => posted.open());
    const env = { PARTNER_BASE_URL: gateway.baseUrl, PARTNER_TOKEN: 'pat_1', PARTNER_STATE: path };
    gateway.onList(json([]));
    const child = start(cron.create('daily'), { env });
    await posted.pass();
    gateway.onList(async (_, response) => {
      gateway.onList();
      child.kill('SIGKILL');
      await child;
      await make({ name: 'daily', instructions: 'Sum up the day.', ...scheduleBody('0 9 1-5') });
      sendJson(response, []);
    });
    const assuming = await run([...RECONCILE, '--assume-not-created', '--grace', '1ms'], { clock: systemClock });
    gateway.onPost();
    expect(assuming.code).toBe(0);
    expect(assuming.json()).toMatchObject([
      { name: 'weekly', status: 'released' },
      { name: 'daily', status: 'adopted' },
    ]);
    expect((await run(cron.create('daily'))).code).toBe(5);
    expect(await cron.idsOf('daily')).toHaveLength(1);
  });

  it('by a kill some time before the reconcile gets its full grace period', async () => {
    const { cron, gateway, path, run, make } = await setUp();
    const posted = createGate();
    gateway.onPost(() => posted.open());
    gateway.onList(json([]));
    const env = { PARTNER_BASE_URL: gateway.baseUrl, PARTNER_TOKEN: 'pat_1', PARTNER_STATE: path };
    const child = start(cron.create('daily'), { env });
    await posted.pass();
    child.kill('SIGKILL');
    await child;
    // The service is slow: it creates the job more than a minute later.
    gateway.onList(async (_, response) => {
      gateway.onList();
      await make({ name: 'daily', instructions: 'Sum up the day.', ...scheduleBody('0 9 1-5') });
      sendJson(response, []);
    });
    const clock = fastClock(Date.now() + 60_000);
    const reconciled = await run([...RECONCILE, '--assume-not-created'], { clock });
    expect(reconciled.json()).toMatchObject([{ name: 'daily', status: 'adopted' }]);
    expect(clock.slept).toEqual([expect.closeTo(10_000, -3)]);
  });
});

describe('a POST that was never sent does not block the job:', () => {
  it('the connection of the POST was refused', async () => {
    const path = join(tempDirectory(), 'state.jsonl');
    // The service is gone when the POST is sent.
    const disappear: Handler = (_, response) => {
      response.on('finish', () => void service.stop());
      sendJson(response, [], 200, { connection: 'close' });
    };
    const created = json({ cron_job_id: 'c1' }, 201);
    const script = { [`GET ${CRON_JOBS}`]: [disappear, json([])], [`POST ${CRON_JOBS}`]: created };
    const service = await startFakeService(script, { port: await findClosedPort() });
    const create = () => partnerctl(service.baseUrl, createArgs('a1', 'daily', '--state', path, '--retries', '1'));
    const refused = await create();
    expect(refused.code).toBe(8);
    expect(refused.error().hint).toContain('The job was not created');
    expect((await readJobLog(path)).records.map(({ kind }) => kind)).toEqual(['reserved', 'released']);
    await service.restart();
    expect((await create()).json()).toMatchObject({ cron_job_id: 'c1', status: 'created' });
    expect(service.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  it('the TLS handshake of the POST failed', async () => {
    const directory = tempDirectory();
    const [path, authority] = [join(directory, 'state.jsonl'), join(directory, 'authority.pem')];
    writeFileSync(authority, CERTIFICATE);
    let posts = 0;
    const server = createTlsServer({ cert: CERTIFICATE, key: KEY }, (request, response) => {
      if (request.method === 'GET') {
        sendJson(response, [], 200, { connection: 'close' });
        // This certificate supports no cipher of an RSA key.
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
    const create = () => start(createArgs('a1', 'daily', '--retries', '1'), { env });
    const failed = await create();
    expect(failed.exitCode, failed.stderr).toBe(8);
    expect(failed.stderr).toContain('The job was not created');
    // Compares only the reason, without locations in OpenSSL's source.
    expect(failed.stderr).not.toMatch(/error:[0-9A-F]{8}|\.c:\d/);
    expect((await readJobLog(path)).records.map(({ kind }) => kind)).toEqual(['reserved', 'released']);
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
      const failed = await partnerctl(at, createArgs('a1', 'daily', '--state', path, '--retries', '0', ...more));
      expect(failed.code).toBe(8);
    }
    expect((await readJobLog(path)).records).toEqual([]);
  });
});

describe('a job list', () => {
  it.each([
    [403, '{"message":"No."}'],
    [404, '{"message":"No."}'],
    [405, '{"message":"No."}'],
    // As Go answers by default.
    [405, 'Method Not Allowed\n', { 'content-type': 'text/plain; charset=utf-8', allow: 'POST' }],
    [204, ''],
  ])(
    'that cannot be read (%i %s) is reported once, and the state file alone prevents duplicates',
    async (status, body, headers: Record<string, string> = { 'content-type': 'application/json' }) => {
      const { cron, gateway, path, run } = await setUp();
      gateway.onList((_, response) => response.writeHead(status, headers).end(body));
      const created = await run(cron.create('daily'));
      expect(created.code).toBe(0);
      expect(created.stderr.match(/Only the state prevents duplicates/g)).toHaveLength(1);
      expect((await run(cron.create('daily'))).code).toBe(5);
      expect((await run(cron.create('daily', '--ensure'))).json()).toMatchObject({ status: 'exists' });
      expect(gateway.posts()).toHaveLength(1);
      expect((await readJobLog(path)).ids).toEqual(await cron.idsOf('daily'));
    },
  );

  it.each<[string, number, Handler]>([
    ['a 425', 1, json({ message: 'Not yet.' }, 425)],
    ['a 409', 1, json({ message: 'Not now.' }, 409)],
    ['a page of a gateway', 8, (_, response) => response.writeHead(200).end('<title>Back soon</title>')],
    [
      'a 405 as text that does not say what is allowed',
      8,
      (_, response) => response.writeHead(405, { 'content-type': 'text/plain' }).end('Method Not Allowed'),
    ],
    [
      'a 405 as text that allows GET',
      8,
      (_, response) => response.writeHead(405, { 'content-type': 'text/plain', allow: 'GET, POST' }).end('No.'),
    ],
    ['a 200 with an error', 8, json({ error: 'database is down' })],
    ['a 200 that failed, with a list', 8, json({ success: false, results: [] })],
    [
      'a response that ends half-way',
      8,
      (_, response) => response.writeHead(200, { connection: 'close' }).end('[{"cron_'),
    ],
  ])('that fails with %s, without a state file, creates nothing twice', async (_, code, respond) => {
    const { cron, gateway, path, run } = await setUp();
    const created = (await run(cron.create('daily'))).json<{ cron_job_id: string }>();
    rmSync(path);
    gateway.onList(respond);
    const failed = await run(cron.create('daily'));
    gateway.onList();
    expect(failed.code).toBe(code);
    expect((await readJobLog(path)).records).toEqual([]);
    expect((await run(cron.create('daily'))).json()).toMatchObject({ ...created, status: 'adopted' });
    expect(gateway.posts()).toHaveLength(1);
  });

  it.each([
    [403, 8],
    [404, 8],
    [400, 1],
  ])('that fails with a %i after its first page, without a state file, creates nothing twice', async (status, code) => {
    const { cron, gateway, path, run } = await setUp();
    const created = (await run(cron.create('daily'))).json<{ cron_job_id: string }>();
    rmSync(path);
    const first = { results: [{ cron_job_id: 'c1', agent_id: 'a1', name: 'other' }], next: '?page=2' };
    gateway.onList((request, response) =>
      request.query.has('page') ? sendJson(response, { message: 'No.' }, status) : sendJson(response, first),
    );
    const failed = await run(cron.create('daily'));
    gateway.onList();
    expect(failed.code).toBe(code);
    expect((await run(cron.create('daily'))).json()).toMatchObject({ ...created, status: 'adopted' });
    expect(gateway.posts()).toHaveLength(1);
  });
});

describe('cron adopt', () => {
  it('is refused when the state file changes while the prompt is open', async () => {
    const { cron, gateway, path, run } = await setUp();
    gateway.onPost(gateway.passThen(resetResponse));
    const lost = await run(cron.create('daily'));
    gateway.onPost();
    const [job] = await cron.jobs();
    const [reserved] = (await readJobLog(path)).records;
    const settled = { type: 'cron.released', at: new Date().toISOString(), id: 'later', reservation: reserved?.id };
    gateway.onList(async (_, response) => {
      await appendRecord(path, { ...settled, key: reserved?.key, why: 'assumed_not_created' });
      sendJson(response, [job]);
    });
    const args = [
      'cron',
      'adopt',
      job?.cron_job_id ?? '',
      '--key',
      lost.json<{ key: string }>().key,
      '--yes',
      '-o',
      'json',
    ];
    const ran = await run(args);
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain('changed while you were asked');
    expect((await readJobLog(path)).records.map(({ kind }) => kind)).not.toContain('adopted');
  });
});

it('a listed job without an agent blocks a job with its name and content, until it is adopted', async () => {
  const { cron, gateway, run, make, listed } = await setUp();
  const id = await make({ name: 'daily', instructions: 'Sum up the day.', ...scheduleBody('0 9 1-5') });
  const { results } = (await listed()) as { readonly results: readonly Record<string, unknown>[] };
  gateway.onList((_, response) => {
    sendJson(
      response,
      results.map(({ agent_id: _, ...job }) => job),
    );
  });
  const blocked = await run(cron.create('daily'));
  expect(blocked.code).toBe(5);
  expect(blocked.json()).toMatchObject({ cron_job_id: null, status: 'blocked' });
  expect(blocked.stderr).toContain(`cron adopt ${id} --agent ${cron.agent_id} --name daily`);
  expect(gateway.posts()).toEqual([]);
  expect((await run(['cron', 'adopt', id, '--agent', cron.agent_id, '--name', 'daily', '--yes'])).code).toBe(0);
  expect((await run(cron.create('daily', '--ensure'))).json()).toMatchObject({ cron_job_id: id, status: 'exists' });
});
