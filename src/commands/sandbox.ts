import { group } from '../cli/leaf.ts';
import { run } from './sandbox/run.ts';
import { start } from './sandbox/start.ts';

export const sandbox = () => group('sandbox', 'A local copy of the service, no account needed', [start(), run()]);
