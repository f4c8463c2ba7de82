import { group } from '../cli/leaf.ts';
import { list } from './spaces/list.ts';

export const spaces = () => group('spaces', 'Customer workspaces', [list()]);
