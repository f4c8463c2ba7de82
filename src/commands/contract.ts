import { group } from '../cli/leaf.ts';
import { check } from './contract/check.ts';
import { importDocument } from './contract/import.ts';
import { set, unset } from './contract/set.ts';
import { show } from './contract/show.ts';

export const contract = () =>
  group('contract', 'The wire format, where the specification leaves it open', [
    show(),
    set(),
    importDocument(),
    check(),
    unset(),
  ]);
