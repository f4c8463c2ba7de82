import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start, until } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { call, PROVISION, provisionBody, SPACES } from '../support/sandbox-client.ts';

interface Listening {
  readonly base_url: string;
  readonly token: string;
}

/** Acknowledged spaces: their ids by external id. */
type Acknowledged = Map<string, { readonly space_id: string; readonly agents: readonly string[] }>;

interface ListedSpace {
  readonly external_space_id: string;
  readonly space_id: string;
}

/** Provisions spaces sequentially until the service is killed. */
async function provisionUntilKilled(at: Listening, worker: string, acknowledged: Acknowledged): Promise<void> {
  for (let number = 0; ; number += 1) {
    const id = `${worker}-${number}`;
    try {
      const { status, json } = await call('POST', `${at.base_url}${PROVISION}`, {
        token: at.token,
        body: provisionBody(id),
      });
      expect(status).toBe(201);
      const agents = json.agents.map(({ agent_id }: { agent_id: string }) => agent_id);
      acknowledged.set(id, { space_id: json.space.space_id, agents });
    } catch (error) {
      if (error instanceof TypeError || (error instanceof Error && error.name === 'AbortError')) return;
      throw error;
    }
  }
}

async function listSpaces(at: Listening): Promise<ListedSpace[]> {
  const all: ListedSpace[] = [];
  for (let next: string | null = `${at.base_url}${SPACES}?page_size=1000`; next !== null; ) {
    const { json } = await call('GET', next, { token: at.token });
    all.push(...json.results);
    next = json.next;
  }
  return all;
}

test('a sandbox that is repeatedly killed under load keeps everything that it acknowledged', async () => {
  const data = join(tempDirectory(), 'data');
  const acknowledged: Acknowledged = new Map();
  for (let round = 1; round <= 12; round += 1) {
    const child = start(['sandbox', 'start', '-o', 'json', '--data', data]);
    const at: Listening = JSON.parse(await until(child.stdout, /\n/));
    const goal = acknowledged.size + 10 * round;
    const workers = ['a', 'b', 'c', 'd', 'e', 'f'].map((worker) =>
      provisionUntilKilled(at, `${round}${worker}`, acknowledged),
    );
    while (acknowledged.size < goal) await new Promise(setImmediate);
    child.kill('SIGKILL');
    await Promise.all([...workers, child]);

    const second = start(['sandbox', 'start', '-o', 'json', '--data', data]);
    const again: Listening = JSON.parse(await until(second.stdout, /\n/));
    const listed = await listSpaces(again);
    const byId = new Map(listed.map((space) => [space.external_space_id, space.space_id]));
    expect(byId.size).toBe(listed.length);
    for (const [id, { space_id }] of acknowledged) expect(byId.get(id)).toBe(space_id);
    // What was not acknowledged is either complete or missing: no space is without its agent.
    const last = listed.filter(({ external_space_id }) => external_space_id.startsWith(`${round}`));
    for (const { external_space_id, space_id } of last) {
      const { json } = await call('GET', `${again.base_url}${SPACES}${space_id}/agents/`, { token: again.token });
      const agents = json.results.map(({ agent_id }: { agent_id: string }) => agent_id);
      expect(agents).toEqual(acknowledged.get(external_space_id)?.agents ?? [expect.any(String)]);
    }
    second.kill('SIGKILL');
    await second;
  }
});
