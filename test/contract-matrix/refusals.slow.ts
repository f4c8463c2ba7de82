import { expect, test } from 'vitest';
import { runConfigured } from './cell.ts';
import { OPERATIONS } from './operations.ts';
import { byNumber, paging } from './paging.ts';
import type { Service } from './service.ts';
import { GUIDES } from './services/guides.ts';
import { HOLDOUT_MIXTURES } from './services/holdout-mixtures.ts';
import { ODDITIES } from './services/oddities.ts';
import { PUBLIC_APIS_1 } from './services/public-apis-1.ts';
import { PUBLIC_APIS_2 } from './services/public-apis-2.ts';

/** Services with gaps that no guess can fill. */
const OWN: readonly Service[] = [
  {
    name: 'pages under an uncommon parameter',
    like: 'a total, and a parameter that only its documentation names',
    paging: paging(byNumber('seite'), ({ items, total }) => ({ items, total })),
  },
  {
    name: 'lists at an uncommon place',
    like: 'an envelope of its own',
    paging: paging(byNumber(), ({ items, number, pages }) => ({ reply: { found: items }, page: { number, pages } })),
  },
  {
    name: 'fields under other names',
    like: 'a customer number and a caption',
    names: { paths: { 'space.external_space_id': 'customerNumber', 'space.name': 'caption' } },
    paging: paging(byNumber(), ({ items, number, pages }) => ({ items, page: number, pages })),
  },
];
const SERVICES = [...OWN, ...GUIDES, ...HOLDOUT_MIXTURES, ...ODDITIES, ...PUBLIC_APIS_1, ...PUBLIC_APIS_2];

function named<Item extends { readonly name: string }>(items: readonly Item[], name: string): Item {
  const found = items.find((item) => item.name === name);
  if (found === undefined) throw new Error(`There is no ${name}.`);
  return found;
}

test.each([
  ['pages under an uncommon parameter', 'spaces list', 1],
  ['pages under an uncommon parameter', 'cron create on a second machine', 1],
  ['lists at an uncommon place', 'agents list by id', 1],
  ['fields under other names', 'agents list by ext', 2],
  ['total-of-all-tenants', 'spaces list', 1],
  ['total-of-all-tenants', 'chat tail', 1],
  ['docker-registry', 'spaces list', 1],
  ['docker-registry', 'chat send again', 1],
  ['docker-registry', 'cron list', 1],
  ['pk-and-uuid', 'spaces list', 1],
  ['pk-and-uuid', 'upload document', 1],
  ['upload-field', 'upload again', 1],
])('the error for the service %s names commands after which %s works', async (service, operation, most) => {
  const { verdict, reasons, settings } = await runConfigured(named(SERVICES, service), named(OPERATIONS, operation));
  expect({ verdict, reasons }).toEqual({ verdict: 'works', reasons: [] });
  expect(settings.length).toBeGreaterThan(0);
  expect(settings.length).toBeLessThanOrEqual(most);
});
