import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { createChat } from '../support/chat.ts';
import { run } from '../support/run.ts';
import { connectTo } from '../support/service.ts';
import { startReceiver, verify } from '../support/webhooks.ts';

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

/** A sandbox with a webhook, and a function that triggers a delivery. */
async function startWith(options: Parameters<typeof startSandbox>[0] = {}) {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  const env = { PARTNER_SANDBOX_URL: sandbox.adminUrl, PARTNER_SANDBOX_KEY: sandbox.adminKey };
  const trigger = (args: readonly string[] = [], more: Record<string, string> = {}) =>
    run(['webhook', 'trigger', '-o', 'json', ...args], { env: { ...env, ...more } });
  return { sandbox, trigger };
}

test('webhook trigger delivers a made-up message, signed with the secret of the webhook', async () => {
  const receiver = await startReceiver();
  const { sandbox, trigger } = await startWith({ webhook: { url: receiver.url } });
  const ran = await trigger(['--text', 'Hi']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  const [received] = receiver.received;
  const sent = JSON.parse(received?.body ?? '');
  expect(sent.data.text).toBe('Hi');
  expect(received && verify(received, sandbox.webhookSecret ?? '')).toEqual(sent);
  expect(ran.json()).toMatchObject({ delivery_id: received?.id, url: receiver.url, status: 'delivered' });
  // With --source, the message is in the session, too.
  const chat = await createChat(connectTo(sandbox));
  const inSession = ['--source', chat.source_id, '--session', 's7', '--text', 'Kept'];
  expect(await trigger(inSession)).toMatchObject({ code: 0, stderr: '' });
  expect(await chat.history({ session_id: 's7' })).toEqual([JSON.parse(receiver.received[1]?.body ?? '').data]);
});

test('webhook trigger --to delivers only there, signed with PARTNER_WEBHOOK_SECRET, or says that it is unsigned', async () => {
  const [general, own] = [await startReceiver(), await startReceiver()];
  const { trigger } = await startWith({ webhook: { url: general.url } });
  const env = { PARTNER_WEBHOOK_SECRET: `\n${SECRET}\nan older one\n` };
  expect(await trigger(['--to', own.url], env)).toMatchObject({ code: 0, stderr: '' });
  const unsigned = 'The delivery is unsigned: PARTNER_WEBHOOK_SECRET is not set.\n';
  expect(await trigger(['--to', own.url])).toMatchObject({ code: 0, stderr: unsigned });
  const [first, second] = own.received;
  expect(first && verify(first, SECRET)).toEqual(JSON.parse(first?.body ?? ''));
  expect(second?.headers['webhook-signature']).toBeUndefined();
  expect(general.received).toEqual([]);
});

test('webhook trigger exits with 8 when the receiver does not accept the delivery, and still shows it', async () => {
  const receiver = await startReceiver([500]);
  const { trigger } = await startWith({ webhook: { url: receiver.url } });
  const ran = await trigger();
  expect(ran.code).toBe(8);
  expect(ran.json()).toMatchObject({ delivery_id: receiver.received[0]?.id, status: 'pending' });
  expect(ran.error()).toMatchObject({
    type: 'service',
    message: 'The receiver did not accept the delivery.',
    hint: expect.stringMatching(/^Check the receiver\. The next attempt of the sandbox is at: 20\d\d-/),
    details: { why: expect.stringContaining('The receiver responded with 500.') },
  });
});

test('webhook trigger sends nothing without a webhook, to an address elsewhere, for an unknown source, and with a wrong key', async () => {
  const { trigger } = await startWith();
  for (const [args, env, code, why] of [
    [[], {}, 2, 'No webhook is set.'],
    [['--to', 'http://192.0.2.1/'], {}, 2, 'must be on this machine'],
    [['--source', 'src_none'], {}, 4, 'src_none'],
    [[], { PARTNER_SANDBOX_URL: 'http://192.0.2.1/_sandbox' }, 2, 'works only with a sandbox on this machine'],
    [[], { PARTNER_SANDBOX_KEY: 'sbadm_wrong' }, 3, 'did not send a webhook (401)'],
  ] as const) {
    const ran = await trigger(args, env);
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(why) });
    expect(ran.stderr).not.toContain('sbadm_wrong');
  }
});
