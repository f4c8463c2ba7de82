import { group } from '../cli/leaf.ts';
import { list } from './agents/list.ts';

export const agents = () => group('agents', 'Agents of a space', [list()]);
