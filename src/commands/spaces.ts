import { group } from '../cli/leaf.ts';
import { list } from './spaces/list.ts';
import { show } from './spaces/show.ts';

export const spaces = () => group('spaces', 'Customer workspaces', [list(), show()]);
