import { group } from '../cli/leaf.ts';
import { list } from './profile/list.ts';
import { protect, unprotect } from './profile/protect.ts';
import { remove } from './profile/remove.ts';
import { show } from './profile/show.ts';
import { use } from './profile/use.ts';

export const profile = () =>
  group('profile', 'Named services and tokens', [list(), use(), show(), protect(), unprotect(), remove()]);
