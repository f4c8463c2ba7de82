import { expect, onTestFinished, test } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { startListening } from '../support/listening.ts';
import { run, tempDirectory } from '../support/run.ts';
import { SECRET } from '../support/webhook-receiver.ts';

const VERIFYING = ['--verify', 'standard-webhooks'];

async function start(options: SandboxOptions): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

async function environmentOf(sandbox: Sandbox): Promise<Record<string, string>> {
  return {
    HOME: tempDirectory(),
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_TOKEN: await sandbox.createToken(),
    PARTNER_SANDBOX_URL: sandbox.adminUrl,
    PARTNER_SANDBOX_KEY: sandbox.adminKey,
  };
}

test('webhook listen verifies what the sandbox signs, and shows it as the history has it', async () => {
  const listening = await startListening([...VERIFYING, '--print-secret']);
  const { webhook_secret: secret } = JSON.parse(listening.lines[0] ?? '');
  const sandbox = await start({ webhook: { url: listening.url, secrets: [secret] } });
  const env = await environmentOf(sandbox);
  const provisioned = await run(['provision', '-', '-o', 'json'], {
    env,
    stdin: `external_space_id: acme
space: { name: Acme, description: '', is_org_wide: false }
agents:
  - { template_id: tmpl_support, name: Support, auto_create_api_chat: true, api_chat_routing_mode: session_workflow }
`,
  });
  const { source_id } =
    provisioned.json<{ results: { agents: { source_id: string }[] }[] }>().results[0]?.agents[0] ?? {};
  const session = ['--source', source_id ?? '', '--session', 'anna'];
  const { reply } = (await run(['chat', 'send', ...session, '--wait', 'hi', '-o', 'json'], { env })).json<{
    reply: object;
  }>();
  const { message_id, text, role, created_at } = reply as Record<string, string>;
  expect(await listening.event(0)).toMatchObject({
    verification: 'verified',
    message_id,
    text,
    role,
    created_at,
    source_id,
    session_id: 'anna',
  });
  expect(role).toBe('assistant');
});

test('receivers verify with the old and the new secret while the sandbox rotates its secret', async () => {
  const [old, fresh] = await Promise.all(
    [SECRET, `whsec_${Buffer.from('the new secret of the webhook').toString('base64')}`].map((secret) =>
      startListening(VERIFYING, { env: { PARTNER_WEBHOOK_SECRET: secret } }),
    ),
  );
  const relay = await startListening(['--forward-to', old?.url ?? '', '--relay-status']);
  const secrets = [Buffer.from('the new secret of the webhook').toString('base64'), SECRET.slice(6)];
  const sandbox = await start({ webhook: { url: relay.url, secrets: secrets.map((secret) => `whsec_${secret}`) } });
  const env = await environmentOf(sandbox);
  expect(await run(['webhook', 'trigger'], { env })).toMatchObject({ code: 0 });
  expect(await old?.event(0)).toMatchObject({ verification: 'verified' });
  const event = await relay.event(0);
  // `fetch` sets the length itself, and some of its dispatchers refuse it twice.
  const { 'content-length': _, ...headers } = event.headers;
  const { body } = event;
  const again = await fetch(fresh?.url ?? '', { method: 'POST', headers, body: JSON.stringify(body) });
  expect(again.status).toBe(200);
});

test.each(['pascal', 'mongo', 'json-api', 'metadata', 'properties', 'text-parts', 'bot-flag', 'newest-pages'])(
  'webhook listen recognizes a message in the shape %s, with its session',
  async (shape) => {
    const listening = await startListening([]);
    const sandbox = await start({ shape, webhook: { url: listening.url } });
    const env = await environmentOf(sandbox);
    expect(await run(['webhook', 'trigger', '--text', 'Hello', '--session', 'anna'], { env })).toMatchObject({
      code: 0,
    });
    expect(await listening.event(0)).toMatchObject({ text: 'Hello', role: 'assistant', session_id: 'anna' });
  },
);

test('webhook listen reads deliveries with the contract of the service, too', async () => {
  const sandbox = await start({ shape: 'renamed-requests' });
  const env = await environmentOf(sandbox);
  const setting = ['contract', 'set', 'message.session_id', 'conversation_id'];
  expect(await run(setting, { env })).toMatchObject({ code: 0 });
  const listening = await startListening([], { env });
  await run(['webhook', 'trigger', '--session', 'anna', '--to', listening.url], { env });
  expect(await listening.event(0)).toMatchObject({ role: 'assistant', session_id: 'anna' });
});
