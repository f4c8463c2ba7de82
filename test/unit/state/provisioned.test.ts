import { hash } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { appendRecord } from '../../../src/state/append.ts';
import { agentKey, findProvisioned, recordProvisioned, type SpaceRecord } from '../../../src/state/provisioned.ts';
import { randomRecordId, recordHead } from '../../../src/state/record.ts';
import { temporaryDirectory, text } from './files.ts';

const ORIGIN = 'https://api.example.com/v1';
const stamp = { now: () => Date.UTC(2026, 0, 2), newId: randomRecordId };

function space(changes: Partial<SpaceRecord> = {}): SpaceRecord {
  return { origin: ORIGIN, external_space_id: 'acme', space_id: 'spc_1', content_hash: 'h1', agents: [], ...changes };
}

async function stateFile(): Promise<string> {
  return join(await temporaryDirectory(), 'state.jsonl');
}

describe('the recorded space', () => {
  it('is found by its external id', async () => {
    const path = await stateFile();
    const agent = { agent_id: 'agt_1', key: agentKey('Support', 'tpl_1') };
    await recordProvisioned(path, space({ agents: [agent] }), stamp);
    await recordProvisioned(path, space({ external_space_id: 'acme-2', space_id: 'spc_2' }), stamp);
    const { spaces } = await findProvisioned(path, ORIGIN, new Set(['acme', 'unknown']));
    expect(spaces).toEqual(new Map([['acme', { space_id: 'spc_1', content_hash: 'h1', agents: [agent] }]]));
  });

  it('is found by an id of any characters', async () => {
    const path = await stateFile();
    const id = 'a"b\\c\n\u0000é\u2028\ud800';
    await recordProvisioned(path, space({ external_space_id: id }), stamp);
    const { spaces } = await findProvisioned(path, ORIGIN, new Set([id]));
    expect([...spaces.keys()]).toEqual([id]);
  });

  it('belongs to one service', async () => {
    const path = await stateFile();
    await recordProvisioned(path, space({ origin: 'https://staging.example.com/v1', space_id: 'spc_9' }), stamp);
    expect((await findProvisioned(path, ORIGIN, new Set(['acme']))).spaces.size).toBe(0);
  });

  it('has the agents of all records and the content of the last', async () => {
    const path = await stateFile();
    const [first, second] = [agentKey('A', 'tpl'), agentKey('B', 'tpl')];
    await recordProvisioned(path, space({ agents: [{ agent_id: 'agt_1', key: first }] }), stamp);
    await recordProvisioned(
      path,
      space({
        content_hash: 'h2',
        agents: [
          { agent_id: 'agt_2', key: second },
          { agent_id: 'agt_1', key: second },
        ],
      }),
      stamp,
    );
    const { spaces } = await findProvisioned(path, ORIGIN, new Set(['acme']));
    expect(spaces.get('acme')).toEqual({
      space_id: 'spc_1',
      content_hash: 'h2',
      agents: [
        { agent_id: 'agt_1', key: second },
        { agent_id: 'agt_2', key: second },
      ],
    });
  });

  it('keeps the API chat source of an agent if a later record does not have it', async () => {
    const path = await stateFile();
    const key = agentKey('A', 'tpl');
    await recordProvisioned(path, space({ agents: [{ agent_id: 'agt_1', key, source_id: 'src_1' }] }), stamp);
    await recordProvisioned(path, space({ agents: [{ agent_id: 'agt_1', key }] }), stamp);
    const { spaces } = await findProvisioned(path, ORIGIN, new Set(['acme']));
    expect(spaces.get('acme')?.agents).toEqual([{ agent_id: 'agt_1', key, source_id: 'src_1' }]);
  });

  it('is the last one if the space was replaced, without the earlier agents', async () => {
    const path = await stateFile();
    const key = agentKey('A', 'tpl');
    await recordProvisioned(path, space({ agents: [{ agent_id: 'agt_old', key }] }), stamp);
    await recordProvisioned(path, space({ space_id: 'spc_2', agents: [{ agent_id: 'agt_new', key }] }), stamp);
    const { spaces } = await findProvisioned(path, ORIGIN, new Set(['acme']));
    expect(spaces.get('acme')).toMatchObject({ space_id: 'spc_2', agents: [{ agent_id: 'agt_new' }] });
  });

  it('is the same for many ids at once as for each id alone', async () => {
    const path = await stateFile();
    const ids = Array.from({ length: 30 }, (_, index) => `customer-${index}`);
    for (const id of ids) await recordProvisioned(path, space({ external_space_id: id, space_id: `spc_${id}` }), stamp);
    await recordProvisioned(path, space({ external_space_id: 'not asked for' }), stamp);
    const together = (await findProvisioned(path, ORIGIN, new Set(ids))).spaces;
    expect([...together.keys()]).toEqual(ids);
    for (const id of ids) {
      const alone = (await findProvisioned(path, ORIGIN, new Set([id]))).spaces;
      expect(alone).toEqual(new Map([[id, together.get(id)]]));
    }
  });

  it('comes with the unusable lines', async () => {
    const path = await stateFile();
    await recordProvisioned(path, space(), stamp);
    await appendFile(path, '{"v":1,"type":"space","external_sp');
    await appendRecord(path, { ...recordHead('space', stamp), origin: ORIGIN, external_space_id: 'acme', space_id: 7 });
    await appendRecord(path, { ...recordHead('cron', stamp), external_space_id: 'acme' });
    const { spaces, damaged } = await findProvisioned(path, ORIGIN, new Set(['acme']));
    expect(spaces.get('acme')?.space_id).toBe('spc_1');
    expect(damaged).toEqual([
      { line: 3, why: expect.stringContaining('cut short') },
      { line: 4, why: 'not a complete record of a space' },
    ]);
  });

  it('is not read from records of a newer version, which count as unusable', async () => {
    const path = await stateFile();
    const covered = '{"v":2,"external_space_id":"acme"';
    await appendFile(path, `${covered},"sum":"${hash('sha256', covered, 'hex').slice(0, 16)}"}\n`);
    expect(await findProvisioned(path, ORIGIN, new Set(['acme']))).toEqual({
      spaces: new Map(),
      damaged: [{ line: 1, why: expect.stringContaining('newer version') }],
    });
  });

  it('contains no agent name, only a hash of name and template', async () => {
    const path = await stateFile();
    const agent = { agent_id: 'agt_1', key: agentKey('Secret project', 'tpl_1'), name: 'Secret project' };
    await recordProvisioned(path, space({ agents: [agent] }), stamp);
    expect(await text(path)).not.toContain('Secret');
  });
});

describe('agentKey', () => {
  it('differs by name and template', () => {
    expect(agentKey('a', 'b')).toMatch(/^[0-9a-f]{64}$/);
    expect(agentKey('a', 'b')).toBe(agentKey('a', 'b'));
    const keys = [
      agentKey('a', 'b'),
      agentKey('b', 'a'),
      agentKey('ab', ''),
      agentKey('', 'ab'),
      agentKey('a","b', ''),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });
});
