import { declareCells } from './declare.ts';
import { CHATS } from './services/third-holdout-chats.ts';

declareCells(CHATS);
