import { expect, it } from 'vitest';
import { listItems } from '../../../src/api/list.ts';
import { Contract, type ContractLayers } from '../../../src/contract/contract.ts';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { type Script, sendJson, startFakeService } from '../../support/fake-service.ts';
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
    for await (const item of listItems(http, OPERATIONS.listSpaces, { purpose: 'show' })) items.push(item);
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
