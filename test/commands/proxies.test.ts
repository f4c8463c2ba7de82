import { describe, expect, it } from 'vitest';
import { trustCertificate } from '../support/certificate.ts';
import { json, startFakeService } from '../support/fake-service.ts';
import { start } from '../support/program.ts';
import { partnerctl, TOKEN, tempDirectory } from '../support/run.ts';
import { proxyTo, startRawService } from '../support/tcp-server.ts';

const SPACES = [{ space_id: 's1' }];

/** Runs the built program with a trusted certificate. */
const program = (env: Record<string, string>, ...args: string[]) =>
  start(args, { env: { HOME: tempDirectory(), PARTNER_TOKEN: TOKEN, ...trustCertificate(), ...env } });

const LIST = ['spaces', 'list', '-o', 'json', '--retries', '0'];

describe('a proxy from the environment', () => {
  it('may have no scheme, and a user name and password', async () => {
    const service = await startFakeService(json(SPACES), { tls: true });
    const proxy = await proxyTo(service.port);
    const HTTPS_PROXY = `me:s3cr3tpass@127.0.0.1:${proxy.port}`;
    const ran = await program({ PARTNER_BASE_URL: 'https://api.partner.test/v1', HTTPS_PROXY }, ...LIST, '--debug');
    expect(ran.exitCode).toBe(0);
    const [, authorization] = /^proxy-authorization: (.*)\r$/im.exec(proxy.requests[0] ?? '') ?? [];
    expect(authorization).toBe(`Basic ${Buffer.from('me:s3cr3tpass').toString('base64')}`);
    expect(ran.stderr).not.toContain('s3cr3tpass');
  });

  it('is not used for hosts in NO_PROXY', async () => {
    const proxy = await proxyTo(1);
    const env = {
      PARTNER_BASE_URL: 'https://api.partner.invalid/v1',
      HTTPS_PROXY: proxy.url,
      NO_PROXY: 'x.test,.partner.invalid',
    };
    const ran = await program(env, ...LIST);
    expect(ran.exitCode).toBe(8);
    expect(proxy.requests).toEqual([]);
  });

  it('that is down makes the service unreachable: the request was never sent', async () => {
    const env = { HTTPS_PROXY: 'http://127.0.0.1:1' };
    const ran = await partnerctl('https://api.partner.test/v1', LIST, { env });
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({
      message: 'The proxy http://127.0.0.1:1 (from HTTPS_PROXY) refused the connection.',
      hint: 'Check the proxy, or add api.partner.test to NO_PROXY.',
      details: { left: false },
    });
  });

  it('that refuses the tunnel makes the service unreachable, and is not retried', async () => {
    const { port } = await startRawService('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const env = { HTTPS_PROXY: `http://127.0.0.1:${port}` };
    const ran = await partnerctl('https://api.partner.test/v1', ['spaces', 'list', '-o', 'json'], { env });
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({
      message: `The proxy http://127.0.0.1:${port} (from HTTPS_PROXY) answered 407.`,
      details: { left: false, attempts: 1 },
    });
  });
});
