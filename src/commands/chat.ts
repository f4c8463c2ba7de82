import { group } from '../cli/leaf.ts';
import { open } from './chat/open.ts';
import { send } from './chat/send.ts';
import { setup } from './chat/setup.ts';
import { tail } from './chat/tail.ts';
import { wait } from './chat/wait.ts';
import { watch } from './chat/watch.ts';

export const chat = () =>
  group('chat', 'Send messages to agents and follow their replies', [setup(), open(), send(), wait(), tail(), watch()]);
