import { group } from '../cli/leaf.ts';
import { adopt } from './cron/adopt.ts';
import { create } from './cron/create.ts';
import { forget } from './cron/forget.ts';
import { list } from './cron/list.ts';
import { reconcile } from './cron/reconcile.ts';

export const cron = () =>
  group('cron', 'Scheduled jobs, never created twice', [create(), list(), reconcile(), adopt(), forget()]);
