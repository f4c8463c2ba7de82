import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { recordedSpaces } from '../../../src/provision/provision-history.ts';
import {
  agentKey,
  agentKeys,
  hasContent,
  type SpaceSnapshot,
  spaceContentHash,
  spaceKey,
} from '../../../src/provision/space-records.ts';
import type { LogRecord } from '../../../src/state-old/record.ts';

const ORIGIN = 'https://api.example.com/v1';

function recorded(changes: Partial<SpaceSnapshot & { space_id: unknown; type: string }> = {}): LogRecord {
  const head = { type: 'space', at: '2026-01-02T00:00:00.000Z', id: '1' };
  const space = { origin: ORIGIN, external_space_id: 'acme', space_id: 'spc_1', content_hash: 'h1', agents: [] };
  return { ...head, ...space, ...changes };
}

function spacesOf(...records: readonly LogRecord[]) {
  const spaces = recordedSpaces(ORIGIN);
  for (const record of records) expect(spaces.add(record)).toBe(true);
  return spaces;
}

describe('the recorded space', () => {
  it.each(['space', 'space.created', 'space.adopted'])('is found by its external id in a record of type %s', (type) => {
    const agents = [{ agent_id: 'agt_1', key: agentKey('Support', 'tpl_1') }];
    const spaces = spacesOf(recorded({ type, agents }), recorded({ external_space_id: 'acme-2', space_id: 'spc_2' }));
    expect(spaces.get('acme')).toMatchObject({ space_id: 'spc_1', content_hash: 'h1', agents });
    expect(spaces.get('unknown')).toBeUndefined();
  });

  it('belongs to one service', () => {
    expect(spacesOf(recorded({ origin: 'https://staging.example.com/v1' })).get('acme')).toBeUndefined();
  });

  it('has the agents of all records and the content of the last', () => {
    const [first, second] = [agentKey('A', 'tpl'), agentKey('B', 'tpl')];
    const agents = [
      { agent_id: 'agt_2', key: second },
      { agent_id: 'agt_1', key: second },
    ];
    const spaces = spacesOf(
      recorded({ agents: [{ agent_id: 'agt_1', key: first }] }),
      recorded({ content_hash: 'h2', agents }),
    );
    expect(spaces.get('acme')).toMatchObject({ space_id: 'spc_1', content_hash: 'h2', agents: agents.toReversed() });
  });

  it('keeps the API chat source of an agent if a later record lacks it', () => {
    const agent = { agent_id: 'agt_1', key: agentKey('A', 'tpl'), source_id: 'src_1' };
    const spaces = spacesOf(recorded({ agents: [agent] }), recorded({ agents: [{ ...agent, source_id: undefined }] }));
    expect(spaces.get('acme')?.agents).toEqual([agent]);
  });

  it('is the last one if the space was replaced, without the earlier agents', () => {
    const key = agentKey('A', 'tpl');
    const spaces = spacesOf(
      recorded({ agents: [{ agent_id: 'agt_old', key }] }),
      recorded({ space_id: 'spc_2', agents: [{ agent_id: 'agt_new', key }] }),
    );
    expect(spaces.get('acme')).toMatchObject({ space_id: 'spc_2', agents: [{ agent_id: 'agt_new' }] });
  });

  it('is not read from an incomplete record, or from a reservation', () => {
    const spaces = recordedSpaces(ORIGIN);
    expect(spaces.add(recorded({ space_id: 7 }))).toBe(false);
    expect(spaces.add(recorded({ type: 'space.reserved' }))).toBe(true);
    expect(spaces.get('acme')).toBeUndefined();
  });
});

describe('the key', () => {
  it('of an agent differs by name and template, and reveals neither', () => {
    expect(agentKey('a', 'b')).toMatch(/^[0-9a-f]{64}$/);
    const keys = [
      agentKey('a', 'b'),
      agentKey('b', 'a'),
      agentKey('ab', ''),
      agentKey('', 'ab'),
      agentKey('a","b', ''),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('of an agent is the same in every Unicode form, and the keys that earlier versions recorded count', () => {
    const [composed, decomposed] = ['Café'.normalize('NFC'), 'Café'.normalize('NFD')];
    expect(agentKey(decomposed, 't')).toBe(agentKey(composed, 't'));
    const earlier = (name: string) => hash('sha256', JSON.stringify([name, 't']), 'hex');
    for (const name of [composed, decomposed]) {
      expect(agentKeys(name, 't')).toEqual([earlier(composed), earlier(decomposed)]);
    }
    expect(agentKeys('Support', 't')).toEqual([earlier('Support')]);
  });

  it('of a space distinguishes ids that differ only in their Unicode form', () => {
    expect(spaceKey(ORIGIN, 'café'.normalize('NFC'))).not.toBe(spaceKey(ORIGIN, 'café'.normalize('NFD')));
  });
});

describe('the content hash of a manifest', () => {
  const manifest = (name: string) => ({
    external_space_id: 'acme',
    space: { name: 'Acme' },
    agents: [{ template_id: 't', name, chat: {}, cron: [] }],
  });

  it('ignores chats and jobs, and the Unicode form of agent names', () => {
    const [composed, decomposed] = ['Café'.normalize('NFC'), 'Café'.normalize('NFD')];
    const plain = (name: string) => ({ ...manifest(name), agents: [{ template_id: 't', name }] });
    const earlier = hash('sha256', JSON.stringify(plain(decomposed)), 'hex');
    expect(hasContent(earlier, manifest(composed))).toBe(true);
    expect(hasContent(spaceContentHash(manifest(decomposed)), plain(composed))).toBe(true);
    expect(hasContent(spaceContentHash(manifest('Other')), plain(composed))).toBe(false);
  });
});
