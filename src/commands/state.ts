import { group } from '../cli/leaf.ts';
import { copy } from './state/copy.ts';
import { init } from './state/init.ts';
import { path } from './state/path.ts';
import { show } from './state/show.ts';
import { verify } from './state/verify.ts';

export const state = () => group('state', 'The record of earlier runs', [path(), show(), verify(), init(), copy()]);
