import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start, until } from '../e2e/program.ts';
import { tempDirectory } from '../helpers/run.ts';
import { call, PROVISION, provisionBody, SPACES } from '../sandbox/client.ts';

interface Listening {
  readonly base_url: string;
  readonly token: string;
}

/** What a caller was told: the ids by the external id it asked for. */
type Told = Map<string, { readonly space_id: string; readonly agents: readonly string[] }>;

interface Named {
  readonly external_space_id: string;
  readonly space_id: string;
}

/** Posts one space after the other until the service is gone; what it answered is in `told`. */
async function load(at: Listening, lane: string, told: Told): Promise<void> {
  for (let number = 0; ; number += 1) {
    const id = `${lane}-${number}`;
    try {
      const { status, json } = await call('POST', `${at.base_url}${PROVISION}`, {
        token: at.token,
        body: provisionBody(id),
      });
      expect(status).toBe(201);
      const agents = json.agents.map(({ agent_id }: { agent_id: string }) => agent_id);
      told.set(id, { space_id: json.space.space_id, agents });
    } catch (error) {
      if (error instanceof TypeError || (error instanceof Error && error.name === 'AbortError')) return;
      throw error;
    }
  }
}

async function everySpace(at: Listening): Promise<Named[]> {
  const all: Named[] = [];
  for (let next: string | null = `${at.base_url}${SPACES}?page_size=1000`; next !== null; ) {
    const { json } = await call('GET', next, { token: at.token });
    all.push(...json.results);
    next = json.next;
  }
  return all;
}

test('a sandbox killed under load, again and again, keeps everything that it answered', async () => {
  const data = join(tempDirectory(), 'data');
  const told: Told = new Map();
  for (let round = 1; round <= 12; round += 1) {
    const child = start(['sandbox', 'start', '-o', 'json', '--data', data]);
    const at: Listening = JSON.parse(await until(child.stdout, /\n/));
    const goal = told.size + 10 * round;
    const lanes = ['a', 'b', 'c', 'd', 'e', 'f'].map((lane) => load(at, `${round}${lane}`, told));
    while (told.size < goal) await new Promise(setImmediate);
    child.kill('SIGKILL');
    await Promise.all([...lanes, child]);

    const second = start(['sandbox', 'start', '-o', 'json', '--data', data]);
    const again: Listening = JSON.parse(await until(second.stdout, /\n/));
    const there = await everySpace(again);
    const byId = new Map(there.map((space) => [space.external_space_id, space.space_id]));
    expect(byId.size).toBe(there.length);
    for (const [id, { space_id }] of told) expect(byId.get(id)).toBe(space_id);
    // What was written but not answered is whole or not there: no space without its agent.
    const last = there.filter(({ external_space_id }) => external_space_id.startsWith(`${round}`));
    for (const { external_space_id, space_id } of last) {
      const { json } = await call('GET', `${again.base_url}${SPACES}${space_id}/agents/`, { token: again.token });
      const agents = json.results.map(({ agent_id }: { agent_id: string }) => agent_id);
      expect(agents).toEqual(told.get(external_space_id)?.agents ?? [expect.any(String)]);
    }
    second.kill('SIGKILL');
    await second;
  }
});
