import { expect, onTestFinished, test } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts';
import { startListening } from '../support/listening.ts';
import { run, tempDirectory } from '../support/run.ts';
import { SECRET } from '../support/webhook-receiver.ts';

const VERIFYING = ['--verify', 'standard-webhooks'];

async function start(options: SandboxOptions): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

function environmentOf(sandbox: Sandbox): Record<string, string> {
  return {
    HOME: tempDirectory(),
    PARTNER_BASE_URL: sandbox.baseUrl,
    PARTNER_TOKEN: sandbox.token,
    PARTNER_SANDBOX_URL: sandbox.adminUrl,
    PARTNER_SANDBOX_KEY: sandbox.adminKey,
  };
}

test('webhook listen verifies what the sandbox signs, and shows it as the history has it', async () => {
  const listening = await startListening(VERIFYING, { env: { PARTNER_WEBHOOK_SECRET: SECRET } });
  const sandbox = await start({ webhook: { url: listening.url, secret: SECRET } });
  const env = environmentOf(sandbox);
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
