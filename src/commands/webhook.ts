import { group } from '../cli/leaf.ts';
import { listen } from './webhook/listen.ts';
import { replay } from './webhook/replay.ts';
import { trigger } from './webhook/trigger.ts';

export const webhook = () => group('webhook', 'Receive, verify, and forward webhooks', [listen(), replay(), trigger()]);
