import { digits, numbers } from '../facts.ts';
import { byOffset, byPage, type Paging, type Service } from '../service.ts';

/* Lists that say nothing of pages, whether they have some or not. */

const list: Service['list'] = ({ items }) => items;

const WAYS: Readonly<Record<string, Paging | undefined>> = {
  whole: undefined,
  page: byPage(),
  'page and size': { ...byPage(), size: 'page_size' },
  'limit and offset': { ...byOffset(), size: 'limit' },
  skip: byOffset('skip'),
};

/** Each way to page, by services that ignore what they do not know, and by those that reject it. */
export const SILENT: readonly Service[] = Object.entries(WAYS).flatMap(([name, paging]): Service[] => [
  { name: `silent-tolerant ${name}`, ids: numbers, id: 'id', paging, list },
  { name: `silent-strict ${name}`, ids: digits, id: 'id', paging, list, isStrict: true },
]);
