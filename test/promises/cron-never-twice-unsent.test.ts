import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer as createTlsServer } from 'node:https';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CERTIFICATE, KEY, TRUST_CERTIFICATE } from '../support/certificate.ts';
import { CRON_JOBS, createArgs, startCronBehindGateway } from '../support/cron.ts';
import { type Handler, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { start } from '../support/program.ts';
import { fastClock } from '../support/run.ts';
import { jobRecordKinds, stateFile } from '../support/state-file.ts';
import { findClosedPort, listen, UNRESOLVABLE_HOST } from '../support/tcp-server.ts';

/* A job whose POST was not sent, by proof or by the lease, is not blocked. */

describe('a POST that was never sent does not block the job:', () => {
  it('its connection was refused', async () => {
    const { path, run } = stateFile();
    // The service is gone when the POST is sent.
    const disappear: Handler = (_, response) => {
      response.on('finish', () => void service.stop());
      sendJson(response, [], 200, { connection: 'close' });
    };
    const created = json({ cron_job_id: 'c1' }, 201);
    const script = { [`GET ${CRON_JOBS}`]: [disappear, json([])], [`POST ${CRON_JOBS}`]: created };
    const service = await startFakeService(script, { port: await findClosedPort() });
    const create = () => run(service, createArgs('a1', 'daily', '--retries', '1'));
    const refused = await create();
    expect(refused.code).toBe(8);
    expect(refused.error().hint).toContain('The job was not created');
    expect(await jobRecordKinds(path)).toEqual(['reserved', 'released']);
    await service.restart();
    expect((await create()).json()).toMatchObject({ cron_job_id: 'c1', status: 'created' });
    expect(service.posts()).toHaveLength(1);
  });

  it('its TLS handshake failed', async () => {
    const { path } = stateFile();
    const methods: string[] = [];
    const server = createTlsServer({ cert: CERTIFICATE, key: KEY }, ({ method = '' }, response) => {
      methods.push(method);
      sendJson(response, [], 200, { connection: 'close' });
      // This certificate supports no cipher of an RSA key.
      server.setSecureContext({ cert: CERTIFICATE, key: KEY, maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA' });
    });
    const { baseUrl } = await listen(server, 'https');
    const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'pat_1', PARTNER_STATE: path, ...TRUST_CERTIFICATE };
    const failed = await start(createArgs('a1', 'daily', '--retries', '1'), { env });
    expect(failed.exitCode, failed.stderr).toBe(8);
    expect(failed.stderr).toContain('The job was not created');
    // Compares only the reason, without locations in OpenSSL's source.
    expect(failed.stderr).not.toMatch(/error:[0-9A-F]{8}|\.c:\d/);
    expect(await jobRecordKinds(path)).toEqual(['reserved', 'released']);
    expect(methods).toEqual(['GET']);
  });

  it('there is no service at all, or no such host (exit 8, and nothing is written)', async () => {
    const { path, run } = stateFile();
    for (const origin of [`http://127.0.0.1:${await findClosedPort()}`, `https://${UNRESOLVABLE_HOST}`]) {
      const ran = await run({ baseUrl: `${origin}/v1` }, createArgs('a1', 'daily', '--retries', '0'));
      expect(ran.code).toBe(8);
    }
    expect(await jobRecordKinds(path)).toEqual([]);
  });
});

describe('a lease that ran out while the connection was being made', () => {
  /** Creates a job while the clock moves 31 seconds ahead in some connects; the first connection is that of the list. */
  async function createWith(isSlow: (connection: number) => boolean) {
    const at = await startCronBehindGateway();
    const clock = fastClock();
    let [ahead, connections] = [0, 0];
    const onConnected = (message: unknown): void => {
      // The gateway itself connects to the sandbox.
      if (!at.gateway.baseUrl.includes(`:${Object(message).connectParams.port}/`)) return;
      connections += 1;
      if (isSlow(connections)) ahead += 31_000;
    };
    subscribe('undici:client:connected', onConnected);
    onTestFinished(() => void unsubscribe('undici:client:connected', onConnected));
    const moved = { ...clock, now: () => clock.now() + ahead, monotonic: () => clock.monotonic() + ahead };
    const ran = await at.run(at.cron.create('daily'), { clock: moved });
    return { ...at, ran };
  }

  it('sends nothing, and the next lease does', async () => {
    const { ran, gateway, path } = await createWith((connection) => connection === 2);
    expect(ran.json()).toMatchObject({ status: 'created' });
    expect(await jobRecordKinds(path)).toEqual(['reserved', 'released', 'reserved', 'created']);
    expect(gateway.posts()).toHaveLength(1);
  });

  it('three times is an error, and the job can be created later', async () => {
    const { ran, gateway, path, run, cron } = await createWith((connection) => connection > 1);
    expect(ran.code).toBe(1);
    expect(ran.error().message).toContain('Too much time passed');
    expect(gateway.posts()).toEqual([]);
    const tries = ['reserved', 'released'];
    expect(await jobRecordKinds(path)).toEqual([...tries, ...tries, ...tries]);
    expect((await run(cron.create('daily'))).code).toBe(0);
  });
});
