import { describe, expect, it } from 'vitest';
import { listItems } from '../../../src/api/list.ts';
import { Contract, type ContractLayers } from '../../../src/contract/contract.ts';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { json, type Script, sendJson, startFakeService } from '../../support/fake-service.ts';
import { client } from './http-client.ts';

/* Lists that say nothing about pages. */

/** Reads a list. @returns its items, the warnings, and the queries of the requests */
async function read(script: Script, layers: ContractLayers = {}) {
  const { baseUrl, requests } = await startFakeService(script);
  const warnings: string[] = [];
  const options = { contract: new Contract(layers), onWarning: (text: string) => warnings.push(text) };
  const { http } = client(baseUrl, { ...options, retries: 0 });
  const items: unknown[] = [];
  let error: unknown;
  try {
    for await (const item of listItems(http, OPERATIONS.listSpaces)) items.push(item);
  } catch (thrown) {
    error = thrown;
  }
  return { items, error, warnings, queries: requests.map(({ query }) => query.toString()) };
}

const spaceIds = (count: number) => Array.from({ length: count }, (_, index) => ({ space_id: `s${index + 1}` }));

/** A service that takes `offset` and `limit`, and sends bare arrays. */
const byOffset =
  (count: number, size: number): Script =>
  ({ query }, response) => {
    const offset = Number(query.get('offset') ?? 0);
    sendJson(response, spaceIds(count).slice(offset, offset + size));
  };

describe('a list of as many items as a page usually has', () => {
  it('is asked once more, and whole if nothing new comes', async () => {
    const count = 100;
    for (const script of [json(spaceIds(count)), byOffset(count, count)]) {
      const whole = await read(script);
      expect(whole).toMatchObject({ items: spaceIds(count), error: undefined, warnings: [] });
      expect(whole.queries).toEqual(['', `offset=${count}&skip=${count}&page=2`]);
    }
  });

  it('is shown with a warning if the service answers with an error', async () => {
    const shown = await read(({ query }, response) =>
      query.size > 0 ? sendJson(response, { detail: 'unknown parameter' }, 400) : sendJson(response, spaceIds(10)),
    );
    expect(shown).toMatchObject({ items: spaceIds(10), error: undefined });
    expect(shown.warnings).toEqual([expect.stringContaining('has 10 items and may not be whole')]);
    expect(shown.warnings[0]).toContain('partnerctl contract set spaces.list.next none');
  });

  it.each<[string, unknown, ContractLayers]>([
    ['it is whole', { items: spaceIds(10), next: null }, {}],
    ['nothing, because the contract says that it is whole', spaceIds(10), { override: { 'spaces.list.next': 'none' } }],
  ])('is not asked again if it says that %s', async (_, body, layers) => {
    expect((await read(json(body), layers)).queries).toEqual(['']);
  });
});

it.each(['imported', 'override'])(
  'a next page that no page announces is requested until one brings nothing new: %s',
  async (source) => {
    for (const count of [0, 5, 6]) {
      const whole = await read(byOffset(count, 3), { [source]: { 'spaces.list.next': 'offset:offset' } });
      expect(whole).toMatchObject({ items: spaceIds(count), error: undefined });
      expect(whole.queries).toHaveLength(count === 0 ? 1 : Math.ceil(count / 3) + 1);
    }
  },
);
