import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxOptions } from '../../src/sandbox/index.ts';
import { tempDirectory } from './run.ts';
import { startTestSandbox, type TestSandbox } from './sandbox-client.ts';

/** One partner request as the sandbox saw it. */
interface Received {
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  readonly fault: string | null;
  readonly body: unknown;
}

interface ListedSpace {
  readonly space_id: string;
  readonly external_space_id: string;
  readonly name: string;
}

interface ListedAgent {
  readonly agent_id: string;
  readonly name: string;
  readonly template_id: string;
}

export interface Service extends TestSandbox {
  /** The environment of a command that uses it: URL, token, and a separate home. */
  readonly env: Record<string, string>;
  /** All requests received since the start or the last `forget`. */
  received(): Promise<readonly Received[]>;
  /** The writes among them. */
  posts(): Promise<readonly Received[]>;
  /** Clears the requests received so far. */
  forget(): Promise<void>;
  set(settings: Record<string, unknown>): Promise<void>;
  faults(...rules: object[]): Promise<void>;
  spaces(): Promise<readonly ListedSpace[]>;
  agents(spaceId: string): Promise<readonly ListedAgent[]>;
  /** Creates an environment with a token that has only these scopes. */
  envFor(scopes: readonly string[]): Promise<Record<string, string>>;
}

/** A service for one test: a real sandbox, and the environment to reach it. */
export async function service(options: SandboxOptions = {}): Promise<Service> {
  const opened = await startTestSandbox(options);
  const { sandbox, token, admin, partner } = opened;
  const env = { PARTNER_BASE_URL: sandbox.baseUrl, PARTNER_TOKEN: token, HOME: tempDirectory() };
  const received = async (): Promise<readonly Received[]> => (await admin('GET', '/requests')).json.requests;
  const ensure = async (answer: Promise<{ status: number; text: string }>): Promise<void> => {
    const { status, text } = await answer;
    if (status >= 300) throw new Error(`The sandbox refused: ${status} ${text}`);
  };
  return {
    ...opened,
    env,
    received,
    posts: async () => (await received()).filter(({ method }) => method !== 'GET'),
    forget: () => ensure(admin('DELETE', '/requests')),
    set: (settings) => ensure(admin('PATCH', '/settings', settings)),
    faults: (...rules) => ensure(admin('PUT', '/faults', { rules })),
    spaces: async () => (await partner('GET', '/automation/spaces/?page_size=1000')).json.results,
    agents: async (spaceId) =>
      (await partner('GET', `/automation/spaces/${spaceId}/agents/?page_size=1000`)).json.results,
    envFor: async (scopes) => ({ ...env, PARTNER_TOKEN: await sandbox.createToken({ scopes: [...scopes] }) }),
  };
}

/** A valid manifest document. */
export function manifest(externalId: string, agents: readonly string[] = ['Support']): string {
  const installed = agents.map((name) => `  - { template_id: tmpl_support, name: ${JSON.stringify(name)} }`);
  return `external_space_id: ${externalId}\nspace: { name: ${JSON.stringify(`Space ${externalId}`)} }\nagents:\n${installed.join('\n')}\n`;
}

/** Writes a file into a directory of this test and returns its path. */
export function write(name: string, text: string | Uint8Array, directory = tempDirectory()): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}
